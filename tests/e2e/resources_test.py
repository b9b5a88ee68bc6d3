"""Tests how much clients cost a server: clients that stop reading, die, or come in crowds."""

import os
import pathlib
import unittest

from processes import ProcessTestCase
from replay import Recorder, ReplayedClient, SharedClient
from servers import wait_until

WAVE = 50


def held(process):
    """Returns the resources that a process holds: {kind: number}."""
    proc = pathlib.Path(f"/proc/{process.pid}")
    return {"descriptors": len(list((proc / "fd").iterdir())),
            "mappings": len((proc / "maps").read_text().splitlines()),
            "threads": len(list((proc / "task").iterdir()))}


def sockets(process):
    count = 0
    for descriptor in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            count += os.readlink(descriptor).startswith("socket:")
        except FileNotFoundError:
            pass  # The descriptor was closed meanwhile.
    return count


class ResourcesTest(ProcessTestCase):
    def record_client(self, server):
        """Returns the first bytes of a client that reads f32 rows until it stops reading."""
        recorder = Recorder(server.address)
        client = self.spawn("penstock", *self.stream_args(
            recorder.address, "--dtype", "f32", "--look-ahead", "8MiB", "--pace", 1, "--no-shm",
            epochs=0))
        wait_until(lambda: recorder.received > 1 << 20, "the first megabyte of rows")
        words = bytes(recorder.sent)
        client.kill()
        client.wait()
        recorder.close()
        recorder.join()
        return words

    def wait_until_idle(self, server):
        """Waits until the server has noticed that its clients are gone."""
        wait_until(lambda: not server.connections(), "connections to end")
        wait_until(lambda: sockets(server) <= self.idle_sockets, "sockets to be closed")

    def assert_waves_leave_nothing_behind(self, server, wave):
        for _ in range(2):  # After two rounds, pools of threads and memory have grown.
            wave()
        self.wait_until_idle(server)
        before = held(server)
        for _ in range(1000 // WAVE):
            wave()
        self.wait_until_idle(server)
        after = held(server)
        print(f"before {before}, after {after}")
        # 1,000 clients have died, so a leak per client would be far beyond these numbers.
        self.assertLessEqual(after["descriptors"], before["descriptors"] + 10)
        self.assertLessEqual(after["threads"], before["threads"] + 10)
        self.assertLessEqual(after["mappings"], before["mappings"] + 100)
        self.assertEqual(self.stream(server.address)["digest"], self.stream("local:")["digest"])

    def test_a_thousand_clients_that_die_leave_nothing_behind(self):
        server = self.start_server("--memory-budget", "64MiB")
        self.idle_sockets = sockets(server)
        words = self.record_client(server)

        def wave():
            clients = [ReplayedClient(server.address, words) for _ in range(WAVE)]
            for client in clients:
                self.assertTrue(client.read(50_000), "the server ended a conversation")
            for client in clients:
                client.reset()
        self.assert_waves_leave_nothing_behind(server, wave)

    def test_nor_do_those_that_share_its_memory(self):
        path = str(self.folder / "shm.sock")
        server = self.start_server("--memory-budget", "64MiB", "--shm-socket", path)
        self.idle_sockets = sockets(server)
        words = self.record_client(server)

        def wave():
            clients = [SharedClient(server.address, words, path) for _ in range(WAVE)]
            for client in clients:
                wait_until(client.has_rows, "rows in shared memory")
            for client in clients:
                client.reset()
            self.wait_until_idle(server)  # The total size of all pools is bounded.
        self.assert_waves_leave_nothing_behind(server, wave)


if __name__ == "__main__":
    unittest.main(verbosity=2)
