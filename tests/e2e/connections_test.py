"""Tests penstock stream --connections: several streams to a server give the same rows."""

import pathlib
import unittest

from processes import TIMEOUT_S, ProcessTestCase, pause
from servers import wait_until

ESTABLISHED = "01"


def connections_to(port):
    """Counts TCP connections of this machine whose server side is at `port`."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    sockets = (line.split()[1:4] for line in lines)
    return sum(state == ESTABLISHED and int(local.split(":")[1], 16) == port
               for local, _, state in sockets)


class ConnectionsTest(ProcessTestCase):
    def connected(self, server):
        return pathlib.Path(server.log_path).read_text().count("client connected")

    def assert_connected(self, times, connections, result):
        """Checks the number of connections. Under load, some may have broken and been renewed."""
        breaks = result["servers"][0]["stream_breaks"]
        self.assertTrue(connections <= times <= connections + breaks, (times, result["servers"]))

    def test_rows_are_those_of_one_connection(self):
        server = self.start_server()
        one = self.stream(server.address, "--connections", 1)
        first = self.connected(server)
        self.assert_connected(first, 1, one)
        four = self.stream(server.address, "--connections", 4)
        self.assertEqual(four["digest"], one["digest"])
        self.assert_connected(self.connected(server) - first, 4, four)
        # The report has one entry for all connections to a server.
        self.assertEqual([s["address"] for s in four["servers"]], [server.address])
        self.assertEqual(four["servers"][0]["rows"], one["servers"][0]["rows"])

    def test_the_server_shows_each(self):
        server = self.start_server()
        ids = self.folder / "ids"
        reader = self.spawn("penstock", "stream", self.manifest, "--servers", server.address,
                            "--epochs", 0, "--global-batch-size", 64, "--pace", 20000, "--ids", ids,
                            "--connections", 3)
        while not ids.exists() or ids.stat().st_size == 0:
            self.assertIsNone(reader.poll(), "the stream ended")
            pause()
        [row] = self.top_until(lambda rows: len(rows[0]["clients"]) == 3, server.address)
        self.assertEqual(len({client["peer"] for client in row["clients"]}), 3)
        # The connection of `top` closes shortly after its answer.
        port = int(server.address.rsplit(":", 1)[1])
        wait_until(lambda: connections_to(port) == 3, "three connections")
        reader.terminate()
        reader.communicate(timeout=TIMEOUT_S)


if __name__ == "__main__":
    unittest.main(verbosity=2)
