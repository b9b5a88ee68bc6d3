"""Runs the benchmarks that docs quote and prints the tables of bench/results.

    .ci/build.sh release --target benchmarks
    python3 bench/run.py --bin build/release/bin --json out.json > tables.md

Every figure is the median of --repetitions runs, with the smallest and the largest beside it. Run
it on an otherwise idle machine.
"""

import argparse
import collections
import datetime
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

from three_digits import three_digits

# Each program and its filter.
UNITS = [
    ("decode_bench", "^(Write|Copy)/|^Unpack/(scalar|avx2|avx512)/i8"
                     "|^Decode/avx512/(i8|packed)/permuted|^Score/avx512"),
    ("format_bench", "^(Crc/262144|FindFeatures/alike|Read|Scan|Index/[12]/real_time)$"),
    ("engine_bench", "^(MemoryWrite|MemoryCopy|Pread|PreadAndCrc)$|^OneThread/dtype:[12]$"
                     "|^WholeEngine/dtype:[12]/threads:[12]/in_budget:0"),
    ("plan_bench", "."),
    ("trainer_bench", "^Train/tiny/batch:256/threads:[12]/block:0"),
]


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def run_unit(program, pattern, repetitions):
    """{benchmark: [rate of each repetition]}, with the rate's unit."""
    out = subprocess.run(
        [program, f"--benchmark_filter={pattern}", f"--benchmark_repetitions={repetitions}",
         "--benchmark_min_time=0.3", "--benchmark_format=json"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    rows = collections.OrderedDict()
    for run in json.loads(out)["benchmarks"]:
        if run.get("run_type") != "iteration":
            continue
        rates = {}
        for name, value in run.items():
            if name == "items_per_second":
                rates["M/s"] = value / 1e6
            if name in ("bytes_per_second", "write_B/s"):
                rates["GB/s"] = value / 1e9
        rates = rates or {run["time_unit"]: run["real_time"]}
        for unit, value in rates.items():
            rows.setdefault((run["run_name"], unit), []).append(value)
    return rows


def spread(values):
    least, median, most = map(three_digits, (min(values), statistics.median(values), max(values)))
    return f"{median} | {least} – {most}"


def print_units(args, collected):
    for program, pattern in UNITS:
        rows = run_unit(args.bin / program, pattern, args.repetitions)
        print(f"\n### {program}\n\n| case | median | min – max | unit |\n|---|---|---|---|")
        for (name, unit), values in rows.items():
            print(f"| {name} | {spread(values)} | {unit} |")
            collected.append({"program": program, "case": name, "unit": unit, "values": values})
        sys.stdout.flush()


def flatten(value, prefix=""):
    """Every number of a nested object, by its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flatten(inner, f"{prefix}{key}.")
    elif isinstance(value, list):
        for item in value:
            name = item.get("name", "") if isinstance(item, dict) else ""
            yield from flatten(item, f"{prefix}{name}.")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield prefix.rstrip("."), value


DTYPES = ("i8", "packed", "bf16", "f32")

# Each has a label, the path in the JSON, a unit and a divisor. The path and the words of a second
# figure may follow.
CEILINGS = [
    ("memory write", "ceilings.memory_write", "GB/s", 1e9),
    ("memory copy", "ceilings.memory_copy", "GB/s", 1e9),
    ("memory copy past the caches", "ceilings.memory_copy_streaming", "GB/s", 1e9),
    ("read of the shards", "ceilings.pread", "GB/s", 1e9),
]
OF_DTYPE = [
    ("engine, 1 thread, parts dropped", "engine_one_thread.positions_per_second",
     "M positions/s", 1e6),
    ("engine, all cores, parts dropped", "engine.positions_per_second", "M positions/s", 1e6),
    ("engine, all cores, the plan's windows side by side, decoded to memory",
     "engine_to_memory.positions_per_second", "M positions/s", 1e6),
    ("`local:`", "local.positions_per_second", "M positions/s", 1e6,
     "local.of_engine_to_memory", "of the engine to memory"),
    ("raw gRPC stream, 1 MiB messages", "raw_grpc_stream.bytes_per_second", "GB/s", 1e9),
    ("one server, gRPC on loopback", "grpc.positions_per_second", "M positions/s", 1e6,
     "grpc.of_raw_stream", "of the raw stream in bytes/s"),
    ("one server, shared memory", "shared_memory.positions_per_second", "M positions/s", 1e6,
     "shared_memory.of_grpc", "times gRPC"),
    ("CPU of the engine, all cores, parts dropped", "engine.cpu_seconds_per_million",
     "s per million positions", 1),
    ("CPU of the process, `local:`", "local.client_cpu_seconds_per_million",
     "s per million positions", 1),
    ("CPU of the client, gRPC", "grpc.client_cpu_seconds_per_million", "s per million positions", 1,
     "grpc.client_cpu_seconds_per_gb", "s per GB"),
    ("CPU of the server, gRPC", "grpc.server_cpu_seconds_per_million",
     "s per million positions", 1),
    ("CPU of the client, shared memory", "shared_memory.client_cpu_seconds_per_million",
     "s per million positions", 1, "shared_memory.client_cpu_seconds_per_gb", "s per GB"),
    ("CPU of the server, shared memory", "shared_memory.server_cpu_seconds_per_million",
     "s per million positions", 1),
    ("batch wait p99, gRPC", "grpc.batch_wait_p99_us", "ms", 1e3),
    ("batch wait p99, shared memory", "shared_memory.batch_wait_p99_us", "ms", 1e3),
]


def print_pipeline_row(runs, prefix, label, path, unit, divisor, beside=None, words=""):
    values = [value / divisor for value in runs[prefix + path]]
    if beside:
        words = f"{three_digits(statistics.median(runs[prefix + beside]))} {words}"
    print(f"| {label} | {spread(values)} | {unit} | {words} |")


def print_pipeline(args, collected):
    runs = collections.OrderedDict()
    options = ["--seconds", "2", "--connections", "2", "--dtypes", ",".join(DTYPES)]
    command = [args.bin / "pipeline_bench", *options]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        for _ in range(args.repetitions):
            subprocess.run([*command, "--json", out],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name, value in flatten(json.loads(out.read_text())):
                runs.setdefault(name, []).append(value)
    print(f"\n### pipeline_bench {' '.join(options)}\n")
    print("| what | median | min – max | unit | beside it |\n|---|---|---|---|---|")
    for row in CEILINGS:
        print_pipeline_row(runs, "", *row)
    for dtype in DTYPES:
        for label, *row in OF_DTYPE:
            print_pipeline_row(runs, f"{dtype}.", f"{label}, {dtype}", *row)
    for name, values in runs.items():
        collected.append({"program": "pipeline_bench", "case": name, "values": values})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", choices=("units", "pipeline"))
    args = parser.parse_args()
    version = subprocess.run([args.bin / "penstock", "--version"], stdout=subprocess.PIPE,
                             text=True, check=True).stdout.strip()
    collected = []
    print(f"{datetime.date.today()}, {version}, {cpu_model()}, medians of {args.repetitions} runs.")
    if args.only != "pipeline":
        print_units(args, collected)
    if args.only != "units":
        print_pipeline(args, collected)
    if args.json:
        args.json.write_text(json.dumps(collected, indent=1))


if __name__ == "__main__":
    main()
