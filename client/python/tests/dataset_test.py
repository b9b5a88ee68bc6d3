"""Tests penstock.pack and penstock.index: records that were packed come back bit for bit."""

import logging
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import penstock
from penstock import _crc32c
from penstock._programs import program


def crc32c_by_bytes(data):
    """Computes the CRC byte by byte, following the definition."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Crc32cTest(unittest.TestCase):
    def test_the_check_value(self):
        self.assertEqual(_crc32c.crc32c([b"123456789"]).tolist(), [0xE3069283])
        self.assertEqual(_crc32c.crc32c([]).tolist(), [])

    def test_every_length_alone_and_side_by_side(self):
        rng = np.random.default_rng(1)
        records = [rng.bytes(n) for n in (*range(70), 255, 256, 257, 1023, 5000)]
        expected = list(map(crc32c_by_bytes, records))
        self.assertEqual([int(_crc32c.crc32c([record])[0]) for record in records], expected)
        self.assertEqual(_crc32c.crc32c(records).tolist(), expected)
        self.assertEqual(_crc32c.crc32c(records[::-1]).tolist(), expected[::-1])

    def test_more_bytes_than_are_looked_up_at_once(self):
        # A CRC can be continued, here after a record whose length is a multiple of all sizes of
        # blocks.
        begin, end = np.random.default_rng(2).bytes(3 << 20), b"the end"
        crc = int(_crc32c.crc32c([begin])[0]) ^ 0xFFFFFFFF
        for byte in end:
            crc ^= byte
            for _ in range(8):
                crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        self.assertEqual(_crc32c.crc32c([end, begin + end])[1], crc ^ 0xFFFFFFFF)


class DatasetTestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="penstock-dataset-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def decode(self, dataset=None):
        """Returns the bytes of the features of all records in file order, by name."""
        arrays = self.folder / "arrays.npz"
        subprocess.run([program("penstock"), "decode", str(dataset or self.out), "-o", str(arrays),
                        "--dtype", "packed", "--force"], check=True, stderr=subprocess.PIPE)
        with np.load(arrays) as loaded:
            return dict(loaded)

    def names(self):
        return sorted(path.name for path in self.out.iterdir())


class Unreadable:
    """Behaves like a tensor that NumPy cannot read."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("it is on a GPU")


