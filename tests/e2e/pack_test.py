"""Tests that other commands read from the shards of `penstock pack` what its input contained. The
input is shards, tables or arrays."""

import array
import csv
import gzip
import io
import json
import struct
import unittest
import zipfile

from npy import read_npy
from processes import ProcessTestCase, run
from tfrecord import example, frame

ROWS = 500


def npy(descr, shape, data):
    """Returns an array in the format of numpy.save()."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


class PackTest(ProcessTestCase):
    def setUp(self):
        super().setUp()
        self.ids = [2**40 + 7 * i for i in range(ROWS)]
        self.scores = [i / 8 - 20 for i in range(ROWS)]
        self.images = bytes(i * 31 % 251 for i in range(ROWS * 12))
        self.names = [f'no. {i}, "{"x" * (i % 5)}"' for i in range(ROWS)]
        self.out = self.folder / "out"

    def pack(self, kind, *args):
        return self.check_run("penstock", "pack", "--from", kind, *args, "-o", self.out).stderr

    def decoded(self):
        """Returns the arrays of the one shard, by the names of the features."""
        (shard,) = self.out.glob("*.tfrecord")
        arrays = self.folder / "arrays"
        self.check_run("penstock", "decode", shard, "--force", "-o", arrays)
        return {path.stem: read_npy(path) for path in arrays.iterdir()}

    def check_numbers(self, arrays):
        self.assertEqual(list(arrays["id"].values()), self.ids)
        self.assertEqual(list(arrays["score"].values()), self.scores)

    def check_names(self, arrays):
        lengths = arrays["name_length"].values()
        rows = [arrays["name"].row(i)[:lengths[i]].decode() for i in range(ROWS)]
        self.assertEqual(rows, self.names)

    def one_shard(self):
        return "--records-per-shard", ROWS

    def test_csv(self):
        path = self.folder / "table.csv"
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "score", "name"])
            writer.writerows(zip(self.ids, self.scores, self.names))
        self.pack("csv", path, *self.one_shard())
        arrays = self.decoded()
        self.check_numbers(arrays)
        self.check_names(arrays)

    def test_json_lines(self):
        path = self.folder / "table.jsonl.gz"
        with gzip.open(path, "wt") as file:
            for row in zip(self.ids, self.scores, self.names):
                print(json.dumps(dict(zip(("id", "score", "name"), row))), file=file)
        self.pack("jsonl", path, *self.one_shard())
        arrays = self.decoded()
        self.check_numbers(arrays)
        self.check_names(arrays)

    def arrays(self):
        return {"id": npy("<i8", (ROWS,), array.array("q", self.ids).tobytes()),
                "score": npy("<f8", (ROWS,), array.array("d", self.scores).tobytes()),
                "image": npy("|u1", (ROWS, 3, 4), self.images)}

    def check_arrays(self):
        arrays = self.decoded()
        self.check_numbers(arrays)
        self.assertEqual(arrays["image"].bytes, self.images)

    def test_npz(self):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            path = self.folder / "arrays.npz"
            with zipfile.ZipFile(path, "w", method) as archive:
                for name, content in self.arrays().items():
                    archive.writestr(f"{name}.npy", content)
            self.pack("npz", path, "--force", *self.one_shard())
            self.check_arrays()

    def test_npy(self):
        paths = []
        for name, content in self.arrays().items():
            paths.append(self.folder / f"{name}.npy")
            paths[-1].write_bytes(content)
        self.pack("npy", *paths, *self.one_shard())
        self.check_arrays()

    def test_shards_of_one_large_member(self):
        frames = b"".join(frame(example(id=i, noise=bytes(200_000))) for i in range(ROWS))
        large = self.folder / "large.tfrecord.gz"
        large.write_bytes(gzip.compress(frames, 1))
        refused = run("penstock", "index", large, "-o", self.folder / "large.pb")
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"penstock pack --from tfrecord '{large}' -o OUT", refused.stderr)
        self.pack("tfrecord", large, "--compression", "gzip", "--seed", 1)
        indexed = json.loads(self.check_run("penstock", "index", self.out, "--json", "-").stdout)
        self.assertEqual(indexed["records"], ROWS)
        told = self.check_run("penstock", "stream", self.out, "--servers", "local:",
                              "--global-batch-size", 50, "--json", "-").stdout
        self.assertEqual(json.loads(told)["rows"], ROWS)

    def test_a_stopped_run_leaves_nothing_but_finished_shards(self):
        path = self.folder / "table.csv"
        path.write_text("id\n" + "".join(f"{i}\n" for i in range(1500)) + "x\n")
        failed = run("penstock", "pack", "--from", "csv", path, "-o", self.out)
        self.assertEqual(failed.returncode, 1)
        self.assertIn(f"{path}:", failed.stderr)
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
