"""Tests the log of penstock-server."""

import json
import pathlib
import signal
import unittest

from processes import TIMEOUT_S, ProcessTestCase, run


class LogTest(ProcessTestCase):
    def events(self, server):
        """Returns the parsed lines. Every line must be one JSON object."""
        return [json.loads(line) for line in pathlib.Path(server.log_path).read_text().splitlines()]

    def named(self, server, event):
        return [line for line in self.events(server) if line["event"] == event]

    def end(self, server):
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(timeout=TIMEOUT_S), 0)

    def test_one_line_an_event_with_its_numbers(self):
        server = self.start_server("--log-format", "json", "--grace", "7s")
        rows = self.stream(server.address)["servers"][0]["rows"]
        self.end(server)
        serving, options = self.named(server, "serving")[0], self.named(server, "options")[0]
        self.assertEqual(serving["address"], server.address)
        self.assertRegex(serving["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(options["grace"], "7s")
        self.assertEqual(options["data-root"], str(self.data))
        self.assertEqual(len(self.named(server, "client connected")), 1)
        left = self.named(server, "client left")[0]
        self.assertEqual(left["rows"], rows)
        self.assertGreater(left["bytes"], 0)
        self.assertEqual(len(self.named(server, "draining")), 1)
        self.assertEqual(self.events(server)[-1]["event"], "ended")
        # There is no event per request.
        self.assertLess(len(self.events(server)), 12)

    def test_damage_is_named_by_shard_and_place(self):
        server = self.start_server("--log-format", "json")
        shard = sorted(self.data.glob("*.tfrecord"))[0]
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
        self.assertEqual(run("penstock", *self.stream_args(server.address)).returncode, 1)
        self.end(server)
        found = self.named(server, "damage found")[0]
        self.assertEqual(found["shard"], shard.name)
        self.assertGreaterEqual(found["chunk_offset"], 0)
        self.assertIn("chunk_record", found)

    def test_a_window_without_memory_is_named(self):
        server = self.start_server("--log-format", "json", "--memory-budget", "64KiB")
        run("penstock", *self.stream_args(server.address), "--server-timeout", "5s")
        self.end(server)
        refused = self.named(server, "window refused") + self.named(server, "stream refused")
        self.assertTrue(refused)
        self.assertIn("budget", refused[0]["error"])

    def test_windows_that_do_not_fit_together_are_told_once(self):
        server = self.start_server("--log-format", "json", "--memory-budget", "128KiB")
        result = run("penstock", *self.stream_args(server.address), "--server-timeout", "5s")
        self.assertEqual(result.returncode, 1)
        self.assertIn("other windows in use", result.stderr)
        self.end(server)
        refused = self.named(server, "windows refused")
        self.assertEqual(len(refused), 1, refused)
        self.assertIn("other windows in use", refused[0]["error"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