class PackTest(DatasetTestCase):
    def test_what_was_packed_comes_back_bit_for_bit(self):
        rng = np.random.default_rng(0)
        n = 500
        images = rng.integers(0, 256, (n, 4, 5, 3), dtype=np.uint8)
        ints = rng.integers(-2**63, 2**63, (n, 2, 3))
        small = rng.integers(-2, 300, n)
        floats = rng.integers(0, 2**32, (n, 7), dtype=np.uint32).view(np.float32)
        floats[~np.isfinite(floats)] = np.inf
        facts = penstock.pack(
            ({"image": images[i], "ints": ints[i], "small": int(small[i]), "float": floats[i],
              "double": float(floats[i, 0]), "text": f"{i:05d}", "flag": bool(i & 1),
              "list": [float(i), i], "absent": None} for i in range(n)), self.out)
        self.assertEqual(facts["records"], n)
        self.assertEqual(facts["shards"], [str(self.out / "out-00000-of-00001.tfrecord")])
        self.assertEqual(facts["bytes"], pathlib.Path(facts["shards"][0]).stat().st_size)
        back = self.decode()
        self.assertEqual(set(back), {"image", "ints", "small", "float", "double", "text", "flag",
                                     "list"})
        np.testing.assert_array_equal(back["image"], images.reshape(n, -1))
        np.testing.assert_array_equal(back["ints"], ints.reshape(n, -1))
        np.testing.assert_array_equal(back["small"].reshape(n), small)
        self.assertEqual(back["float"].tobytes(), floats.tobytes())
        self.assertEqual(back["double"].tobytes(), floats[:, :1].tobytes())
        self.assertEqual(back["text"].tobytes(), b"".join(b"%05d" % i for i in range(n)))
        np.testing.assert_array_equal(back["flag"].reshape(n), np.arange(n) & 1)
        np.testing.assert_array_equal(back["list"], np.repeat(np.arange(n), 2).reshape(n, 2))

    def test_every_type_of_value(self):
        for values, expected in (
                ([b"\x00\xff", bytearray(b"ab"), memoryview(b"cd"), "ef", np.bytes_(b"gh")],
                 [b"\x00\xff", b"ab", b"cd", b"ef", b"gh"]),
                ([np.array([[1, 2], [3, 4]], np.uint8)], [b"\x01\x02\x03\x04"]),
                ([-1, True, np.int8(-7), np.uint64(2**63 - 1), np.array(5, np.uint8), np.uint8(9)],
                 [-1, 1, -7, 2**63 - 1, 5, 9]),
                ([1.5, np.float16(0.5), np.float64(2), 3, np.int32(4), float("-inf")],
                 [1.5, 0.5, 2, 3, 4, -np.inf])):
            with self.subTest(values=values):
                self.out = self.out / "next"  # A folder without the previous manifest.
                penstock.pack(({"x": value} for value in values), self.out)
                back = self.decode()["x"]
                if isinstance(expected[0], bytes):
                    back = [row.tobytes() for row in back]
                else:
                    back = back.reshape(-1).tolist()
                self.assertEqual(back, expected)

    def test_lists_are_row_major_and_nested(self):
        record = {"ints": [[1, 2], [3, 2**40]], "floats": (0.5, 1), "range": range(3),
                  "column": np.arange(6, dtype=np.int16).reshape(2, 3).T,
                  "bools": np.array([True, False])}
        penstock.pack([record], self.out)
        back = {name: array.tolist() for name, array in self.decode().items()}
        self.assertEqual(back, {"ints": [[1, 2, 3, 2**40]], "floats": [[0.5, 1]],
                                "range": [[0, 1, 2]], "column": [[0, 3, 1, 4, 2, 5]],
                                "bools": [[1, 0]]})

    def test_records_of_all_lengths_are_framed_right(self):
        # A spec of `penstock decode` is for one length, so this uses index, which checks lengths
        # and CRCs.
        rng = np.random.default_rng(3)
        lengths = [*range(1, 400), 70_000, 3_000_000, 1, 2_000_000]
        penstock.pack(({"b": rng.bytes(n)} for n in lengths), self.out)
        facts = penstock.index(self.out, verify=True)
        self.assertEqual((facts["records"], facts["damage"]), (len(lengths), []))

    def test_tables_are_refused_with_the_way_to_their_rows(self):
        class DataFrame(list):
            def to_dict(self, orient):
                return []

        for records, says in ((DataFrame(["a"]), r'rows of the DataFrame, its to_dict\("records"\)'),
                              ({"a": [1]}, "one dict for each record"), ("a.csv", "penstock pack")):
            with self.assertRaisesRegex(TypeError, f"record 0: must be a dict.*{says}"):
                penstock.pack(records, self.out)

    def test_every_shard_may_have_the_same_number_of_bytes(self):
        limit = 2 * 1000  # Of the record's bytes; two records exceed it.
        with mock.patch("penstock.dataset._MOST_BYTES", limit):
            penstock.pack(({"b": bytes(1000)} for _ in range(6)), self.out)
        self.assertEqual(len({path.stat().st_size for path in self.out.iterdir()}), 1)
        self.assertEqual(len(self.names()), 3)

    def test_shards_of_a_number_of_records(self):
        facts = penstock.pack(({"i": i} for i in range(10)), self.out, name="n",
                              records_per_shard=4)
        self.assertEqual([pathlib.Path(path).name for path in facts["shards"]],
                         [f"n-{i:05d}-of-00003.tfrecord" for i in range(3)])
        self.assertEqual(self.names(), [pathlib.Path(path).name for path in facts["shards"]])
        self.assertEqual(self.decode(facts["shards"][2])["i"].reshape(-1).tolist(), [8, 9])
        np.testing.assert_array_equal(self.decode()["i"].reshape(-1), np.arange(10))
        exact = penstock.pack(({"i": i} for i in range(8)), self.folder / "exact",
                              records_per_shard=4)
        self.assertEqual(len(exact["shards"]), 2)

    def test_compressed_and_shuffled(self):
        rows = [{"i": i, "zeros": bytes(100)} for i in range(1000)]
        plain = penstock.pack(rows, self.out)
        for compression in ("gzip", "zstd"):
            facts = penstock.pack(rows, self.folder / compression, compression=compression)
            self.assertEqual(facts["records"], 1000)
            self.assertLess(facts["bytes"], plain["bytes"] / 2)
            self.assertEqual(len(list((self.folder / compression).iterdir())),
                             len(facts["shards"]))
            np.testing.assert_array_equal(
                self.decode(self.folder / compression)["i"].reshape(-1), np.arange(1000))
        facts = penstock.pack(rows, self.folder / "shuffled", seed=1, records_per_shard=500)
        self.assertEqual(sorted(map(str, (self.folder / "shuffled").iterdir())), facts["shards"])
        self.assertEqual(len(facts["shards"]), 2)
        order = self.decode(self.folder / "shuffled")["i"].reshape(-1)
        self.assertEqual(sorted(order), list(range(1000)))
        self.assertGreater(np.abs(np.diff(order)).mean(), 100)

    def test_errors_name_the_record_and_the_key(self):
        good = {"n": 1, "f": 0.5, "b": b"x"}
        for bad, error, says in (
                ({"n": 1.5}, TypeError, r"record 2, key 'n': has type float, but record 0 has int64; "
                                        r".*types=\{'n': 'float'\}"),
                ({"b": 3}, TypeError, "record 2, key 'b': has type int64, but record 0 has bytes"),
                ({"n": 2**63}, ValueError, "key 'n': 9223372036854775808 does not fit into int64"),
                ({"n": np.array([2**63], np.uint64)}, ValueError, "does not fit into int64"),
                ({"f": 1e39}, ValueError, "key 'f': 1e.39 does not fit into float32"),
                ({"f": 2**24 + 1}, ValueError, "key 'f': float32, the type of this key, cannot hold"),
                ({"f": -2**63}, ValueError, "key 'f': float32, the type of this key, cannot hold"),
                ({"x": object()}, TypeError, "key 'x': cannot store a value of type object; give"),
                ({"x": {"a": 1}}, TypeError, "key 'x': cannot store a value of type dict"),
                ({"x": [1, None]}, TypeError, "key 'x': cannot store a list with a value of type "
                                              "NoneType"),
                ({"x": [b"a", 1]}, TypeError, "key 'x': cannot store a list that mixes bytes"),
                ({"x": [[1], [2, 3]]}, ValueError, "key 'x': cannot store this list"),
                ({"x": 1j}, TypeError, "key 'x': cannot store a value of type complex"),
                ({"x": np.zeros(2, "M8[s]")}, TypeError, "cannot store an array of datetime64"),
                ({"x": "\ud800"}, ValueError, "record 2, key 'x': not valid Unicode text"),
                ({"x": Unreadable()}, TypeError, "record 2, key 'x': cannot store a value of type "
                                                 ".*Unreadable: it is on a GPU"),
                ({3: 1}, TypeError, "record 2, key 3: a key must be a str"),
                ({}, ValueError, "record 2 has no values"),
                ([1], TypeError, "record 2: must be a dict, not a value of type list")):
            with self.subTest(bad=bad):
                with self.assertRaisesRegex(error, says):
                    penstock.pack([good, good, bad], self.out)
                self.assertEqual(self.names(), [])

    def test_types_decide_beforehand(self):
        penstock.pack([{"x": 1}, {"x": 2.5}], self.out, types={"x": "float"})
        self.assertEqual(self.decode()["x"].reshape(-1).tolist(), [1, 2.5])
        with self.assertRaisesRegex(TypeError, "has type float, but types requires int64"):
            penstock.pack([{"x": 1.0}], self.out, types={"x": "int64"}, force=True)
        with self.assertRaisesRegex(ValueError, "must be bytes, float or int64"):
            penstock.pack([{"x": 1.0}], self.out, types={"x": "double"}, force=True)

    def test_nothing_is_left_when_the_records_fail(self):
        def records():
            for i in range(10_000):
                yield {"i": i, "b": bytes(1000)}
            raise OSError("the disk of the source")

        for options in ({}, {"compression": "zstd"}, {"records_per_shard": 100}):
            with self.assertRaisesRegex(OSError, "the disk of the source"):
                penstock.pack(records(), self.out, **options)
            self.assertEqual(self.names(), [])
        with self.assertRaisesRegex(ValueError, "no records"):
            penstock.pack([], self.out)
        self.assertEqual(self.names(), [])

    def test_shards_that_are_there_are_replaced_only_if_asked_to(self):
        penstock.pack(({"i": i} for i in range(4)), self.out, records_per_shard=1)
        penstock.pack([{"j": 1}], self.out, name="other")
        with self.assertRaisesRegex(FileExistsError, "force=True"):
            penstock.pack(iter([]), self.out)
        with self.assertRaises(TypeError):
            penstock.pack([{"i": object()}], self.out, force=True)
        self.assertEqual(len(self.names()), 5)
        # The manifest describes shards that will be replaced.
        penstock.index(self.out, mixed_features=True)
        penstock.pack([{"i": 7}], self.out, force=True)
        self.assertEqual(self.names(), ["other-00000-of-00001.tfrecord",
                                        "out-00000-of-00001.tfrecord"])

    def test_memory_is_bounded(self):
        peak = int(subprocess.run(
            [sys.executable, "-c",
             "import sys, resource, penstock\n"
             "usage = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
             "penstock.pack(({'b': bytes(1 << 20)} for _ in range(8)), sys.argv[1] + '/a')\n"
             "before = usage()\n"
             "penstock.pack(({'b': bytes(1 << 20)} for _ in range(200)), sys.argv[1] + '/b')\n"
             "print(usage() - before)", str(self.folder)],
            check=True, stdout=subprocess.PIPE).stdout)
        self.assertLess(peak, 30 << 10)  # In KiB; the data has 200 MiB.

    def test_names_of_classes_reach_the_manifest(self):
        penstock.pack([{"image": b"x", "label": 1}], self.out, classes=["cat", "dög"])
        self.assertEqual((self.out / "classes.txt").read_text("utf-8"), "cat\ndög\n")
        self.assertEqual(penstock.index(self.out)["classes"], 2)
        with self.assertRaisesRegex(TypeError, "sequence of str"):
            penstock.pack([{"i": 1}], self.folder / "x", classes="cat")

    def test_wrong_options(self):
        for options, says in (({"compression": "lz4"}, "must be None, 'gzip' or 'zstd'"),
                              ({"name": "a/b"}, "a file's name"),
                              ({"records_per_shard": -1}, "records_per_shard is -1")):
            with self.assertRaisesRegex(ValueError, says):
                penstock.pack([{"i": 1}], self.out, **options)
        self.assertFalse(self.out.exists())


