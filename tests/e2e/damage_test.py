"""A record that is damaged after it was indexed, on one server's disk and on both."""

import shutil
import unittest

from processes import ProcessTestCase, run
from servers import Server

OFFSET = 100_000  # Inside some record.


class DamageTest(ProcessTestCase):
    def start_copies(self, damaged):
        """Two servers, each on a copy of the data of its own; `damaged`: which of them are."""
        addresses = []
        for number in range(2):
            data = self.folder / f"copy{number}"
            shutil.copytree(self.data, data)
            if number in damaged:
                shard = self.shard_of(data)
                content = bytearray(shard.read_bytes())
                content[OFFSET] ^= 1
                shard.write_bytes(content)
            server = Server(data, self.address_files / f"copy{number}",
                            self.folder / f"copy{number}.log")
            self.addCleanup(server.end)
            server.start()
            addresses.append(server.wait_serving().address)
        return ",".join(addresses)

    def shard_of(self, data):
        return sorted(data.glob("*.tfrecord"))[0]

    def test_a_good_copy_serves_what_the_damaged_one_cannot(self):
        told = self.stream(self.start_copies(damaged=[1]))
        self.assertEqual(told["digest"], self.stream("local:")["digest"])

    def test_damage_that_both_servers_see_is_named(self):
        result = run("penstock", *self.stream_args(self.start_copies(damaged=[0, 1])))
        self.assertEqual(result.returncode, 1)
        for words in (self.shard_of(self.data).name, "offset", "record", "agree",
                      "--exclude-corrupt"):
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
