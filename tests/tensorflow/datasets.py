"""Small datasets of common kinds in TFRecords, written and parsed by TensorFlow.

    python3 tests/tensorflow/datasets.py write DIR    the records of each, and expected.json
    python3 tests/tensorflow/datasets.py compare DIR  against `penstock decode`, value by value

For `write`, DIR is tests/tensorflow/data. The stored files are what TensorFlow makes of these
definitions, so that tests need no TensorFlow. specs/NAME.textproto has the same definitions for
Penstock. `./check --peers` installs TensorFlow, and runs `compare` on newly written records.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
BIN = pathlib.Path(os.environ.get("PENSTOCK_BIN", HERE.parents[1] / "build/release/bin"))
BIG = 2**62 + 1  # No float can hold this number.


def ints(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[int(v) for v in values]))


def floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=[float(v) for v in values]))


def strings(values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=list(values)))


def example(features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def padded(values, length, fill=0):
    """Returns the row of `length` that pad makes of a list of values."""
    row = np.full((length,) + values.shape[1:], fill, values.dtype)
    row[:len(values)] = values[:length]
    return row


def text(value, length):
    """Returns the bytes of one value, padded with zeros."""
    return padded(np.frombuffer(value, np.uint8), length)


def i64(value):
    return np.array(value, np.int64)


class Table:
    """13 floats, 26 integers and a label, all scalars."""
    count = 50

    def write(self, rng, i):
        features = {f"f{k}": floats([rng.normal()]) for k in range(13)}
        features |= {f"c{k}": ints([rng.integers(-BIG, BIG)]) for k in range(26)}
        return example(features | {"label": ints([i % 2])})

    def parse(self, record):
        features = {f"f{k}": tf.io.FixedLenFeature([], tf.float32) for k in range(13)}
        features |= {f"c{k}": tf.io.FixedLenFeature([], tf.int64) for k in range(26)}
        features |= {"label": tf.io.FixedLenFeature([], tf.int64)}
        return {k: v.numpy() for k, v in tf.io.parse_single_example(record, features).items()}


class GzipTable(Table):
    """The same table, in a file that TensorFlow compressed."""
    options = tf.io.TFRecordOptions(compression_type="GZIP")


class Pixels:
    """Raw pixels of 72x72x3 and a label."""
    count = 4

    def write(self, rng, i):
        ramp = np.arange(72 * 72 * 3, dtype=np.uint32).reshape(72, 72, 3)
        return example({"image_raw": strings([(ramp * (i + 1) // 7).astype(np.uint8).tobytes()]),
                        "label": ints([i])})

    def parse(self, record):
        parsed = tf.io.parse_single_example(record, {
            "image_raw": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64)})
        image = tf.reshape(tf.io.decode_raw(parsed["image_raw"], tf.uint8), [72, 72, 3])
        return {"image": image.numpy(), "label": parsed["label"].numpy()}


class Tokens:
    """Lists of 1 to 199 token numbers: ragged, padded to 199."""
    count = 40

    def write(self, rng, i):
        lengths = {0: 1, 1: 199}
        length = lengths.get(i, int(rng.integers(1, 200)))
        return example({"tokens": ints(rng.integers(0, 50_000, length))})

    def tokens(self, record):
        ragged = tf.io.parse_single_example(record, {"tokens": tf.io.RaggedFeature(tf.int64)})
        return ragged["tokens"].numpy()

    def parse(self, record):
        tokens = self.tokens(record)
        return {"tokens": padded(tokens, 199), "tokens_length": i64(len(tokens))}


class CutTokens(Tokens):
    """The same tokens, cut to 64 and padded with -1."""

    def parse(self, record):
        tokens = self.tokens(record)
        return {"tokens": padded(tokens, 64, -1), "n": i64(min(len(tokens), 64))}


class Optional:
    """Features that a record may lack, with defaults and presence."""
    count = 24

    def write(self, rng, i):
        features = {"id": ints([i])}
        if i % 2:
            features["weight"] = floats([i / 3])
        if i % 3:
            features["pair"] = floats([i, -i])
        if i % 4:
            features["rank"] = ints([BIG - i])
        if i % 5:
            features["extra"] = ints(range(i % 7))
        return example(features)

    def parse(self, record):
        parsed = tf.io.parse_single_example(record, {
            "id": tf.io.FixedLenFeature([], tf.int64),
            "weight": tf.io.FixedLenFeature([], tf.float32, default_value=-1.0),
            "pair": tf.io.FixedLenFeature([2], tf.float32, default_value=[1.5, 2.5]),
            "rank": tf.io.FixedLenFeature([], tf.int64, default_value=7),
            "extra": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)})
        values = {k: v.numpy() for k, v in parsed.items()}
        names = tf.train.Example.FromString(record).features.feature
        return {"id": values["id"], "weight": values["weight"],
                "has_weight": np.array("weight" in names, np.uint8), "pair": values["pair"],
                "rank": values["rank"], "extra": padded(values["extra"], 6)}


class Strings:
    """Two strings of any length and a list of short ones."""
    count = 24

    def write(self, rng, i):
        tags = [b"t" * int(rng.integers(0, 8)) for _ in range(i % 5)]
        return example({"title": strings([b"title %d" % i]), "body": strings([b"word " * (i % 9)]),
                        "tags": strings(tags)})

    def parse(self, record):
        parsed = tf.io.parse_single_example(record, {
            "title": tf.io.FixedLenFeature([], tf.string),
            "body": tf.io.FixedLenFeature([], tf.string),
            "tags": tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True)})
        title, body = parsed["title"].numpy(), parsed["body"].numpy()
        tags = list(parsed["tags"].numpy())
        rows = [text(tag, 8) for tag in tags] + [np.zeros(8, np.uint8)] * (4 - len(tags))
        lengths = padded(np.array([len(tag) for tag in tags], np.int64), 4)
        return {"title": text(title, 16), "title_length": i64(len(title)), "body": text(body, 32),
                "tags": np.stack(rows), "tags_length": lengths, "num_tags": i64(len(tags))}


class Sequence:
    """SequenceExamples: a label, frames of four floats, and words."""
    count = 20

    def write(self, rng, i):
        frames = [floats(rng.normal(size=4)) for _ in range(i % 6)]
        words = [strings([b"w" * int(rng.integers(0, 9))]) for _ in range(i % 4)]
        lists = {"frames": tf.train.FeatureList(feature=frames),
                 "words": tf.train.FeatureList(feature=words)}
        return tf.train.SequenceExample(
            context=tf.train.Features(feature={"label": ints([i])}),
            feature_lists=tf.train.FeatureLists(feature_list=lists)).SerializeToString()

    def parse(self, record):
        context, lists = tf.io.parse_single_sequence_example(
            record, {"label": tf.io.FixedLenFeature([], tf.int64)},
            {"frames": tf.io.FixedLenSequenceFeature([4], tf.float32),
             "words": tf.io.FixedLenSequenceFeature([], tf.string)})
        frames, words = lists["frames"].numpy(), list(lists["words"].numpy())
        rows = [text(word, 8) for word in words] + [np.zeros(8, np.uint8)] * (3 - len(words))
        return {"label": context["label"].numpy(), "frames": padded(frames, 5),
                "num_frames": i64(len(frames)), "words": np.stack(rows)}


class Raw:
    """Payloads that are not Examples."""
    count = 30

    def write(self, rng, i):
        return rng.integers(0, 256, i * 3, dtype=np.uint8).tobytes()

    def parse(self, record):
        return {"record": text(record, 96), "record_length": i64(len(record))}


DATASETS = {"table": Table(), "gzip_table": GzipTable(), "pixels": Pixels(), "tokens": Tokens(),
            "cut_tokens": CutTokens(), "optional": Optional(), "strings": Strings(),
            "sequence": Sequence(), "raw": Raw()}


def write(name, path):
    """Writes the records. Returns what TensorFlow parses from them: {tensor: rows}."""
    dataset = DATASETS[name]
    rng = np.random.default_rng(22)
    options = getattr(dataset, "options", None)
    with tf.io.TFRecordWriter(str(path), options) as writer:
        for i in range(dataset.count):
            writer.write(dataset.write(rng, i))
    compression = "GZIP" if options else ""
    rows = [dataset.parse(record.numpy())
            for record in tf.data.TFRecordDataset(str(path), compression)]
    return {tensor: np.stack([row[tensor] for row in rows]) for tensor in rows[0]}


def describe(array):
    return {"dtype": array.dtype.str, "shape": list(array.shape),
            "sha256": hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}


def store(folder):
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name in DATASETS:
        arrays = write(name, folder / f"{name}.tfrecord")
        expected[name] = {tensor: describe(array) for tensor, array in arrays.items()}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def decode(name, records, folder):
    subprocess.run([BIN / "penstock", "decode", records, "--spec", HERE / f"specs/{name}.textproto",
                    "--dtype", "f32", "-o", folder], check=True, stderr=subprocess.DEVNULL)
    return {path.stem: np.load(path) for path in folder.glob("*.npy")}


def compare(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in DATASETS:
        records = folder / f"{name}.tfrecord"
        expected = write(name, records)
        got = decode(name, records, folder / name)
        assert got.keys() == expected.keys(), (name, sorted(got), sorted(expected))
        for tensor, array in expected.items():
            np.testing.assert_array_equal(got[tensor], array, f"{name}.{tensor}", strict=True)
        print(f"{name}: {DATASETS[name].count} records, {len(expected)} tensors, equal")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("write", "compare"):
        sys.exit(__doc__)
    if sys.argv[1] == "write":
        store(pathlib.Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            compare(pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary))
