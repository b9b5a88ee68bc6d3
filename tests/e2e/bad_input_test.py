"""Tests bad input on the command line: exit code 1 and a message with cause, place and remedy."""

import gzip
import json
import os
import pathlib
import tempfile
import unittest

import tfrecord
from processes import ProcessTestCase, run
from servers import obey_permissions


class BadInputTest(ProcessTestCase):
    def setUp(self):
        super().setUp()
        self.bad = self.folder / "bad"
        self.bad.mkdir()

    def write(self, name, data):
        path = self.bad / name
        path.write_bytes(data)
        return path

    def assert_fails(self, *args, says, program="penstock", code=1, **options):
        result = run(program, *args, **options)
        self.assertEqual(result.returncode, code, f"{args}\n{result.stdout}\n{result.stderr}")
        for words in says:
            self.assertIn(words, result.stdout + result.stderr)
        return result

    def records(self, count=50, **options):
        return b"".join(tfrecord.frame(tfrecord.chess_record(i, **options)) for i in range(count))

    def test_an_empty_folder(self):
        self.assert_fails("index", self.bad, says=[str(self.bad)])

    def test_a_folder_that_does_not_exist(self):
        self.assert_fails("index", self.bad / "nowhere", says=["nowhere"])

    def test_a_text_file_named_tfrecord(self):
        self.write("notes.tfrecord", b"This is no record file.\n" * 40)
        self.assert_fails("index", self.bad, says=["notes.tfrecord"])

    def test_a_shard_cut_in_its_last_record(self):
        self.write("cut.tfrecord", self.records()[:-7])
        self.assert_fails("index", "--verify", self.bad, says=["cut.tfrecord", "offset"])

    def test_a_cut_gzip_stream(self):
        self.write("cut.tfrecord.gz", gzip.compress(self.records())[:-40])
        self.assert_fails("index", self.bad, says=["cut.tfrecord.gz"])

    def test_verify_lists_each_damaged_record_and_exclude_leaves_it_out(self):
        data = bytearray(self.records())
        size = len(data) // 50
        data[20 * size + 100] ^= 1
        data[30 * size + 100] ^= 1
        self.write("flipped.tfrecord", bytes(data))
        result = run("penstock", "index", "--verify", "--json", "-", self.bad)
        self.assertEqual(result.returncode, 1)
        damage = json.loads(result.stdout)["damage"]
        self.assertEqual([(entry["record"], entry["records"]) for entry in damage],
                         [(20, 1), (30, 1)])
        for entry in damage:
            self.assertIn("flipped.tfrecord", entry["file"])
            self.assertIn(f"{entry['file']}: record {entry['record']} at offset {entry['offset']}",
                          run("penstock", "index", "--verify", self.bad).stdout)
        self.check_run("penstock", "index", "--exclude-corrupt", self.bad)
        inspected = self.check_run("penstock", "inspect", self.bad / "manifest.pb", "--json", "-")
        self.assertEqual(json.loads(inspected.stdout)["records"], 48)

    def index_and_stream(self, *args):
        self.check_run("penstock", "index", self.bad, "-o", self.bad / "manifest.pb")
        return ["stream", self.bad / "manifest.pb", "--servers", "local:", "--global-batch-size", 8,
                *args]

    def test_d_of_193_and_195_bytes(self):
        for length in (193, 195):
            self.write("length.tfrecord", self.records(d_bytes=length))
            self.assert_fails(*self.index_and_stream("--spec", "chess"),
                              says=["'d'", str(length), "194"])

    def test_a_missing_feature(self):
        self.write("missing.tfrecord", b"".join(
            tfrecord.frame(tfrecord.example(d=bytes(194))) for _ in range(50)))
        self.assert_fails(*self.index_and_stream("--spec", "chess"), says=["'s'", "They have d"])

    def test_a_feature_of_the_wrong_type(self):
        self.write("typed.tfrecord", b"".join(
            tfrecord.frame(tfrecord.example(d=bytes(194), s=1.5)) for _ in range(50)))
        self.assert_fails(*self.index_and_stream("--spec", "chess"), says=["'s'", "float"])

    def test_a_shard_cut_after_it_was_indexed(self):
        path = self.write("later.tfrecord", self.records())
        stream = self.index_and_stream()
        os.truncate(path, 4000)
        self.assert_fails(*stream, says=["later.tfrecord", "penstock index"])

    def test_a_missing_shard(self):
        path = self.write("gone.tfrecord", self.records())
        stream = self.index_and_stream()
        path.unlink()
        self.assert_fails(*stream, says=["gone.tfrecord"])

    def test_manifests_that_are_cut_random_or_empty(self):
        whole = self.manifest.read_bytes()
        for damaged in (whole[:len(whole) // 2], os.urandom(4096), b""):
            path = self.write("manifest.pb", damaged)
            self.assert_fails("stream", path, "--servers", "local:", says=["manifest.pb"])

    def test_a_data_root_that_does_not_exist(self):
        self.assert_fails("--data-root", self.bad / "nowhere", "--listen", "127.0.0.1:0",
                          program="penstock-server", says=["nowhere"])

    def test_more_rows_wanted_than_there_are(self):
        self.assert_fails("stream", self.manifest, "--servers", "local:",
                          "--global-batch-size", 10_000_000, says=["10000000"], code=2)

    def test_a_cursor_of_other_data(self):
        self.assert_fails("stream", self.manifest, "--servers", "local:", "--cursor",
                          "ps1-0123456789abcdef-0-0", says=["--cursor: ", "another order"], code=2)

    def test_an_invalid_line_is_named(self):
        path = self.write("positions.tsv", b"8/8/8/8/8/8/8/8 w - - 0 1\t+10\n")
        self.assert_fails("pack", "--from", "chess-tsv", path, "-o", self.bad / "out",
                          says=["positions.tsv", "1"])

    @unittest.skipIf(os.geteuid() != 0, "needs root to mount a small file system")
    def test_a_full_disk_leaves_no_half_shard(self):
        small = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        if os.system(f"mount -t tmpfs -o size=64k tmpfs {small}") != 0:
            self.skipTest("mount is not allowed here")
        self.addCleanup(os.system, f"umount {small}")
        fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\t+10\n"
        path = self.write("many.tsv", fen.encode() * 2000)
        self.assert_fails("pack", "--from", "chess-tsv", path, "-o", small / "out",
                          says=["No space left"])
        self.assertFalse(list(small.glob("out/*.tfrecord")))

    def test_an_unreadable_file(self):
        path = self.write("secret.tfrecord", self.records())
        path.chmod(0)
        self.assert_fails("index", self.bad, says=["secret.tfrecord", "Permission denied"],
                          preexec_fn=obey_permissions)

    def test_a_link_out_of_the_data_root(self):
        outside = self.folder / "outside.tfrecord"
        outside.write_bytes(self.records())
        path = self.write("link.tfrecord", self.records())
        stream = self.index_and_stream()
        path.unlink()
        path.symlink_to(outside)
        self.assert_fails(*stream, says=["link.tfrecord"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
