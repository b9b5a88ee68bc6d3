"""Tests a record that was damaged after indexing, on one server's disk and on both."""

import json
import shutil
import struct
import unittest

from processes import ProcessTestCase, run
from servers import Server
from tfrecord import chess_record, frame

OFFSET = 100_000  # This offset is inside some record.


class DamageTestCase(ProcessTestCase):
    def start_copies(self, damaged, shard=0, offset=OFFSET):
        """Starts two servers, each on its own copy of the data. `damaged` lists the copies that are
        damaged."""
        addresses = []
        for number in range(2):
            data = self.folder / f"copy{number}"
            shutil.copytree(self.data, data)
            if number in damaged:
                path = self.shard_of(data, shard)
                content = bytearray(path.read_bytes())
                content[offset] ^= 1
                path.write_bytes(content)
            server = Server(data, self.address_files / f"copy{number}",
                            self.folder / f"copy{number}.log")
            self.addCleanup(server.end)
            server.start()
            addresses.append(server.wait_serving().address)
        return ",".join(addresses)

    def shard_of(self, data, number=0):
        return sorted(data.glob("*.tfrecord"))[number]


class DamageTest(DamageTestCase):
    def test_a_good_copy_serves_what_the_damaged_one_cannot(self):
        told = self.stream(self.start_copies(damaged=[1]))
        self.assertEqual(told["digest"], self.stream("local:")["digest"])

    def test_damage_that_both_servers_see_is_named(self):
        result = run("penstock", *self.stream_args(self.start_copies(damaged=[0, 1])))
        self.assertEqual(result.returncode, 1)
        for words in (self.shard_of(self.data).name, "offset", "record", "reported by",
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
        # The number of rows is the same as without damage.
        self.assertEqual(len(lines), told["rows"])
        self.assertGreaterEqual(sum(line.endswith("\treplaced") for line in lines), 1)
        self.assertEqual(self.stream(servers, *replace)["digest"], told["digest"])
        self.assertNotEqual(self.stream("local:")["digest"], told["digest"])

    def test_a_window_without_a_good_record_is_replaced_from_a_chunk_that_follows(self):
        """Uses windows of one chunk: one damaged bit of a zstd chunk loses all of its records."""
        servers = self.start_copies(damaged=[0, 1])
        local = ("local:", "--data-root", self.folder / "copy0")
        options = ("--on-error", "replace", "--window-chunks", 1, "--split", "train")
        ids = self.folder / "ids"
        told = self.stream(servers, *options, "--ids", ids)
        lines = ids.read_text().splitlines()
        self.assertEqual(len(lines), told["rows"])
        stand_ins = {line for line in lines if line.endswith("\treplaced")}
        self.assertEqual(len(stand_ins), 2)  # There is one record for each epoch's window.
        self.assertEqual(len(told["damaged"]), 1)
        self.assertEqual(self.stream(*local, *options)["digest"], told["digest"])
        # Two ranks, and a rank that resumes in the middle, get the same rows.
        head = self.stream(servers, *options, "--steps", told["steps"] // 4, "--ids", ids)
        resumed = ids.read_text().splitlines()
        for where in (servers,), local:
            self.stream(*where, *options, "--cursor", head["cursor"], "--ids", ids)
            self.assertEqual(resumed + ids.read_text().splitlines(), lines)
        of_ranks = set()
        for rank in range(2):
            self.stream(servers, *options, "--world-size", 2, "--rank", rank, "--ids", ids)
            of_ranks |= {line for line in ids.read_text().splitlines()
                         if line.endswith("\treplaced")}
        self.assertEqual(of_ranks, stand_ins)

    def test_a_training_goes_on_when_it_may_replace(self):
        servers = self.start_copies(damaged=[0, 1])
        # This seed's fourth step has a damaged record.
        train = ("penstock-train", "--manifest", self.manifest, "--servers", servers, "--steps", 8,
                 "--seed", 29, "--global-batch-size", 64, "--device", "cpu")
        refused = run(*train)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn(self.shard_of(self.data).name, refused.stderr)
        trained = run(*train, "--on-error", "replace")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertIn("penstock: replaced " + self.shard_of(self.data).name, trained.stderr)


class PlainShardTest(DamageTestCase):
    """Damages one record in the middle of an uncompressed shard. Messages give its exact number."""

    SHARDS, RECORDS = 3, 2000  # Number of shards, and number of records in each.
    SHARD, RECORD = 1, 1777    # Numbers of the damaged shard and record, counted from 0.

    def setUp(self):
        super().setUp()
        shutil.rmtree(self.data)
        self.data.mkdir()
        for shard in range(self.SHARDS):
            first = shard * self.RECORDS
            (self.data / f"plain-{shard}.tfrecord").write_bytes(b"".join(
                frame(chess_record(number)) for number in range(first, first + self.RECORDS)))
        self.check_run("penstock", "index", self.data, "-o", self.manifest)

    def offset_of_payload(self):
        content = self.shard_of(self.data, self.SHARD).read_bytes()
        offset = 0
        for _ in range(self.RECORD):
            offset += 16 + struct.unpack_from("<Q", content, offset)[0]
        return offset + 12

    def name(self):
        """Returns the name that messages must give the record, computed from `penstock which`."""
        total = self.SHARDS * self.RECORDS
        rows = json.loads(self.check_run(
            "penstock", "which", self.manifest, "--no-shuffle", "--global-batch-size", total,
            "--step", 0, "--json", "-").stdout)["rows"]
        shard = self.shard_of(self.data, self.SHARD).name
        numbers = {row["record"]: row["chunk_offset"] for row in rows if row["shard"] == shard}
        chunk = numbers[self.RECORD]
        first = min(number for number, offset in numbers.items() if offset == chunk)
        self.assertGreater(self.RECORD, first)
        return (f"{shard}: chunk at offset {chunk}, record {self.RECORD - first} "
                f"(record {self.RECORD} of the shard)")

    def start_damaged(self):
        return self.start_copies(damaged=[0, 1], shard=self.SHARD,
                                 offset=self.offset_of_payload() + 50)

    def test_the_trainers_user_is_told_which(self):
        refused = run("penstock-train", "--manifest", self.manifest, "--servers",
                      self.start_damaged(), "--epochs", 1, "--global-batch-size", 64,
                      "--device", "cpu")
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn(self.name() + " was damaged after it was indexed", refused.stderr)

    def test_what_was_replaced_is_told_alike(self):
        told = self.stream(self.start_damaged(), "--on-error", "replace", epochs=1)
        self.assertEqual((told["damaged"], told["replaced_records"]), ([self.name()], 1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
