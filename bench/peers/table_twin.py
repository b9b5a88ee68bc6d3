"""Compares how fast tf.data and Penstock read the rows of a table in one process.

    build/peers/bin/python3 bench/peers/table_twin.py [--records 50000] [--pairs 5]

A row has 13 floats, 26 integers and a label. TFRecordDataset, batch and parse_example take turns with
`penstock stream` from `local:`. Prints rows a second of each, and the median of Penstock's rate over
tf.data's. Both use all cores and read sixteen shards of --records records each from the page cache.
In a run of one epoch, Penstock parses each record once, like tf.data. In a run of five epochs, it
parses the records in the first epoch only, and keeps the result in memory. `./check --peers` makes
build/peers.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
REPOSITORY = HERE.parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "tensorflow"))

from datasets import DATASETS, np, tf  # noqa: E402

BATCH = 512
SHARDS = 16


def features():
    spec = {f"f{k}": tf.io.FixedLenFeature([], tf.float32) for k in range(13)}
    spec |= {f"c{k}": tf.io.FixedLenFeature([], tf.int64) for k in range(26)}
    return spec | {"label": tf.io.FixedLenFeature([], tf.int64)}


def write(path, records):
    rng = np.random.default_rng(1)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(records):
            writer.write(DATASETS["table"].write(rng, i))


def tf_rate(folder, records):
    files = [str(path) for path in sorted(folder.glob("*.tfrecord"))]
    rows = tf.data.TFRecordDataset(files).repeat().batch(BATCH, drop_remainder=True)
    rows = rows.map(lambda batch: tf.io.parse_example(batch, features()), tf.data.AUTOTUNE)
    batches = iter(rows.prefetch(tf.data.AUTOTUNE))
    for _ in range(20):  # In these passes AUTOTUNE adapts.
        next(batches)
    steps = records // BATCH
    start = time.monotonic()
    for _ in range(steps):
        next(batches)
    return steps * BATCH / (time.monotonic() - start)


def penstock_rate(folder, epochs):
    spec = REPOSITORY / "tests/tensorflow/specs/table.textproto"
    result = subprocess.run(
        [REPOSITORY / "build/release/bin/penstock", "stream", folder, "--spec", spec,
         "--dtype", "f32", "--global-batch-size", str(BATCH), "--epochs", str(epochs), "--json", "-"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    streamed = json.loads(result.stdout)
    return streamed["rows"] / streamed["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--pairs", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        first = folder / "table-0.tfrecord"
        write(first, args.records)
        for k in range(1, SHARDS):
            shutil.copy(first, folder / f"table-{k}.tfrecord")
        subprocess.run([REPOSITORY / "build/release/bin/penstock", "index", folder], check=True)
        ratios = {1: [], 5: []}
        for _ in range(args.pairs):
            theirs = tf_rate(folder, SHARDS * args.records)
            print(f"tf.data {theirs:10,.0f} rows/s", end="")
            for epochs, found in ratios.items():
                ours = penstock_rate(folder, epochs)
                found.append(ours / theirs)
                print(f"   {epochs} epochs of penstock {ours:10,.0f} rows/s, {found[-1]:.2f} times",
                      end="")
            print(flush=True)
        for epochs, found in ratios.items():
            print(f"median of {epochs} epochs {statistics.median(found):.2f} times")


if __name__ == "__main__":
    main()
