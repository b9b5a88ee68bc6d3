"""Measures how fast Penstock, tf.data and tf.data service make batches of chess positions in int8, on
all cores of this machine.

    build/peers/bin/python3 bench/peers/board_loaders.py [--json FILE]

Each contender is a program of its own that reads copies of the sample without end, uncompressed. The
programs take turns, --pairs times. In a turn, a program starts, warms up, and then its batches and CPU
time are counted for --seconds.

The table has medians: positions a second with the smallest and the largest; ratios to `local:`, tf.data
and its service within a round; CPU milliseconds of all processes, servers included, for 1,000 positions.
On a shared machine, CPU time varies least. Versions and the differences that favour a contender follow.

Every contender decodes each position again each time. `./check --peers` makes build/peers.
"""

import argparse
import importlib.metadata
import pathlib
import subprocess
import sys
import tempfile

import jpeg_shards
from board_feeds import FEEDS
from program_turns import (HERE, Program, add_turn_options, chosen, figures_of, print_table,
                           take_turns, write_json)

BASES = "local:", "tf.data-pairs", "tf.service-pairs"  # The denominators of the ratios.
DIFFERENCES = """\
Differences between the contenders:
- tf.data and its service read the shards in order, and rows may come in any order. The service sends
  batches uncompressed. Both favour tf.data.
- Penstock shuffles, and its batches have the same bits on every run and machine. It keeps chunks in
  memory after the first epoch. The others read records from the page cache and check their checksums
  each time.
- -shifts, -tables and -pairs are three ways to write the same decoding, over whole batches. -parsed does
  not decode: it is a bound for what any decoding by tf.data reaches."""


def programs(args, data):
    stream = [args.bin / "penstock", "stream", data, "--dtype", "i8", "--epochs", 0,
              "--global-batch-size", args.batch_size, "--servers"]
    server = [args.bin / "penstock-server", "--data-root", data, "--listen", "127.0.0.1:0"]
    yield Program("local:", [*stream, "local:"])
    yield Program("gRPC", stream, server)
    yield Program("shared memory", stream, [*server, "--shm-socket", data / "shm.sock"])
    feeds = [sys.executable, HERE / "board_feeds.py"]
    for name in FEEDS:
        command = [*feeds, name, data, "--batch-size", args.batch_size]
        if name.startswith("tf.service"):
            yield Program(name, [*command, "--service"], [*feeds, "service"])
        else:
            yield Program(name, command)


def write_data(args, data):
    """Copies the sample without compression, which TensorFlow cannot read."""
    data.mkdir()
    for shard in sorted((HERE.parents[1] / "sample").glob("*.tfrecord")):
        with open(data / shard.name, "wb") as out:
            subprocess.run(["zstd", "-dcq", shard], stdout=out, check=True)
    jpeg_shards.repeat_shards(data, args.repeat)
    subprocess.run([args.bin / "penstock", "index", data], check=True, stdout=subprocess.DEVNULL)


def print_versions(args):
    versions = subprocess.run([args.bin / "penstock", "--version"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.splitlines()[:1]
    for name in ("tensorflow-cpu", "tensorflow", "numpy"):
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    print(f"\nVersions: {', '.join(versions)}.\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=50,
                        help="number of names of each of the sample's 4 shards")
    add_turn_options(parser, BASES)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-boards-") as name:
        folder = pathlib.Path(name)
        write_data(args, folder / "data")
        contenders = take_turns(args, folder, chosen(programs(args, folder / "data"), BASES, args.only))
    figures = figures_of(contenders, BASES)
    print_table(contenders, figures, BASES, "position", 1000)
    print_versions(args)
    print(DIFFERENCES)
    write_json(args.json, contenders, figures)


if __name__ == "__main__":
    main()
