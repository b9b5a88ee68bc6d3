"""Makes batches of chess positions, planes and flags as int8 and scores as float, by tf.data.

    python3 board_feeds.py CONTENDER DATA --batch-size N --waits FILE [--service ADDRESS]
    python3 board_feeds.py service --address-file FILE
    python3 board_feeds.py golden FOLDER

Reads DATA/*.tfrecord without end (feeds.py). `golden` compares one batch with golden vectors. The
tensors are those of docs/reference/decode_spec.md#the-chess-spec. board_loaders.py runs these
programs.
"""

import pathlib
import sys

import numpy as np

from feeds import CORES, distribute, run, tensorflow

FLAGS = 10


def bits_of(byte):
    return [byte >> (7 - i) & 1 for i in range(8)]


def sum_tables():
    """int8 [3, 256, 24]: what each byte of a square adds to its 24 values. Bit b of the square has the
    sign of its kind b % 4 and becomes value b % 4 * 6 + b // 4."""
    tables = np.zeros([3, 256, 24], np.int8)
    for place in range(3):
        for byte in range(256):
            for i, bit in enumerate(bits_of(byte)):
                b = 8 * place + i
                tables[place, byte, b % 4 * 6 + b // 4] = bit * (1, -1, 1, -1)[b % 4]
    return tables


def parse(tf, records):
    found = tf.io.parse_example(records, {"d": tf.io.FixedLenFeature([], tf.string),
                                          "s": tf.io.FixedLenFeature([], tf.int64)})
    return tf.io.decode_raw(found["d"], tf.uint8, fixed_length=194), found["s"]


def by_tables(tf):
    tables = tf.constant(sum_tables())

    def planes(packed):
        squares = tf.cast(tf.reshape(packed[:, :192], [-1, 64, 3]), tf.int32)
        board = sum(tf.gather(tables[place], squares[:, :, place]) for place in range(3))
        return tf.reshape(board, [-1, 8, 8, 24])
    return planes


def by_one_table(tf):
    """Two bytes of a square index one table of 65,536 entries, the third another one."""
    low, middle, high = sum_tables()
    pairs = tf.constant((low[:, None] + middle[None]).reshape(65536, 24))
    last = tf.constant(high)

    def planes(packed):
        squares = tf.cast(tf.reshape(packed[:, :192], [-1, 64, 3]), tf.int32)
        pair = squares[:, :, 0] * 256 + squares[:, :, 1]
        board = tf.gather(pairs, pair) + tf.gather(last, squares[:, :, 2])
        return tf.reshape(board, [-1, 8, 8, 24])
    return planes


def by_shifts(tf):
    """As one would write it first."""
    shifts = tf.constant(range(7, -1, -1), tf.uint8)

    def planes(packed):
        bits = tf.bitwise.right_shift(packed[:, :192, None], shifts) & 1
        bits = tf.cast(tf.reshape(bits, [-1, 64, 6, 4]), tf.int8) * [1, -1, 1, -1]
        return tf.reshape(tf.transpose(bits, [0, 1, 3, 2]), [-1, 8, 8, 24])
    return planes


def flags_and_mate(tf, packed):
    bits = tf.stack([tf.cast(packed[:, 192 + i // 8] // 2**(7 - i % 8) % 2, tf.int8)
                     for i in range(FLAGS + 1)], 1)
    return bits[:, :FLAGS], bits[:, FLAGS]


def score_of(tf, mate, s):
    s = tf.cast(s, tf.float32)
    far = 0.8 + 0.02 * tf.maximum(11 - tf.abs(s), 0)
    return tf.where(mate > 0, tf.sign(s) * far, 0.8 * tf.tanh(s / 400))


def decoder(tf, make_planes):
    planes = make_planes(tf)

    def decode(records):
        packed, s = parse(tf, records)
        flags, mate = flags_and_mate(tf, packed)
        return planes(packed), flags, score_of(tf, mate, s)
    return decode


def feed(make_planes=None, served=False):
    """The fastest form that was found: each of the CORES readers forms batches of its file's records,
    and whole batches are decoded. Without `make_planes`, records are only parsed."""
    def batches(args):
        tf = tensorflow()
        options = tf.data.Options()
        options.deterministic = False

        def read(file):
            return tf.data.TFRecordDataset(file).batch(args.batch_size, drop_remainder=True)

        files = [str(path) for path in sorted(args.data.glob("*.tfrecord"))]
        rows = tf.data.Dataset.from_tensor_slices(files).repeat()
        rows = rows.interleave(read, cycle_length=CORES, num_parallel_calls=CORES)
        decode = decoder(tf, make_planes) if make_planes else lambda records: parse(tf, records)
        rows = rows.map(decode, tf.data.AUTOTUNE).with_options(options)
        if served:
            rows = distribute(tf, rows, args.service)
        return iter(rows.prefetch(tf.data.AUTOTUNE))
    return batches


FEEDS = {
    "tf.data-shifts": feed(by_shifts),
    "tf.data-tables": feed(by_tables),
    "tf.data-pairs": feed(by_one_table),
    "tf.data-parsed": feed(),
    "tf.service-tables": feed(by_tables, served=True),
    "tf.service-pairs": feed(by_one_table, served=True),
    "tf.service-parsed": feed(served=True),
}


def check(batch, args):
    if batch[0].shape[0] != args.batch_size:
        sys.exit(f"a batch of {batch[0].shape[0]} rows")


def compare(folder):
    """Every way gives the golden values, of which folder/golden.tfrecord has the records."""
    tf = tensorflow()
    golden = [np.load(folder / name) for name in ("board_f64_as_i8.npy", "flags_i8.npy",
                                                  "score_f64.npy")]
    rows = tf.data.TFRecordDataset(str(folder / "golden.tfrecord")).batch(len(golden[0]))
    for make_planes in (by_shifts, by_tables, by_one_table):
        found = [values.numpy() for values in next(iter(rows.map(decoder(tf, make_planes))))]
        np.testing.assert_array_equal(found[0], golden[0])
        np.testing.assert_array_equal(found[1], golden[1])
        np.testing.assert_allclose(found[2], golden[2], rtol=0, atol=1e-6)
        print(f"{make_planes.__name__}: equals the golden values")


if __name__ == "__main__":
    if sys.argv[1:2] == ["golden"]:
        compare(pathlib.Path(sys.argv[2]))
    else:
        run(__doc__, FEEDS, check)
