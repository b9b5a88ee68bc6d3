"""Tests file: and dns:/// server sets: real servers join and leave a running stream."""

import json
import os
import signal
import subprocess
import time
import unittest

from processes import TIMEOUT_S, ProcessTestCase, pause, run


class ServerSetsTest(ProcessTestCase):
    def setUp(self):
        super().setUp()
        self.servers = self.folder / "servers"
        self.servers.mkdir(exist_ok=True)

    def add_server(self, name):
        """Starts a server whose address file is an entry of the folder."""
        server = self.spawn("penstock-server", "--data-root", self.data, "--listen", "127.0.0.1:0",
                            "--threads", 1, "--address-file", self.servers / name)
        self.wait_until(lambda: (self.servers / name).exists(), "the server did not start")
        server.address = (self.servers / name).read_text().strip()
        return server

    def wait_until(self, true, otherwise):
        deadline = time.monotonic() + TIMEOUT_S
        while not true():
            self.assertLess(time.monotonic(), deadline, otherwise)
            pause()

    def read_more(self, client, ids, rows):
        """Waits until the running stream has read `rows` more rows, by its ids of more than 20
        bytes per row."""
        def num_bytes():
            self.assertIsNone(client.poll(), "the stream ended early")
            return ids.stat().st_size if ids.exists() else 0
        begin = num_bytes()
        self.wait_until(lambda: num_bytes() > begin + rows * 20, "the stream stands still")

    def wait_until_used(self, server):
        self.top_until(lambda rows: any(client["rows"] > 0 for client in rows[0]["clients"]),
                       server.address)

    def start_endless(self, servers, ids, **options):
        """Starts a stream that reads until end_well(). Its file of ids shows its progress. The
        look-ahead is short, because rows that are already here are not requested from servers that
        join."""
        return self.spawn("penstock", *self.stream_args(
            servers, "--ids", ids, "--pace", 40_000, "--look-ahead", "8MiB", epochs=0), **options)

    def end_well(self, client):
        """Interrupts the stream, which must have the rows of a stream without servers. Returns its
        report on the servers."""
        client.send_signal(signal.SIGINT)
        out, err = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 128 + signal.SIGINT, err)
        result = json.loads(out)
        alone = self.stream("local:", "--steps", result["steps"], epochs=0)
        self.assertEqual(result["digest"], alone["digest"])
        return result["servers"]

    def test_servers_join_and_leave_a_folder(self):
        self.add_server("one")
        ids = self.folder / "ids"
        client = self.start_endless(f"file:{self.servers}", ids)
        self.read_more(client, ids, 2_000)
        two, three = self.add_server("two"), self.add_server("three")
        for server in (two, three):
            self.wait_until_used(server)
        self.assertIsNone(client.poll(), "the stream ended early")
        two.send_signal(signal.SIGTERM)
        self.assertEqual(two.wait(timeout=TIMEOUT_S), 0)
        self.assertFalse((self.servers / "two").exists())
        three.kill()  # Its address file stays, and nothing listens there.
        self.read_more(client, ids, 100_000)
        servers = self.end_well(client)
        self.assertEqual(len(servers), 3)
        for server in servers:
            self.assertGreater(server["rows"], 0, server)

    def test_the_address_file_is_rewritten_by_a_restart(self):
        server = self.add_server("one")
        server.kill()
        server.wait()
        old = (self.servers / "one").read_text()
        again = self.spawn("penstock-server", "--data-root", self.data, "--listen", "127.0.0.1:0",
                           "--address-file", self.servers / "one")
        self.wait_until(lambda: (self.servers / "one").read_text() != old, "it was not rewritten")
        self.assertIsNone(again.poll())
        self.assertEqual(self.stream(f"file:{self.servers}")["digest"],
                         self.stream("local:")["digest"])

    def test_a_stale_address_file_costs_nothing_but_connections(self):
        gone = self.add_server("gone")
        gone.kill()
        gone.wait()
        self.add_server("one")
        result = self.stream(f"file:{self.servers}")
        self.assertEqual(result["digest"], self.stream("local:")["digest"])

    def test_a_name_stands_for_its_addresses(self):
        port = self.start_server().address.rpartition(":")[2]
        result = self.stream(f"dns:///localhost:{port}")
        self.assertEqual(result["digest"], self.stream("local:")["digest"])
        self.assertIn(f"127.0.0.1:{port}", [s["address"] for s in result["servers"]])

    def with_hosts(self, hosts):
        """Returns a command that executes another one with `hosts` as its /etc/hosts."""
        mine = ["--map-root-user"] if os.geteuid() != 0 else []
        prefix = ["unshare", "--mount", *mine, "sh", "-c",
                  'mount --bind "$0" /etc/hosts && exec "$@"', hosts]
        try:
            subprocess.run([*map(str, prefix), "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"no mount namespaces here ({error})")
        return prefix

    def test_a_name_is_followed_as_it_changes(self):
        hosts = self.folder / "hosts"
        hosts.write_text("127.0.0.1 pool\n")
        prefix = self.with_hosts(hosts)
        one = self.start_server("--threads", 1)
        port = one.address.rpartition(":")[2]
        two, three = (self.start_server("--threads", 1, listen=f"127.0.0.{host}:{port}")
                      for host in (2, 3))
        ids = self.folder / "ids"
        client = self.start_endless(f"dns:///pool:{port}", ids, prefix=prefix)
        self.read_more(client, ids, 2_000)
        # Written in place, because the mount is of this file.
        hosts.write_text("127.0.0.2 pool\n127.0.0.3 pool\n")
        for server in (two, three):
            self.wait_until_used(server)
        self.wait_until(lambda: "client left" in one.log(), "a server that left is still used")
        one.kill()
        self.read_more(client, ids, 100_000)
        servers = self.end_well(client)
        self.assertEqual({server["address"]: server["rows"] > 0 for server in servers},
                         {server.address: True for server in (one, two, three)})

    def test_a_name_that_is_unknown_is_named_with_the_reason(self):
        result = run("penstock", *self.stream_args("dns:///penstock.invalid:7070",
                                                   "--server-timeout", "2s"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("dns:///penstock.invalid:7070: penstock.invalid: ", result.stderr)

    def test_a_missing_path_is_waited_for(self):
        late = self.folder / "late"
        client = self.spawn("penstock", *self.stream_args(f"file:{late}"))
        server = self.start_server()
        half = self.folder / "half"
        half.write_text(f"# servers\n{server.address}\n")
        half.rename(late)
        out, err = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 0, err)
        self.assertEqual(json.loads(out)["digest"], self.stream("local:")["digest"])

    def test_a_path_that_stays_missing_is_named(self):
        nothing = self.folder / "nothing"
        result = run("penstock", *self.stream_args(f"file:{nothing}", "--server-timeout", "1s"))
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"file:{nothing}: No such file", result.stderr)

    def test_a_server_that_all_machines_reach_writes_this_ones_name(self):
        server = self.spawn("penstock-server", "--data-root", self.data, "--listen", "0.0.0.0:0",
                            "--insecure", "--advertise", "127.0.0.1",
                            "--address-file", self.servers / "one")
        self.wait_until(lambda: (self.servers / "one").exists(), "the server did not start")
        self.assertIsNone(server.poll())
        self.assertRegex((self.servers / "one").read_text(), r"^127\.0\.0\.1:\d+\n$")
        self.assertEqual(self.stream(f"file:{self.servers / 'one'}")["digest"],
                         self.stream("local:")["digest"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
