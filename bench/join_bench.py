"""Measures how soon a server that joins a running stream has work.

    python3 bench/join_bench.py --json joins.json

One server serves a paced consumer. A second server starts. The time counts from the moment that it
serves until it has decoded its first row. The client knows the second server from a list, where
nothing answered at its address before, or finds it in a folder of address files.
"""

import argparse
import contextlib
import json
import pathlib
import re
import statistics
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))

from sample_copies import make_copies  # noqa: E402
from servers import Server, reserve_port, wait_until  # noqa: E402
from stall_bench import Stream  # noqa: E402


class Newcomer(Server):
    """A server whose metrics tell how many rows it has decoded."""

    def rows_decoded(self):
        address = re.search(r"metrics address=\"?([0-9.:]+)", self.log())
        if address is None:
            return 0
        with urllib.request.urlopen(f"http://{address[1]}/metrics", timeout=10) as page:
            text = page.read().decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.startswith("penstock_server_rows_decoded_total"))


def servers_of(kind, folder, first, second):
    """The value of --servers, which covers both servers before the second one exists."""
    return f"file:{folder}" if kind == "folder" else f"{first},{second}"


def measure(args, folder, data, kind):
    addresses = folder / "addresses"
    addresses.mkdir()
    reserved = reserve_port()
    address = "%s:%d" % reserved.getsockname()
    old = Server(data, addresses / "old", folder / "old.log")
    new = Newcomer(data, addresses / "new", folder / "new.log", "--metrics-port", 0)
    with contextlib.ExitStack() as at_end:
        at_end.enter_context(reserved)
        at_end.callback(old.end)
        at_end.callback(new.end)
        old.start()
        old.wait_serving()
        stream = Stream(folder, data, servers_of(kind, addresses, old.address, address),
                        "--global-batch-size", args.batch, "--dtype", args.dtype,
                        "--pace", args.rate)
        at_end.callback(stream.process.communicate)
        at_end.callback(stream.process.kill)
        batches = args.rate * args.before / args.batch
        wait_until(lambda: stream.batches() >= batches, "the stream")
        new.start(address)
        wait_until(new.serves, "the server that joins")
        start = time.monotonic()
        wait_until(new.rows_decoded, "its first row")
        return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=200_000, help="rows the consumer takes a second")
    parser.add_argument("--before", type=float, default=2,
                        help="seconds of reading before the second server starts")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--dtype", default="i8")
    parser.add_argument("--copies", type=int, default=25,
                        help="copies of the sample, 20,000 records each")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    seconds = {}
    print("| known from | seconds until its first row | min – max |\n|---|---|---|")
    for kind in ("list", "folder"):
        seconds[kind] = []
        for _ in range(args.repetitions):
            with tempfile.TemporaryDirectory(prefix="penstock-join-") as name:
                folder = pathlib.Path(name)
                make_copies(folder / "data", args.copies)
                seconds[kind].append(measure(args, folder, folder / "data", kind))
        print(f"| {kind} | {statistics.median(seconds[kind]):.2f} | "
              f"{min(seconds[kind]):.2f} – {max(seconds[kind]):.2f} |", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"command": " ".join(sys.argv), "seconds": seconds}) + "\n")


if __name__ == "__main__":
    main()