class IndexTest(DatasetTestCase):
    def setUp(self):
        super().setUp()
        self.facts = penstock.pack(({"i": i, "b": b"%04d" % i} for i in range(1000)), self.out)
        self.shard = pathlib.Path(self.facts["shards"][0])

    def damage(self):
        data = bytearray(self.shard.read_bytes())
        data[len(data) // 2] ^= 1
        self.shard.write_bytes(data)

    def test_facts(self):
        with self.assertLogs("penstock", logging.INFO) as logs:
            facts = penstock.index(self.out, holdout="10%")
        self.assertEqual(facts["manifest"], str(self.out / "manifest.pb"))
        self.assertEqual((facts["records"], facts["shards"]), (1000, 1))
        self.assertTrue(50 < facts["holdout_records"] < 150)
        self.assertIn("saved as", logs.output[-1])

    def test_several_inputs_and_an_output(self):
        other = penstock.pack([{"i": 1, "b": b"0000"}], self.out, name="other")["shards"][0]
        manifest = self.out / "all.pb"
        facts = penstock.index([self.shard, other], output=manifest)
        self.assertEqual((facts["manifest"], facts["records"]), (str(manifest), 1001))

    def test_errors_have_fitting_types(self):
        with self.assertRaisesRegex(FileNotFoundError, "/nope: No such file"):
            penstock.index(self.out / "nope")
        with self.assertRaisesRegex(ValueError, "holdout 'x' is not a share"):
            penstock.index(self.out, holdout="x")
        with self.assertRaisesRegex(ValueError, "there is no option --hold-out"):
            penstock.index(self.out, hold_out="5%")

    def test_damage_has_its_place(self):
        self.damage()
        for options in ({}, {"verify": True}):
            with self.assertRaisesRegex(penstock.DataLossError, "CRC computed") as raised:
                penstock.index(self.out, **options)
            self.assertEqual(raised.exception.shard, str(self.shard))
            self.assertGreater(raised.exception.offset, 0)
            self.assertGreater(raised.exception.record, 0)
        facts = penstock.index(self.out, exclude_corrupt=True)
        self.assertEqual((facts["damaged_records"], facts["records"]), (1, 999))


if __name__ == "__main__":
    unittest.main(verbosity=2)
