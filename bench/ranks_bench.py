#!/usr/bin/env python3
"""Positions per second of penstock-train on several ranks of this machine, by reduction.

The cases take turns, so that a change of the machine's load affects all of them. Prints medians with
their spread. One process with as many threads, which reduces nothing over a network, is the
comparison.

    bench/ranks_bench.py --bin build/release/bin --ranks 2 --model tiny --repetitions 5
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]


def measure(options, work, name, ranks, extra):
    summary = work / f"{name}.json"
    train = [options.bin / "penstock-train", "--manifest", work / "manifest.pb", "--device",
             "cpu", "--model", options.model, "--global-batch-size", options.batch, "--steps", options.steps,
             "--resume", "never", "--json", summary, *extra]
    launch = [options.bin / "penstock", "launch", "-np", ranks, "--"]
    subprocess.run([str(word) for word in ([] if ranks == 1 else launch) + train], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
    return json.loads(summary.read_text())["positions_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=REPOSITORY / "build/release/bin")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    cases = {f"1 process, {options.ranks} threads": (1, ["--threads", options.ranks])}
    # To see the cost of `deterministic`, compare it with `fast` and one shard a rank.
    for name, extra in (("deterministic", []), ("fast", ["--virtual-shards", "1"]), ("fast", []),
                        ("fast", ["--bucket-size", "0"]), ("fast", ["--compression", "bf16"])):
        label = " ".join([f"{options.ranks} ranks, {name}", *extra])
        cases[label] = (options.ranks, ["--threads", 1, "--reduction", name, *extra])
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        shutil.copytree(REPOSITORY / "sample", work, dirs_exist_ok=True)
        subprocess.run([options.bin / "penstock", "index", work, "-o", work / "manifest.pb"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rates = {label: [] for label in cases}
        for _ in range(options.repetitions):
            for index, (label, (ranks, extra)) in enumerate(cases.items()):
                rates[label].append(measure(options, work, f"run{index}", ranks, extra))
    for label, values in rates.items():
        print(f"{label:40} {statistics.median(values):8.0f} positions/s"
              f"  ({min(values):.0f} to {max(values):.0f})")


if __name__ == "__main__":
    main()
