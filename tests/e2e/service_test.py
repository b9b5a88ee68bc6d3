"""Tests penstock-server and penstock stream as real processes: the digest never changes."""

import json
import os
import re
import signal
import unittest
import urllib.request

from processes import ProcessTestCase, run
from servers import BY_TIMEOUT, TIMEOUT_S, wait_until


class ServiceTest(ProcessTestCase):
    def test_one_server_streams_what_local_streams(self):
        server = self.start_server()
        for dtype in ("packed", "i8", "f32"):
            self.assertEqual(self.stream(server.address, "--dtype", dtype)["digest"],
                             self.stream("local:", "--dtype", dtype)["digest"])

    def test_the_order_is_that_of_every_version(self):
        """docs/reference/compatibility.md promises the same rows in the same order in all of 1.x."""
        stream = self.stream("local:", "--dtype", "packed", "--seed", 3, epochs=2)
        self.assertEqual(stream["digest"],
                         "4864bcac1b74b481f854057067712edcf4d60c633e7db528ee0d3d4bf9876472")

    def test_checksums_change_nothing(self):
        server = self.start_server()
        for dtype in ("packed", "f32"):
            self.assertEqual(self.stream(server.address, "--dtype", dtype, "--checksums")["digest"],
                             self.stream("local:", "--dtype", dtype, "--checksums")["digest"])

    def bytes_read(self, server):
        """Returns the bytes that the server has read from its files since it started."""
        metrics = re.search(r"metrics address=(\S+)", server.log()).group(1)
        with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=60) as page:
            text = page.read().decode()
        return float(re.search(r"^penstock_server_read_bytes_total (\S+)$", text, re.M).group(1))

    def test_data_within_the_budget_is_read_once(self):
        server = self.start_server("--metrics-port", "0")
        self.stream(server.address, "--remainder", "short", epochs=1)
        after_one = self.bytes_read(server)
        self.assertGreater(after_one, 0)
        self.stream(server.address, "--remainder", "short", epochs=3)
        self.assertEqual(self.bytes_read(server), after_one)

    def read_by_two(self, *options):
        """Returns the bytes that two servers read in one epoch, in two, and in nine, each in a new
        job."""
        servers = [self.start_server("--metrics-port", "0") for _ in range(2)]
        addresses = ",".join(server.address for server in servers)
        reads = [0]
        for epochs in (1, 2, 9):
            self.stream(addresses, "--remainder", "short", *options, epochs=epochs)
            reads.append(sum(self.bytes_read(server) for server in servers))
        for server in servers:
            server.terminate()
        return [after - before for before, after in zip(reads, reads[1:])]

    def test_two_servers_read_their_shares_once_in_file_order(self):
        """Measures repeatedly, because on a busy machine one server may be late, and the other one
        reads for it."""
        found = []
        while (0, 0) not in [(second, others) for _, second, others in found]:
            self.assertLess(len(found), 10, found)
            found.append(self.read_by_two("--no-shuffle"))
        self.assertGreater(found[-1][0], 0)

    def test_two_servers_read_all_the_data_each_and_no_more(self):
        first, second, others = self.read_by_two()
        self.assertGreater(second, 0)
        self.assertLessEqual(first + second + others, 2 * first)

    def test_shared_memory_changes_nothing(self):
        door = self.folder / "door"
        server = self.start_server("--shm-socket", door)
        local = self.stream("local:", epochs=10)["digest"]
        shared = self.stream(server.address, "--checksums", epochs=10)
        self.assertEqual(shared["servers"][0]["shared_memory"], "ok")
        self.assertEqual(shared["digest"], local)
        inline = self.stream(server.address, "--no-shm", epochs=10)
        self.assertEqual(inline["servers"][0]["shared_memory"], "")
        self.assertEqual(inline["digest"], local)
        door.unlink()
        refused = self.stream(server.address, epochs=10)
        self.assertIn("No such file", refused["servers"][0]["shared_memory"])
        self.assertEqual(refused["digest"], local)

    def lose_a_server(self, how, prefix=()):
        """Signals one of two servers in mid-stream, and checks the rows before and after."""
        first, second = self.make_server(prefix=prefix), self.start_server()
        first.start()
        first.wait_serving()
        ids = self.folder / "ids"
        client = self.spawn("penstock", *self.stream_args(
            f"{first.address},{second.address}", "--ids", ids, "--pace", 40_000, "--look-ahead",
            "1MiB", epochs=0))
        self.wait_for_ids(client, ids)
        first.send_signal(how)
        first.wait(TIMEOUT_S)
        self.wait_for_ids(client, ids)
        client.send_signal(signal.SIGINT)
        out, err = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 128 + signal.SIGINT, err)
        across = json.loads(out)
        self.assertEqual(across["digest"], self.stream(
            "local:", "--steps", across["steps"], epochs=0)["digest"])
        return first

    def test_a_killed_server_changes_nothing(self):
        self.lose_a_server(signal.SIGKILL)

    def test_a_drained_server_changes_nothing_and_exits_with_0(self):
        self.assertEqual(self.lose_a_server(signal.SIGTERM).returncode, 0)

    def test_the_second_signal_of_timeout_lets_a_server_drain(self):
        server = self.lose_a_server(signal.SIGINT, BY_TIMEOUT)
        self.assertEqual(server.returncode, 0)
        self.assertIn("draining signal=INT", server.log())
        self.assertNotIn("at once", server.log())

    def test_a_signal_ends_a_server_that_still_reads_its_options(self):
        config = self.folder / "config"
        os.mkfifo(config)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            server = self.spawn("penstock-server", "--config", config)
            held = []

            def is_read():
                try:
                    held.append(os.open(config, os.O_WRONLY | os.O_NONBLOCK))
                except OSError:  # Nobody reads it yet.
                    return False
                return True

            wait_until(is_read, "the server reads its options")
            server.send_signal(signal.SIGUSR1)  # Has no effect.
            server.send_signal(number)
            self.assertEqual(server.wait(timeout=TIMEOUT_S), 128 + number)
            os.close(held[0])

    def test_a_stream_prints_its_cursor_whatever_signal_ends_it(self):
        ids = self.folder / "ids"
        for number, prefix in ((signal.SIGHUP, ()), (signal.SIGTERM, BY_TIMEOUT)):
            ids.unlink(missing_ok=True)
            client = self.spawn("penstock", *self.stream_args("local:", "--ids", ids, epochs=1000),
                                prefix=prefix)
            wait_until(lambda: ids.exists() and ids.stat().st_size > 0, "rows")
            client.send_signal(number)
            out, err = client.communicate(timeout=TIMEOUT_S)
            self.assertEqual(client.returncode, 128 + number, err)
            self.assertIn('"cursor"', out)

    def test_a_cursor_continues_where_the_stream_ended(self):
        server = self.start_server()
        ids = [self.folder / name for name in ("whole", "head", "tail")]
        self.stream(server.address, "--ids", ids[0])
        head = self.stream(server.address, "--steps", 17, "--ids", ids[1])
        self.stream(server.address, "--cursor", head["cursor"], "--ids", ids[2])
        self.assertEqual(ids[0].read_text(), ids[1].read_text() + ids[2].read_text())

    def test_ranks_make_up_the_global_batch(self):
        server = self.start_server()
        whole, parts = self.folder / "whole", [self.folder / f"rank{r}" for r in range(3)]
        self.stream(server.address, "--steps", 5, "--ids", whole)
        for rank, part in enumerate(parts):
            self.stream(server.address, "--steps", 5, "--ids", part, "--rank", rank, "--world-size", 3)
        lines = [part.read_text().splitlines() for part in parts]
        bounds = [256 * r // 3 for r in range(4)]
        merged = []
        for step in range(5):
            for rank in range(3):
                rows = bounds[rank + 1] - bounds[rank]
                merged += lines[rank][step * rows:(step + 1) * rows]
        self.assertEqual(merged, whole.read_text().splitlines())

    def test_no_server_names_each_address_and_its_reason(self):
        nobody, noone = self.reserve_address(), self.reserve_address()
        result = run("penstock", *self.stream_args(f"{nobody},{noone}", "--server-timeout", "1s"))
        self.assertEqual(result.returncode, 1)
        self.assertIn(nobody, result.stderr)
        self.assertIn(noone, result.stderr)
        self.assertIn("refused", result.stderr)

    def test_a_port_in_use_is_named(self):
        server = self.start_server()
        result = run("penstock-server", "--data-root", self.data, "--listen", server.address)
        self.assertEqual(result.returncode, 1)
        self.assertIn(server.address, result.stderr)
        self.assertIn("in use", result.stderr)

    def test_a_shard_that_changed_is_named(self):
        server = self.start_server()
        shard = sorted(self.data.glob("*.tfrecord"))[0]
        other = sorted(self.data.glob("*.tfrecord"))[1]
        shard.write_bytes(other.read_bytes())
        result = run("penstock", *self.stream_args(server.address))
        self.assertEqual(result.returncode, 1)
        self.assertIn(shard.name, result.stderr)
        self.assertIn("penstock index", result.stderr)

    def test_wrong_usage_exits_with_2(self):
        for args in (["stream"], ["stream", self.manifest, "--dtype", "int9"], ["nonsense"],
                     ["stream", self.manifest, "--global-batch-size", 2, "--world-size", 4]):
            result = run("penstock", *args)
            self.assertEqual(result.returncode, 2, f"{args}: {result.stderr}")
            self.assertTrue(result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
