"""Measures what images of very different sizes do to a service.

    build/peers/bin/python3 bench/image_service_bench.py [--only large,sorted,memory] [--json F]

large   Two servers and two clients. A steady client reads images of 100x100 pixels at a fixed pace.
        A busy client reads as fast as it can: images of 100x100, or 40,000 of them with three of
        3024x3024. Prints the steady client's 99th percentile of waits in both cases, and the number
        of windows handed over. Counts these windows also with a paced busy client, so that both
        clients together take half of the servers' capacity.
sorted  Two servers. 100,000 images in shards that are sorted by image size, from 32 to 480 pixels,
        are read as fast as possible, and paced at 70 % of that rate. Prints the first server's share
        of the rows and of the CPU time, and the number of windows handed over.
memory  One server, 1,000,000 images of 100x100. Prints its resident memory after each tenth, its peak
        and its memory budget.

Pillow draws the pictures. All processes run on one machine, so clients and servers share the cores.
The first case is repeated --repetitions times, by turns.
"""

import argparse
import io
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
from jpeg_shards import draw, repeat_shards  # noqa: E402
from stall_bench import BIN, Fleet, Stream, quantile  # noqa: E402

SPEC = "images-train:72"


def jpeg(side, seed):
    out = io.BytesIO()
    Image.fromarray(draw(np.random.default_rng(seed), side, side)).save(out, "JPEG", quality=90)
    return out.getvalue()


def pack(folder, name, sides):
    """Writes shards of images in the order of `sides`; returns their folder, not yet indexed. Images
    of equal sides are copies of 50 pictures."""
    source = folder / f"{name}-images" / "all"
    source.mkdir(parents=True)
    pictures = {}
    for number, side in enumerate(sides):
        key = (side, number % 50)
        if key not in pictures:
            pictures[key] = jpeg(*key)
        (source / f"{number:06}.jpg").write_bytes(pictures[key])
    data = folder / name
    subprocess.run([BIN / "penstock", "pack", "--from", "folder", source.parent, "-o", data,
                    "--records-per-shard", "500"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return data


def index(folder, name):
    """Writes the manifest; returns the name that the servers of `folder` have for the dataset."""
    subprocess.run([BIN / "penstock", "index", folder / name], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return pathlib.Path(f"server:{name}")


def handed_over(result):
    return sum(server["windows_handed_over"] for server in result["servers"])


def cpu_seconds(server):
    fields = pathlib.Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(server, field):
    """Returns VmRSS, the memory that is resident now, or VmHWM, the maximum so far."""
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    return round(int(re.search(rf"{field}:\s*(\d+)", status)[1]) / 1024)


def memory_budget(server):
    return re.search(r'memory_budget="([^"]*)"', server.log())[1]


def stream(folder, name, data, fleet, *args):
    """A stream with a folder of its own, so that several can run at once."""
    own = folder / name
    own.mkdir(exist_ok=True)
    return Stream(own, data, fleet.addresses, "--spec", SPEC, "--global-batch-size", 64, *args)


def waits_beside(folder, steady, busy, seconds, busy_pace=None):
    """Returns the 99th percentile of waits of a client that reads `steady`, and the windows handed
    over. The client is paced at a quarter of the servers' capacity. A second client reads `busy` at
    the share `busy_pace` of the capacity, or as fast as it can if that is None."""
    with Fleet(folder, folder, 2) as fleet:
        probe = stream(folder, "probe", steady, fleet, "--epochs", 1).finish()
        most = probe["rows"] / (probe["seconds"] - probe["first_batch_seconds"])
        rate = 0.25 * most
        other = stream(folder, "busy", busy, fleet, *(["--pace", busy_pace * most] if busy_pace else []))
        paced = stream(folder, "steady", steady, fleet, "--pace", rate,
                       "--steps", int(seconds * rate / 64))
        result = paced.finish()
        other.process.send_signal(signal.SIGINT)  # The client prints what it has read.
        moved = handed_over(result) + handed_over(json.loads(other.process.communicate()[0]))
    return quantile(paced.waits_ms()[1:], 0.99), moved


def large(folder, args):
    pack(folder, "small", [100] * 2000)
    pack(folder, "mixed", [100] * 500 + [3024] + [100] * 700 + [3024] * 2 + [100] * 800)
    shards = list((folder / "small").glob("*.tfrecord"))
    repeat_shards(folder / "small", 20)
    for shard in set((folder / "small").glob("*.tfrecord")) - set(shards):
        os.link(shard, folder / "mixed" / shard.name)
    small, mixed = index(folder, "small"), index(folder, "mixed")
    runs = []
    for _ in range(args.repetitions):
        alone, moved_small = waits_beside(folder, small, small, args.seconds)
        beside, moved_mixed = waits_beside(folder, small, mixed, args.seconds)
        _, paced_mixed = waits_beside(folder, small, mixed, args.seconds, 0.25)
        _, paced_small = waits_beside(folder, small, small, args.seconds, 0.25)
        runs.append({"p99_ms_beside_small": alone, "p99_ms_beside_mixed": beside,
                     "ratio": beside / max(alone, 1e-3),
                     "handed_over": [moved_small, moved_mixed],
                     "handed_over_paced": [paced_small, paced_mixed]})
        print("large:", runs[-1], flush=True)
    return {"ratio": statistics.median(run["ratio"] for run in runs), "runs": runs}


def read_once(folder, data, *args):
    """Reads one epoch from two servers; returns the rows and the CPU time of each."""
    with Fleet(folder, data, 2) as fleet:
        before = [cpu_seconds(server) for server in fleet.servers]
        result = stream(folder, "stream", data, fleet, "--epochs", 1, *args).finish()
        used = [cpu_seconds(server) - start for server, start in zip(fleet.servers, before)]
    rows = [server["rows"] for server in result["servers"]]
    return {"rows": rows, "share_of_rows": rows[0] / sum(rows),
            "share_of_processor": used[0] / sum(used), "handed_over": handed_over(result),
            "rows_per_second": result["rows_per_second"]}


def sorted_by_size(folder, args):
    count, times = 4000, 25
    data = pack(folder, "sorted", [32 + 448 * k // count for k in range(count)])
    repeat_shards(data, times)
    index(folder, "sorted")
    fast = read_once(folder, data)
    paced = read_once(folder, data, "--pace", 0.7 * fast["rows_per_second"])
    print("sorted:", fast, "\npaced: ", paced, flush=True)
    return {"as_fast_as_it_can": fast, "paced": paced}


def memory(folder, args):
    data = pack(folder, "many", [100] * 2000)
    index(folder, "many")
    with Fleet(folder, data, 1) as fleet:
        found = []
        for _ in range(10):
            stream(folder, "stream", data, fleet, "--epochs", args.images // 20_000).finish()
            found.append(memory_mib(fleet.servers[0], "VmRSS"))
        peak, budget = memory_mib(fleet.servers[0], "VmHWM"), memory_budget(fleet.servers[0])
    print(f"memory: MiB after each tenth: {found}, peak {peak}; budget {budget}", flush=True)
    return {"resident_mib": found, "peak_mib": peak, "memory_budget": budget}


CASES = {"large": large, "sorted": sorted_by_size, "memory": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="length of each paced run")
    parser.add_argument("--images", type=int, default=1_000_000, help="images of the case memory")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    report = {}
    for case in args.only.split(","):
        with tempfile.TemporaryDirectory(prefix="penstock-images-") as name:
            report[case] = CASES[case](pathlib.Path(name), args)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
