"""Tests that records written by TensorFlow are decoded to what TensorFlow parses, bit for bit. The
stored records and expectations are from tests/tensorflow/datasets.py."""

import hashlib
import json
import shutil
import unittest

from npy import read_npy
from processes import REPOSITORY, ProcessTestCase

FOLDER = REPOSITORY / "tests" / "tensorflow"
EXPECTED = json.loads((FOLDER / "data" / "expected.json").read_text())


class TensorFlowRecordsTest(ProcessTestCase):
    def decode(self, name, records):
        out = self.folder / f"arrays-{name}"
        self.check_run("penstock", "decode", records, "--spec", FOLDER / f"specs/{name}.textproto",
                       "--dtype", "f32", "-o", out)
        return {path.stem: read_npy(path) for path in out.glob("*.npy")}

    def digest(self, spec, manifest, *args):
        streamed = self.check_run(
            "penstock", "stream", manifest, "--spec", spec, "--dtype", "f32", "--no-shuffle",
            "--remainder", "short", "--global-batch-size", 16, "--digest", "--json", "-", *args)
        return json.loads(streamed.stdout)["digest"]

    def test_decoding_gives_what_tensorflow_parses(self):
        for name, expected in EXPECTED.items():
            with self.subTest(name):
                arrays = self.decode(name, FOLDER / f"data/{name}.tfrecord")
                described = {tensor: {"dtype": array.dtype, "shape": array.shape,
                                      "sha256": hashlib.sha256(array.bytes).hexdigest()}
                             for tensor, array in arrays.items()}
                self.assertEqual(described, expected)

    def test_servers_send_the_same_rows(self):
        for name in EXPECTED:
            with self.subTest(name):
                data = self.data / name
                data.mkdir()
                records = shutil.copy(FOLDER / f"data/{name}.tfrecord", data)
                raw = ["--format", "raw"] if name == "raw" else []
                self.check_run("penstock", "index", data, *raw)
                spec = FOLDER / f"specs/{name}.textproto"
                local = self.digest(spec, data)
                arrays = self.decode(name, records)
                rows = hashlib.sha256()
                order = self.tensors(spec, arrays)
                for row in range(arrays[order[0]].shape[0]):
                    for tensor in order:
                        rows.update(arrays[tensor].row(row))
                self.assertEqual(local, rows.hexdigest())
                server = self.start_server()
                served = [spec, f"server:{name}/", "--servers", server.address]
                self.assertEqual(local, self.digest(*served))
                self.assertEqual(local, self.digest(*served, "--no-shm"))
                server.end()

    @staticmethod
    def tensors(spec, arrays):
        """Returns names in the order of the spec: a tensor, then those that it adds."""
        text = spec.read_text()

        def place(name):
            quoted = text.find(f'"{name}"')
            return (quoted if quoted >= 0 else text.find(f'"{name.removesuffix("_length")}"'),
                    name)

        return sorted(arrays, key=place)


if __name__ == "__main__":
    unittest.main()
