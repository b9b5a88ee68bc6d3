"""Tests penstock bench with real servers: every figure is there, and a verdict."""

import json
import os
import unittest

from processes import ProcessTestCase, run
from servers import wait_until
from terminal import Terminal


class BenchTest(ProcessTestCase):
    def bench(self, servers, *args):
        return self.check_run("penstock", "bench", self.manifest, "--servers", servers,
                              "--seconds", 1, *args).stdout

    def bench_until_all_worked(self, servers):
        """Repeats the measurement, because on a loaded machine a server may send nothing within the
        second."""
        for _ in range(20):
            result = json.loads(self.bench(",".join(servers), "--json", "-"))
            if all(server.get("decode_share", 0) > 0 for server in result["servers"]):
                break
        return result

    def test_measures_stream_and_link(self):
        servers = [self.start_server("--threads", 1).address for _ in range(2)]
        result = self.bench_until_all_worked(servers)
        self.assertGreater(result["positions_per_second"], 0)
        # The rows are packed.
        self.assertEqual(round(result["bytes_per_second"] / result["positions_per_second"]), 202)
        self.assertGreater(result["link_bytes_per_second"], 0)
        self.assertEqual(sorted(s["address"] for s in result["servers"]), sorted(servers))
        for server in result["servers"]:
            self.assertGreater(server["decode_share"], 0)
            self.assertLess(server["idle_share"], 1)
            self.assertGreater(server["cores_used"], 0)
        self.assertGreater(result["machine_cores_used"], 0)
        self.assertLessEqual(result["machine_cores_used"], result["machine_cores"])
        for share in ("wait_share", "copy_share", "deciding_share"):
            self.assertGreaterEqual(result[share], 0)
            self.assertLessEqual(result[share], 1.01)
        self.assertIn(result["limit"], ("client", "machine", "link", "reading", "servers", "nothing"))

    def test_prints_one_screen(self):
        servers = [self.start_server("--threads", 1).address for _ in range(3)]
        screen = self.bench(",".join([*servers, self.reserve_address()]))
        for word in ("rate", "link", "client", "machine", "server"):
            self.assertIn(f"\n{word} ", "\n" + screen)
        self.assertLess(len(screen.splitlines()), 24)
        for line in screen.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_of_servers_it_takes_their_own_manifest(self):
        server = self.start_server()
        result = run("penstock", "bench", "--servers", server.address, "--seconds", 0.1)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("measuring", result.stderr)
        self.manifest.unlink()
        result = run("penstock", "bench", "--servers", server.address, "--seconds", 0.1)
        self.assertEqual(result.returncode, 1)
        self.assertIn("server:manifest.pb: ", result.stderr)
        self.assertIn("--manifest", result.stderr)
        result = run("penstock", "bench", "--seconds", 0.1)
        self.assertEqual(result.returncode, 2)
        self.assertIn("no dataset given", result.stderr)

    def test_a_terminal_is_told_how_long_it_takes(self):
        terminal = Terminal()
        self.addCleanup(terminal.close)
        self.spawn("penstock", "bench", self.manifest, "--seconds", 0.5, stderr=terminal.device)
        terminal.wait_until(lambda lines: lines[0] == "measuring for 0.5 s ...", "what it does")

    def test_probes_all_connections(self):
        server = self.start_server()
        self.bench(server.address, "--connections", 2)
        wait_until(lambda: server.log().count("client left") == 6, "two connections, three times")
        left = [line for line in server.log().splitlines() if "client left" in line]
        self.assertEqual([line for line in left if " rows=0 " in line], [])

    def test_names_a_server_that_is_not_there(self):
        nobody, server = self.reserve_address(), self.start_server().address
        screen = self.bench(f"{server},{nobody}")
        read = self.check_run("penstock", "stream", self.manifest, "--servers",
                              f"{server},{nobody}", "--pace", 20000).stdout
        self.assertRegex(screen, f"server +{nobody} +not connected: (?s:.*)Connection\\s+refused")
        self.assertRegex(read, f"server +{nobody} .*; not connected: .*Connection refused")
        self.assertNotRegex(read, f"server +{server} .*not connected")

    def test_measures_this_process_too(self):
        result = json.loads(self.bench("local:", "--json", "-"))
        self.assertGreater(result["positions_per_second"], 0)
        self.assertEqual(result["servers"], [])
        self.assertIn(result["limit"], ("client", "machine", "process", "nothing"))

    def test_what_ends_too_soon_is_no_measurement(self):
        result = run("penstock", "bench", self.manifest, "--steps", 1, "--seconds", 1)
        self.assertEqual(result.returncode, 2)
        self.assertIn("too soon", result.stderr)
        self.assertIn("--steps", result.stderr)
        self.assertNotIn("--epochs", result.stderr)

    def test_tells_how_rows_come(self):
        socket = os.path.join(self.folder, "shm.sock")
        server = self.start_server("--shm-socket", socket).address
        self.assertEqual(json.loads(self.bench(server, "--json", "-"))["path"], "shared memory")
        self.assertEqual(json.loads(self.bench(server, "--json", "-", "--no-shm"))["path"], "loopback")


if __name__ == "__main__":
    unittest.main(verbosity=2)
