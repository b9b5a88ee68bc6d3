"""Tests penstock top with real servers."""

import json
import re
import signal
import socket
import unittest

from processes import TIMEOUT_S, ProcessTestCase, pause, run
from servers import wait_until, wait_until_handled
from terminal import Terminal


class TopTest(ProcessTestCase):
    def top(self, servers, *args, down=0):
        """Returns the output of a run in which `down` servers are down. On a loaded machine other
        servers may not answer in time, so this repeats."""
        def look():
            result = run("penstock", "top", "--servers", servers, "--interval", "300ms", *args)
            self.assertEqual(result.returncode, 1 if result.stderr else 0, result.stderr)
            return result.stdout if self.num_down(result.stderr) == down else None
        return wait_until(look, f"top to find {down} of {servers} down")

    def num_down(self, told):
        if not told:
            return 0
        self.assertRegex(told, r"\d+ of ")
        return int(re.search(r"(\d+) of ", told)[1])

    def start_reader(self, server):
        ids = self.folder / "ids"
        reader = self.spawn("penstock", "stream", self.manifest, "--servers", server.address,
                            "--epochs", 0, "--global-batch-size", 64, "--pace", 20000, "--ids", ids)
        while not ids.exists() or ids.stat().st_size == 0:
            self.assertIsNone(reader.poll(), "the stream ended")
            pause()
        return reader

    def test_tells_what_servers_do_and_which_are_down(self):
        busy, idle = self.start_server(), self.start_server()
        nobody = self.reserve_address()
        reader = self.start_reader(busy)
        servers = f"{busy.address},{idle.address},{nobody}"
        while True:  # On a loaded machine a stream may send nothing for 300 ms.
            rows = json.loads(self.top(servers, "--once", "--json", "-", down=1))["servers"]
            self.assertEqual([row["address"] for row in rows], sorted(servers.split(",")))
            row_of = {row["address"]: row for row in rows}
            first, second, third = (row_of[address] for address in servers.split(","))
            self.assertIsNone(reader.poll())
            if first["rows_per_second"] > 0:
                break
        self.assertEqual(first["state"], "up")
        self.assertEqual(len(first["clients"]), 1)
        self.assertEqual((second["rows_per_second"], second["clients"]), (0, []))
        self.assertEqual(third["state"], "down")
        self.assertIn("refused", third["error"])

        table = self.top(servers, "--once", "--clients", down=1)
        self.assertIn("3 servers", table)
        self.assertEqual(table.count(nobody), 1)
        self.top(busy.address, "--once")  # Exits with 0, because all answer.
        self.assertNotIn("\x1b", table)
        for line in table.splitlines():
            if line[0] != " " or " waiting, " in line:  # The line is no cause.
                self.assertLessEqual(len(line), 80, line)

    def test_shows_the_servers_of_a_file_beside_a_fixed_one(self):
        fixed, listed = self.start_server(), self.start_server()
        (self.folder / "addr").write_text(listed.address + "\n")
        servers = f"{fixed.address},file:{self.folder / 'addr'}"
        shown = json.loads(self.top(servers, "--once", "--json", "-"))
        self.assertEqual([row["address"] for row in shown["servers"]],
                         sorted([fixed.address, listed.address]))
        self.assertNotIn("missing", shown)

    def test_follows_a_folder_as_servers_join_and_leave(self):
        def wait_until_shown(states):
            def look():
                self.assertIsNone(top.poll(), "top ended")
                rows = json.loads(top.stdout.readline())["servers"]
                return {row["address"]: row["state"] for row in rows} == states
            wait_until(look, f"top to show {states}")
        one = self.start_server()
        top = self.spawn("penstock", "top", "--servers", f"file:{self.address_files}", "--interval",
                         "100ms", "--json", "-")
        wait_until_shown({one.address: "up"})
        two = self.start_server()
        wait_until_shown({one.address: "up", two.address: "up"})
        one.drain()  # The server removes its address file.
        wait_until_shown({two.address: "up"})
        two.kill()  # Its address file stays.
        wait_until_shown({two.address: "down"})
        two.address_file.unlink()
        wait_until_shown({})
        three = self.start_server()
        wait_until_shown({three.address: "up"})

    def test_says_that_servers_may_be_missing(self):
        server = self.start_server()
        servers = f"{server.address},file:{self.folder / 'nothing'}"
        result = run("penstock", "top", "--servers", servers, "--interval", "300ms", "--once")
        self.assertEqual(result.returncode, 1)
        for text in (result.stdout, result.stderr):
            self.assertIn("servers may be missing: file:", text)
        self.assertIn(server.address, result.stdout)

    def wait_until_down(self, address, why):
        """Uses the default interval, in which gRPC retries and then gives fewer details."""
        def look():
            result = run("penstock", "top", "--servers", address, "--once", "--json", "-")
            return why in json.loads(result.stdout)["servers"][0].get("error", "")
        wait_until(look, f"{address} to be down for {why!r}")

    def test_says_why_a_server_is_down(self):
        self.wait_until_down(self.reserve_address(), "Connection refused")
        stopped = self.start_server()
        stopped.stop()
        try:
            self.wait_until_down(stopped.address, "sends nothing")
        finally:
            stopped.cont()
        stopped.drain()
        stopped.wait(TIMEOUT_S)
        self.assertNotIn("speaks TLS", stopped.log())

    def top_on_terminal(self, servers, *args, **size):
        """Starts top on a terminal and returns the terminal."""
        terminal = Terminal(**size)
        self.addCleanup(terminal.close)
        self.spawn("penstock", "top", "--servers", servers, "--interval", "100ms", *args,
                   stdout=terminal.device)
        return terminal

    def test_a_terminal_of_80_columns_shows_all_of_a_line(self):
        server = self.start_server()
        terminal = self.top_on_terminal(server.address)
        lines = terminal.wait_until(lambda lines: server.address in lines[1] and not lines[2],
                                    "the server and nothing below")
        for line in lines[:2]:
            self.assertEqual(len(line), 80, line)
        self.assertEqual(lines[0].split()[-2:], ["MEMORY", "CLI"])

    def test_of_a_large_fleet_a_terminal_shows_what_it_has_room_for(self):
        up = [self.start_server().address for _ in range(2)]
        down = [self.reserve_address() for _ in range(9)]
        servers = ",".join(up + down)
        terminal = self.top_on_terminal(servers, rows=12)
        lines = terminal.wait_until(lambda lines: "11 servers            2 up" in "\n".join(lines),
                                    "a total of which two are up")
        lines = [line for line in lines if line]
        self.assertEqual(lines[0].split()[0], "SERVER")
        self.assertEqual(lines[1].split()[1], "down")
        self.assertRegex(lines[-2], r"^\d more, \d of them down$")
        self.assertLess(len(lines), 12)
        self.assertEqual(terminal.screen.scrolled, 0)
        terminal.resize(60, 80)
        lines = terminal.wait_until(lambda lines: all(address in "\n".join(lines)
                                                      for address in up + down), "all servers")
        self.assertNotIn(" more", "\n".join(lines))
        once = run("penstock", "top", "--servers", servers, "--once", "--interval", "100ms").stdout
        self.assertEqual(len(once.splitlines()), 1 + 2 + 2 * 9 + 1)

    def test_a_cause_is_whole_and_on_a_terminal_wrapped(self):
        silent = socket.create_server(("127.0.0.1", 0))  # It never accepts.
        self.addCleanup(silent.close)
        address = "%s:%d" % silent.getsockname()
        cause = ("the peer accepts connections but sends nothing: the server is stopped or "
                 "overloaded, or this is not its --listen port")
        wait_until(lambda: f"  {cause}\n" in run("penstock", "top", "--servers", address, "--once",
                                                 "--interval", "1ms").stdout, cause)
        terminal = self.top_on_terminal(address)
        lines = terminal.wait_until(lambda lines: cause in " ".join(map(str.strip, lines)), cause)
        self.assertEqual(lines[4], "")

    def test_goes_on_until_ctrl_c(self):
        server = self.start_server()
        top = self.spawn("penstock", "top", "--servers", server.address, "--interval", "100ms",
                         "--json", "-")
        for _ in range(3):
            wait_until(lambda: json.loads(top.stdout.readline())["servers"][0]["state"] == "up",
                       "top to go on and find the server up")
        top.send_signal(signal.SIGINT)
        top.communicate(timeout=TIMEOUT_S)
        self.assertEqual(top.returncode, 0)

    def test_one_look_that_is_interrupted_says_so(self):
        server = self.start_server()
        top = self.spawn("penstock", "top", "--servers", server.address, "--once", "--json", "-",
                         "--interval", "1h")
        wait_until_handled(top, signal.SIGTERM)
        top.send_signal(signal.SIGTERM)
        shown, told = top.communicate(timeout=TIMEOUT_S)
        self.assertEqual((top.returncode, shown), (143, ""))
        self.assertIn("interrupted by SIGTERM", told)

    def test_wrong_usage_exits_with_2(self):
        for args in (["top"], ["top", "--servers", "local:"], ["top", "--servers", "nowhere"],
                     ["top", "--servers", "a:1", "--interval", "soon"]):
            result = run("penstock", *args)
            self.assertEqual(result.returncode, 2, f"{args}: {result.stderr}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
