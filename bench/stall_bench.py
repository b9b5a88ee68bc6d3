"""Measures how long a paced consumer waits when a server dies or slows down.

    python3 bench/stall_bench.py --json stalls.json

For each number of servers, it measures the capacity and then reads at a share of it. There are three
cases: undisturbed; one server killed half-way; one server slowed tenfold (stopped for 9 of every 10
time slices) after a quarter of the run. It prints the waits for a batch in milliseconds, without the
first batch. A wait is the time that a consumer loses beyond its own work, so the longest wait after
the kill is how long the kill stalled it. Repetitions alternate between the cases, because the
machine's speed changes with its load, and the capacity is measured before each run. The data stays
in the page cache.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))

from sample_copies import make_copies  # noqa: E402
from servers import BIN, Server, die_with_parent, pause  # noqa: E402
from three_digits import three_digits  # noqa: E402

SLICE_S = 0.002


class Fleet:
    def __init__(self, folder, data, count):
        self.servers = [Server(data, folder / f"address{i}", folder / f"log{i}", "--threads", 1)
                        for i in range(count)]
        for server in self.servers:
            server.start()
        for server in self.servers:
            server.wait_serving()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.end()

    @property
    def addresses(self):
        return ",".join(server.address for server in self.servers)


class Stream:
    """A running `penstock stream`."""

    def __init__(self, folder, data, servers, *args):
        self.waits_file = folder / "waits"
        self.waits_file.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [str(BIN / "penstock"), "stream", str(data / "manifest.pb"), "--servers", servers,
             "--epochs", "0", "--json", "-", "--waits", str(self.waits_file), *map(str, args)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent)

    def batches(self):
        return self.waits_file.read_bytes().count(b"\n") if self.waits_file.exists() else 0

    def finish(self):
        out, err = self.process.communicate()
        if self.process.returncode != 0:
            raise RuntimeError(err)
        return json.loads(out)

    def waits_ms(self):
        return [1000 * float(line.split()[1]) for line in self.waits_file.read_text().splitlines()]


def do_nothing(stream, fleet, steps):
    return 1


def kill_one(stream, fleet, steps):
    while stream.batches() < steps // 2 and stream.process.poll() is None:
        pause()
    at = stream.batches()
    fleet.servers[0].kill()
    return max(1, at - 1)


def slow_one(stream, fleet, steps):
    server = fleet.servers[0]
    while stream.batches() < steps // 4 and stream.process.poll() is None:
        pause()
    at = stream.batches()
    while stream.process.poll() is None:
        server.stop()
        time.sleep(9 * SLICE_S)
        server.cont()
        time.sleep(SLICE_S)
    return max(1, at)


CASES = {"quiet": do_nothing, "killed": kill_one, "slowed": slow_one}


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


def measure(args, folder, data, count, case):
    with Fleet(folder, data, count) as fleet:
        batch = ["--global-batch-size", args.batch, "--dtype", args.dtype]
        probe = Stream(folder, data, fleet.addresses, *batch, "--steps", args.probe_steps).finish()
        rate = args.share * (probe["rows"] / (probe["seconds"] - probe["first_batch_seconds"]))
        steps = max(20, int(args.seconds * rate / args.batch))
        batch += ["--steps", steps] + (["--digest"] if args.check else [])
        stream = Stream(folder, data, fleet.addresses, *batch, "--pace", rate)
        first = CASES[case](stream, fleet, steps)
        result = stream.finish()
        waits = stream.waits_ms()
        if first >= len(waits):
            if not args.check:
                raise RuntimeError(f"{case}: the stream ended before that; it needs more --seconds")
            first = len(waits) - 1
    if args.check:
        quiet = Stream(folder, data, "local:", *batch).finish()
        if quiet["digest"] != result["digest"]:
            raise RuntimeError(f"{case}: the stream is not that of a run without servers")
    return {"capacity": rate / args.share, "p50_ms": quantile(waits[first:], 0.5),
            "p99_ms": quantile(waits[first:], 0.99), "longest_ms": max(waits[first:]),
            "before_ms": max(waits[1:first], default=0.0),
            "lost_requests": sum(server["lost_requests"] for server in result["servers"])}


def summary(runs):
    """Medians with the smallest and the largest."""
    return {name: {"median": statistics.median(run[name] for run in runs),
                   "min": min(run[name] for run in runs), "max": max(run[name] for run in runs)}
            for name in runs[0]}


def print_row(count, case, found):
    def cell(name):
        least, median, most = (three_digits(found[name][key]) for key in ("min", "median", "max"))
        return f"{median} ({least} – {most})"
    print(f"| {count} | {case} | {found['capacity']['median'] / 1e3:.0f} k | {cell('p50_ms')} | "
          f"{cell('p99_ms')} | {cell('longest_ms')} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", default="2,4", help="numbers of servers")
    parser.add_argument("--seconds", type=float, default=5, help="length of each paced run")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--share", type=float, default=0.6,
                        help="rate of the consumer as a share of the capacity")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--dtype", default="i8")
    parser.add_argument("--copies", type=int, default=25,
                        help="copies of the sample, 20,000 records each")
    parser.add_argument("--probe-steps", type=int, default=2000)
    parser.add_argument("--check", action="store_true",
                        help="compare each stream with one without servers (slower, because rows are "
                             "hashed)")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    report = {"date": datetime.datetime.now().isoformat(timespec="seconds"),
              "command": " ".join(sys.argv), "load": os.getloadavg(), "cases": []}
    print("| servers | case | capacity, rows/s | p50 ms | p99 ms | longest ms |\n|" + "---|" * 6)
    with tempfile.TemporaryDirectory(prefix="penstock-stall-") as name:
        folder = pathlib.Path(name)
        data = folder / "data"
        make_copies(data, args.copies)
        for count in map(int, args.servers.split(",")):
            runs = {case: [] for case in CASES}
            for _ in range(args.repetitions):
                for case in CASES:
                    runs[case].append(measure(args, folder, data, count, case))
            for case in CASES:
                found = summary(runs[case])
                print_row(count, case, found)
                report["cases"].append({"servers": count, "case": case, **found,
                                        "runs": runs[case]})
            ratio = [slow["p99_ms"] / max(quiet["p99_ms"], 1e-3)
                     for slow, quiet in zip(runs["slowed"], runs["quiet"])]
            report["cases"].append({"servers": count, "case": "p99 slowed / quiet",
                                    "median": statistics.median(ratio), "runs": ratio})
            print(f"| {count} | p99 slowed / quiet | | | {three_digits(statistics.median(ratio))} | |",
                  flush=True)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
