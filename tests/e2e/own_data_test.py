"""Tests records other than chess positions from files to batches, with the defaults."""

import json
import os
import sys
import unittest

from processes import REPOSITORY, ProcessTestCase, run
from tfrecord import chess_record, example, frame


class OwnDataTest(ProcessTestCase):
    def setUp(self):
        super().setUp()
        self.table = self.data / "table"
        self.table.mkdir()
        for shard in range(2):
            self.write_table(f"t{shard}.tfrecord", range(shard * 200, shard * 200 + 200))
        self.data = self.table  # The servers' data root.

    def write_table(self, name, numbers):
        records = (example(id=i, x=i / 2, text=b"a" * 20) for i in numbers)
        (self.table / name).write_bytes(b"".join(map(frame, records)))

    def read(self, servers, *args):
        told = self.check_run("penstock", "stream", self.table / "manifest.pb", "--servers", servers,
                              "--global-batch-size", 20, "--digest", "--json", "-", *args)
        return json.loads(told.stdout), told.stderr

    def test_the_first_five_minutes_with_a_table(self):
        indexed = self.check_run("penstock", "index", self.table, "--holdout", "10%").stdout
        self.assertIn("held out by the whole record", indexed)
        local, told = self.read("local:")
        self.assertIn("using a decode spec made from the features", told)
        served, _ = self.read(self.start_server().address)
        self.assertEqual(served["digest"], local["digest"])
        held, _ = self.read("local:", "--split", "holdout", "--remainder", "short")
        trained, _ = self.read("local:", "--split", "train", "--remainder", "short")
        self.assertEqual(held["rows"] + trained["rows"], 400)
        self.assertGreater(held["rows"], 0)

    def test_the_manifest_brings_its_spec(self):
        spec = self.folder / "id.textproto"
        spec.write_text('tensor { name: "id" label { feature: "id" } }\n')
        self.check_run("penstock", "index", self.table, "--spec", spec)
        stored, told = self.read("local:")
        self.assertEqual(told, "")
        self.assertEqual(stored["bytes"], 8 * stored["rows"])
        named, _ = self.read("local:", "--spec", spec)
        self.assertEqual(named["digest"], stored["digest"])

    def test_rot_that_verify_found_is_left_out_by_an_update(self):
        self.check_run("penstock", "index", self.table)
        path = self.table / "t1.tfrecord"
        before = os.stat(path)
        content = bytearray(path.read_bytes())
        content[5000] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertEqual(run("penstock", "index", self.table, "--verify").returncode, 1)
        mended = json.loads(self.check_run("penstock", "index", self.table, "--update",
                                           "--exclude-corrupt", "--json", "-").stdout)
        self.assertEqual((mended["read_shards"], mended["records"]), (1, 399))

    def test_the_tutorial_ends_with_the_digest_that_it_shows(self):
        products, spec = self.folder / "products", self.folder / "products.textproto"
        self.check_run(sys.executable, "-B", REPOSITORY / "deploy/demo/products.py", products)
        made = self.check_run("penstock", "inspect", products, "--make-spec").stdout
        page = (REPOSITORY / "docs/tutorial/records.md").read_text()
        self.assertIn(made, page)
        spec.write_text(made.replace("optional: true", "optional: true default: -1"))
        self.check_run("penstock", "index", products, "--spec", spec, "--holdout", "10%")
        read = self.check_run("penstock", "stream", products, "--split", "train",
                              "--global-batch-size", 100, "--digest").stdout
        self.assertIn(read.splitlines()[-1], page)

    def test_two_datasets_are_refused_at_once(self):
        chess = self.table / "a.tfrecord"
        chess.write_bytes(b"".join(frame(chess_record(i)) for i in range(50)))
        result = run("penstock", "index", self.table)
        self.assertEqual(result.returncode, 1)
        for words in ("a.tfrecord", "t", "have different features"):
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main()
