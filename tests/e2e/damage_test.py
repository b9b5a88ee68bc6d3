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

    def test_replacing_it_is_agreed_counted_and_the_same_for_everyone(self):
        servers = self.start_copies(damaged=[0, 1])
        ids = self.folder / "ids"
        replace = ("--on-error", "replace")
        told = self.stream(servers, *replace, "--ids", ids)
        self.assertGreater(told["replaced_records"], 0)
        [damaged] = told["damaged"]  # The shards are compressed: the rest of one chunk is lost.
        for words in (self.shard_of(self.data).name, "chunk at offset", "record"):
            self.assertIn(words, damaged)
        lines = ids.read_text().splitlines()
        self.assertEqual(len(lines), told["rows"])  # As many as without.
        self.assertGreaterEqual(sum(line.endswith("\treplaced") for line in lines), 1)
        self.assertEqual(self.stream(servers, *replace)["digest"], told["digest"])
        self.assertNotEqual(self.stream("local:")["digest"], told["digest"])

    def test_a_training_goes_on_when_it_may_replace(self):
        servers = self.start_copies(damaged=[0, 1])
        train = ("penstock-train", "--manifest", self.manifest, "--servers", servers, "--steps", 200,
                 "--global-batch-size", 64, "--device", "cpu")
        refused = run(*train)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn(self.shard_of(self.data).name, refused.stderr)
        trained = run(*train, "--on-error", "replace")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertIn("penstock: replaced " + self.shard_of(self.data).name, trained.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
