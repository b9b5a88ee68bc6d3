"""Measures how fast Penstock and other frameworks make batches of random resized crops of 224 pixels,
randomly flipped, from JPEG files, on all cores of this machine.

    .ci/build.sh release --target image_bench --target penstock --target penstock-server
    build/peers/bin/pip install -r bench/peers/requirements-images.txt    # optional: DALI and SPDL
    build/peers/bin/python3 bench/peers/image_loaders.py [--sampling 444] [--progressive] [--json FILE]

It draws pictures of 640x480 pixels, about 45 KB each at quality 90, and packs them into shards. Hard
links give each shard more names. Each contender is a program of its own that reads them without end.
The programs take turns, --pairs times. In a turn, a program starts, warms up, and then its batches
and CPU time are counted for --seconds.

The table has medians: images a second with the smallest and the largest; ratios to `ceiling`,
`local:` and tf.data within a round; CPU milliseconds an image of all processes, servers included. On
a shared machine, CPU time varies least. `ceiling` decodes the part that a crop needs, resizes it and
copies it to a batch (image_bench on the same files). After the table come the share of `ceiling`
that `local:` reaches (target: 90 %) and the differences that favour a contender.

Every contender decodes each image again each time. `./check --peers` makes build/peers. SPDL also
needs FFmpeg's libraries. The row of a program that is not installed says so.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import jpeg_shards
from feeds import CORES
from image_feeds import FEEDS
from program_turns import (HERE, Program, add_turn_options, chosen, figures_of, print_table,
                           take_turns, write_json)

BASES = "ceiling", "local:", "tf.data-float32"  # The denominators of the ratios.
DIFFERENCES = """\
Differences between the contenders:
- tf.data uses a fast inexact DCT and resizes without antialiasing. Its crops cover 36 % of a picture on
  average; those of Penstock and torchvision cover 43 %. All this favours tf.data. Its floats have four
  times the bytes. tf.data-exact has the exact DCT, antialiasing and uint8.
- tf.data and its service read the shards in order, and rows may come in any order. The service sends
  batches uncompressed. Both favour tf.data.
- Penstock shuffles, and its batches have the same bits on every run and machine: exact DCT,
  antialiased, uint8. It keeps encoded chunks in memory after the first epoch. The others read them
  from the page cache.
- torchvision and SPDL read files and decode the whole picture. torchvision has one process a core and
  antialiases. SPDL uses FFmpeg's bilinear filter. Both give uint8.
- DALI reads the shards, shuffles, decodes only the crop, antialiases and gives uint8."""


class Ceiling:
    """Runs image_bench on some of the pictures."""
    name, skipped = "ceiling", ""

    def __init__(self, args, pictures):
        case = f"^Batch/files/real_time/threads:{CORES}$"
        self.command = [args.bin / "image_bench", f"--benchmark_filter={case}",
                        f"--benchmark_min_time={args.seconds}", "--benchmark_format=json",
                        *pictures[:64]]
        self.turns = []

    def take_turn(self, args, folder):
        out = subprocess.run(self.command, check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout
        found = json.loads(out)["benchmarks"][0]
        self.turns.append({"rate": found["items_per_second"], "cpu_ms": found["cpu_time"] / 1000,
                           "servers_cpu_ms": 0})


def programs(args, folder):
    shards = folder / "shards"
    stream = [args.bin / "penstock", "stream", shards, "--spec", "images-train:224", "--epochs", 0,
              "--global-batch-size", args.batch_size, "--servers"]
    server = [args.bin / "penstock-server", "--data-root", shards, "--listen", "127.0.0.1:0"]
    yield Program("local:", [*stream, "local:"])
    yield Program("gRPC", stream, server)
    yield Program("gRPC, two servers", stream, server, servers=2)
    yield Program("shared memory", stream, [*server, "--shm-socket", folder / "shm.sock"])
    feeds = [sys.executable, HERE / "image_feeds.py"]
    for name in FEEDS:
        command = [*feeds, name, folder, "--batch-size", args.batch_size]
        if name.startswith("tf.service"):
            yield Program(name, [*command, "--service"], [*feeds, "service"])
        else:
            yield Program(name, command)


def write_data(args, folder):
    def penstock(*command):
        subprocess.run([args.bin / "penstock", *map(str, command)], check=True,
                       stdout=subprocess.DEVNULL)

    pictures = jpeg_shards.write_pictures(folder / "pictures", args.pictures, args.sampling,
                                          args.progressive)
    shards = folder / "shards"
    penstock("pack", folder / "pictures", "-o", shards, "--seed", 1, "--records-per-shard",
             args.pictures // 4)
    jpeg_shards.repeat_shards(shards, args.repeat)
    penstock("index", shards)
    (folder / "offsets").mkdir()
    for shard in shards.glob("*.tfrecord"):
        jpeg_shards.write_record_offsets(shard, folder / "offsets" / shard.name)
    return pictures


def measure_all(args):
    """Measures all contenders. Returns them with their turns."""
    with tempfile.TemporaryDirectory(prefix="penstock-images-") as name:
        folder = pathlib.Path(name)
        contenders = [Ceiling(args, write_data(args, folder)), *programs(args, folder)]
        return take_turns(args, folder, chosen(contenders, BASES, args.only))


def print_report(contenders, figures):
    print_table(contenders, figures, BASES, "image", 1)
    local, ceiling = figures["local:"], figures["ceiling"]
    print(f"\n`local:` reaches {local['of ceiling']:.0%} of the ceiling's rate (target: 90 %). The "
          f"ceiling takes {ceiling['cpu_ms'] / local['cpu_ms']:.0%} of its CPU time.\n")
    print(DIFFERENCES)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--sampling", choices=jpeg_shards.SAMPLINGS, default="420")
    parser.add_argument("--progressive", action="store_true")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--pictures", type=int, default=512,
                        help="number of pictures to draw, in four shards")
    parser.add_argument("--repeat", type=int, default=8, help="number of names of each shard")
    add_turn_options(parser, BASES)
    args = parser.parse_args()
    contenders = measure_all(args)
    figures = figures_of(contenders, BASES)
    print_report(contenders, figures)
    write_json(args.json, contenders, figures)


if __name__ == "__main__":
    main()
