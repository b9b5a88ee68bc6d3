"""Measures programs that make batches without end, for some seconds at a time."""

import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests/e2e"))
from servers import die_with_parent, wait_until  # noqa: E402

SKIPPED = 77


class Program:
    """A command and its servers. `command` takes `--waits FILE` and writes a line for each batch, which
    begins with its time of arrival in seconds. `server`, if there is one, takes `--address-file FILE`
    and writes its address there. The addresses, joined by commas, become the last argument of
    `command`. Each turn starts new processes."""

    def __init__(self, name, command, server=None, servers=1):
        self.name, self.command = name, command
        self.servers = [server] * servers if server else []
        self.turns = []
        self.skipped = ""  # The reason if there are no turns.

    def take_turn(self, args, folder):
        """Takes one turn. `args` has warm_up, seconds and batch_size."""
        with contextlib.ExitStack() as at_end:
            started = [start(at_end, server, "--address-file", folder / f"address{i}")
                       for i, server in enumerate(self.servers)]
            addresses = ",".join(address.read_text().strip() for _, address in started)
            command = [*self.command, addresses] if started else self.command
            servers = [process.pid for process, _ in started]
            client, waits = start(at_end, command, "--waits", folder / "waits")
            if client.poll() == SKIPPED:
                self.skipped = "not installed: " + log_of(waits).read_text().splitlines()[-1]
            else:
                self.turns.append(measure(args, client, servers, waits))


def log_of(file):
    return file.with_suffix(".log")


def start(at_end, command, option, file):
    """Starts the command; returns (process, file) once the process has written to the file or ended.
    The process leads a process group, which `at_end` kills."""
    file.unlink(missing_ok=True)
    with open(log_of(file), "w") as log:
        process = subprocess.Popen(list(map(str, [*command, option, file])), stdout=log, stderr=log,
                                   process_group=0, preexec_fn=die_with_parent)
    at_end.callback(end, process)
    wait_until(lambda: process.poll() is not None or file.exists() and file.stat().st_size > 0,
               f"{command}; {log_of(file)}")
    return process, file


def end(process):
    with contextlib.suppress(ProcessLookupError):  # The whole group has ended.
        os.killpg(process.pid, 9)
    process.wait()


def cpu_seconds(groups):
    """User and system time of the processes in these process groups."""
    ticks = 0
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # The process has ended.
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[2]) in groups:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(args, client, servers, waits):
    """Rows a second, and CPU milliseconds a row: of all processes, and of the servers alone."""
    def look():
        arrivals = [line.split()[0] for line in waits.read_text().splitlines()]
        return arrivals, time.monotonic(), cpu_seconds([client.pid]), cpu_seconds(servers)

    time.sleep(args.warm_up)
    before, begin, client_begin, servers_begin = look()
    time.sleep(args.seconds)
    arrivals, end, client_end, servers_end = look()
    if client.poll() is not None:
        sys.exit(f"{waits}: its program ended\n{log_of(waits).read_text()}")
    # Batches arrive in bursts. A line fitted through all arrivals depends little on the two ends.
    times = list(map(float, arrivals[len(before):]))
    rate = statistics.linear_regression(times, range(len(times))).slope * args.batch_size
    row_ms = 1000 / (end - begin) / rate
    servers_ms = (servers_end - servers_begin) * row_ms
    return {"rate": rate, "cpu_ms": (client_end - client_begin) * row_ms + servers_ms,
            "servers_cpu_ms": servers_ms}


def add_turn_options(parser, bases):
    parser.add_argument("--pairs", type=int, default=5, help="turns of each contender")
    parser.add_argument("--warm-up", type=float, default=3,
                        help="seconds of warm-up after the first batch")
    parser.add_argument("--seconds", type=float, default=3,
                        help="measured seconds of each turn, after the warm-up")
    parser.add_argument("--only", nargs="+", help=f"contenders besides {', '.join(bases)}")
    parser.add_argument("--json", type=pathlib.Path, help="output file")


def chosen(contenders, bases, only):
    """The bases, and those of `only`; all if it is empty."""
    return [c for c in contenders if c.name in {*bases, *(only or [c.name])}]


def take_turns(args, folder, contenders):
    """Each contender takes args.pairs turns. Returns the contenders."""
    for _ in range(args.pairs):
        for contender in contenders:
            if not contender.skipped:
                contender.take_turn(args, folder)
                print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return contenders


def medians(contender, bases):
    """Medians of the figures of all turns, and of the ratios to the bases' rates in the same round."""
    rates = [turn["rate"] for turn in contender.turns]
    found = {"rate": statistics.median(rates), "min": min(rates), "max": max(rates)}
    for key in ("cpu_ms", "servers_cpu_ms"):
        found[key] = statistics.median(turn[key] for turn in contender.turns)
    for base in bases:
        pairs = zip(contender.turns, base.turns)
        found["of " + base.name] = statistics.median(a["rate"] / b["rate"] for a, b in pairs)
    return found


def figures_of(contenders, bases):
    """{name: figures} of the contenders that ran. `bases` are the names of the denominators."""
    bases = [c for c in contenders if c.name in bases]
    return {c.name: medians(c, bases) for c in contenders if c.turns}


def print_table(contenders, figures, bases, row_name, rows):
    """Prints a line for each contender. CPU times are for so many rows, each called `row_name`."""
    per = f"{rows:,} {row_name}s" if rows > 1 else "an " + row_name
    columns = ["contender", row_name + "s/s", "min – max", *("over " + name for name in bases),
               "CPU ms " + per, "servers' part"]
    print("|", " | ".join(columns), "|\n" + "|---" * len(columns) + "|")
    for contender in contenders:
        if contender.skipped:
            print(f"| {contender.name} | {contender.skipped} |" + " |" * (len(columns) - 2))
            continue
        row = figures[contender.name]
        ratios = " | ".join(f"{row['of ' + name]:.2f}" for name in bases)
        servers = f"{row['servers_cpu_ms'] * rows:.2f}" if row["servers_cpu_ms"] else ""
        print(f"| {contender.name} | {row['rate']:,.0f} | {row['min']:,.0f} – {row['max']:,.0f} | "
              f"{ratios} | {row['cpu_ms'] * rows:.2f} | {servers} |")


def write_json(file, contenders, figures):
    """Writes everything that was measured, unless `file` is None."""
    if file is None:
        return
    found = {"command": " ".join(sys.argv), "load": os.getloadavg(), "figures": figures,
             "turns": {c.name: c.turns for c in contenders if c.turns},
             "skipped": {c.name: c.skipped for c in contenders if c.skipped}}
    file.write_text(json.dumps(found, indent=1) + "\n")
