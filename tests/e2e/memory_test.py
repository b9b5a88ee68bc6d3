"""Tests the memory that a long stream takes on both sides (VmRSS and VmHWM of proc(5))."""

import json
import os
import pathlib
import statistics
import time
import unittest

from processes import TIMEOUT_S, ProcessTestCase, pause
from servers import wait_until

MIB = 1 << 20
BUDGET = 384 * MIB  # With at least this budget, the whole process takes at most 10 % more.
STREAM = 16 * MIB  # Bytes of parts that a client has requested and not read.


def memory(process, field):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0  # The process has ended.


def cpu_ticks(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])  # utime and stime of proc(5).


class MemoryTest(ProcessTestCase):
    def multiply_shards(self, copies, chunk_size):
        """Adds `copies` hard links to each shard of the sample, and indexes all."""
        for shard in list(self.data.glob("*.tfrecord")):
            for copy in range(copies):
                os.link(shard, shard.with_name(f"{copy}-{shard.name}"))
        self.check_run("penstock", "index", self.data, "-o", self.manifest,
                       "--chunk-size", chunk_size)

    def pause_a_client(self, server):
        """Starts a client that reads nothing, and waits until the server has no more work for it.
        A client stopped by SIGSTOP would not answer pings: the server would give it up after 20 s.
        """
        self._paused = getattr(self, "_paused", 0) + 1
        client = self.spawn("paused_client", self.manifest, server.address, f"paused{self._paused}")
        self.assertEqual(client.stdout.readline(), "asked\n")
        idle_since = [time.monotonic(), cpu_ticks(server)]

        def idle():
            if cpu_ticks(server) != idle_since[1]:
                idle_since[:] = time.monotonic(), cpu_ticks(server)
            return time.monotonic() - idle_since[0] > 0.5
        wait_until(idle, "the server to have nothing to do")

    def check_all_are_paused(self, server):
        """Checks that the server still has every paused client, and owes it more rows."""
        paused = {f"paused{i + 1}" for i in range(self._paused)}
        self.top_until(lambda rows: paused <= {client["client"] for client in rows[0]["clients"]
                                               if client["waiting_requests"] > 0}, server.address)

    def windows_read(self, clients):
        """Waits for all clients to end. Returns the windows of the one that read the most."""
        windows = 0
        for client in clients:
            out, err = client.communicate(timeout=5 * TIMEOUT_S)
            self.assertEqual(client.returncode, 0, err)
            windows = max(windows, json.loads(out)["servers"][0]["windows"])
        return windows

    def test_a_client_that_stops_reading_costs_a_bounded_number_of_bytes(self):
        server = self.start_server("--memory-budget", "64MiB")
        self.stream(server.address, "--dtype", "f32")
        one = memory(server, "VmRSS")
        self.pause_a_client(server)
        # The difference is the client's parts, and the requested chunks of a small data set.
        self.assertLess(memory(server, "VmRSS") - one, STREAM + 16 * MIB)
        self.check_all_are_paused(server)

    def test_memory_stays_within_the_budget_over_a_hundred_thousand_windows(self):
        # 625 MB do not fit into the budget, so chunks come and go.
        self.multiply_shards(300, "6KiB")
        # There are more threads than cores, because buffers that each thread keeps would add up.
        server = self.start_server("--memory-budget", f"{BUDGET}", "--threads", 16)
        self.stream(server.address, "--dtype", "packed", "--steps", 1)
        idle = memory(server, "VmRSS")
        for _ in range(3):  # The parts of these clients alone would be 48 MiB.
            self.pause_a_client(server)
        # Two jobs read the same plan: the rows that both need are kept in the strip cache.
        clients = [self.spawn("penstock", *self.stream_args(
            server.address, "--window-chunks", 1, "--dtype", "packed", "--global-batch-size", size,
            "--look-ahead", "16MiB", "--server-timeout", "100s", "--steps", 3_481_600 // size,
            epochs=0)) for size in (1024, 512)]
        windows = self.windows_read(clients)
        self.assertGreaterEqual(windows, 100_000)
        self.check_all_are_paused(server)
        peak = memory(server, "VmHWM")
        print(f"{windows} windows; server {idle}, at most {peak} bytes: {peak / BUDGET:.3f} of the "
              "budget", flush=True)
        self.assertGreater(peak - idle, 0.7 * BUDGET)  # The server uses its budget.
        self.assertLess(peak, 1.1 * BUDGET)

    def pack_large_shards(self):
        """Packs 1.8 GB of records in shards of 3,600 chunks of the default size."""
        lines = [f"8/8/8/8/8/8/8/K{n}k{6 - n} w - - 0 1\t{n}\n" for n in range(1, 6)]
        tsv = self.folder / "positions.tsv"
        tsv.write_text("".join(lines) * 200_000)
        for shard in self.data.glob("*.tfrecord"):
            shard.unlink()
        self.check_run("penstock", "pack", "--from", "chess-tsv", tsv, "-o", self.data)
        self.multiply_shards(7, "256KiB")

    def test_memory_stays_within_the_budget_with_chunks_of_the_default_size(self):
        self.pack_large_shards()
        server = self.start_server("--memory-budget", f"{BUDGET}", "--threads", 16)
        clients = [self.spawn("penstock", *self.stream_args(
            server.address, "--dtype", "packed", "--global-batch-size", size, "--steps",
            16_000_000 // size, "--server-timeout", "100s", epochs=0)) for size in (1024, 512)]
        windows = self.windows_read(clients)
        self.assertGreater(windows, 500)
        peak = memory(server, "VmHWM")
        print(f"{windows} windows; at most {peak} bytes: {peak / BUDGET:.3f} of the budget",
              flush=True)
        self.assertGreater(peak, 0.7 * BUDGET)
        self.assertLess(peak, 1.1 * BUDGET)

    def watch(self, client, server):
        """Measures VmRSS of both again and again until the client ends. Returns the pairs
        (client, server)."""
        samples = []
        while client.poll() is None:
            both = memory(client, "VmRSS"), memory(server, "VmRSS")
            if all(both):
                samples.append(both)
            pause()
        return samples

    def test_a_hundred_thousand_batches_leave_no_trace(self):
        server = self.start_server("--memory-budget", "64MiB")
        client = self.spawn("penstock", *self.stream_args(
            server.address, "--global-batch-size", 64, "--steps", 100_000, "--dtype", "packed",
            "--look-ahead", "16MiB", epochs=0))
        samples = self.watch(client, server)
        self.assertEqual(client.returncode, 0, client.communicate()[1])
        self.assertGreater(len(samples), 50)
        # Compare medians, because rows in flight at one moment are not growth, and take several
        # MiB. The early samples start at about batch 1,000. A leak of 200 bytes per batch would be
        # found.
        early = samples[len(samples) // 100:len(samples) // 10]
        late = samples[-len(samples) // 10:]
        for name, before, after in zip(("client", "server"), zip(*early), zip(*late)):
            growth = statistics.median(after) - statistics.median(before)
            self.assertLess(growth, 16 * MIB, f"the {name} grew by {growth} bytes")

    def test_both_sides_stay_within_what_was_promised(self):
        server = self.start_server("--memory-budget", "64MiB")
        client = self.spawn("penstock", *self.stream_args(
            server.address, "--dtype", "f32", "--look-ahead", "64MiB", epochs=20))
        peak = 0
        while client.poll() is None:
            peak = max(peak, memory(client, "VmHWM"))
            pause()
        self.assertEqual(client.returncode, 0, client.communicate()[1])
        self.assertLess(peak, (64 + 128) * MIB)
        # The limit is that of docs/guides/sizing.md.
        self.assertLess(memory(server, "VmHWM"), (64 + 40) * MIB)


if __name__ == "__main__":
    unittest.main(verbosity=2)
