"""Trains a small model from two servers, kills the busier one half-way, and compares digests.

Run by ./demo. Exits with 1 if the batches that were trained on differ from those of the plan.
"""

import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

from chess import Chess
from images import Images
from processes import Processes, Server, follow

DEMOS = {"chess": Chess, "images": Images}


def start_servers(processes, args, data, work):
    servers = [Server(processes, args.bin / "penstock-server", data, work, n) for n in (1, 2)]
    for server in servers:
        server.wait_until_it_serves()
    print("Servers:", ", ".join(s.address for s in servers), flush=True)
    return servers


def train(processes, args, demo, work, servers):
    """Trains, and kills the server that has served most when half of the steps are done.

    Returns the trainer's summary, the killed server and its requests in flight at that moment.
    """
    events, summary = work / "events.jsonl", work / "summary.json"
    events.touch()
    trainer = processes.start(
        args.bin / "penstock-train", "--manifest", demo.data / "manifest.pb", "--servers",
        ",".join(s.address for s in servers), *demo.plan, *demo.training, "--events", events,
        "--digest", "--json", summary)
    killed = in_flight = None
    for event in follow(events, trainer):
        if killed is None and event["event"] == "step" and 2 * event["step"] >= event["steps"]:
            busiest = max(event["servers"], key=lambda s: s["parts"])
            killed = next(s for s in servers if s.address == busiest["address"])
            in_flight = busiest["requests_in_flight"]
            killed.process.send_signal(signal.SIGKILL)
    if trainer.returncode == 130:
        raise KeyboardInterrupt
    if trainer.returncode != 0:
        logs = "\n".join(s.last_lines() for s in servers)
        sys.exit(f"demo: penstock-train ended with {trainer.returncode}; the servers said:\n{logs}")
    if killed is None:
        sys.exit("demo: the training ended before a server was killed")
    return json.loads(summary.read_text()), killed, in_flight


def reference_digest(args, demo):
    """Returns the digest of the same plan, read in one process without any server."""
    command = [args.bin / "penstock", "stream", demo.data / "manifest.pb", "--servers", "local:",
               *demo.plan, "--dtype", demo.dtype, "--split", "train", "--digest", "--json", "-"]
    out = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["digest"]


def report(demo, summary, killed, in_flight, expected):
    print("\nPieces served:")
    for server in summary["servers"]:
        note = ""
        if server["address"] == killed.address:
            note = (f"   killed half-way with {in_flight} requests in flight, "
                    f"{server['lost_requests']} asked again")
        print(f"  {server['address']:<22} {server['parts']:>6}{note}")
    print(f"Loss                  {summary['loss_start']:.4f} -> {summary['loss_end']:.4f}")
    print(demo.quality(summary))
    print(f"Rate                  {summary['rows_per_second']:,.0f} {demo.unit}/s, "
          f"waiting for input {100 * summary['input_wait_share']:.2f} % of the time")
    print(f"Trained on            sha256 {summary['digest']}")
    print(f"The plan, no servers  sha256 {expected}", flush=True)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("demo", choices=DEMOS, nargs="?", default="chess")
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--sample", type=pathlib.Path, required=True, help="of chess positions")
    parser.add_argument("--out", type=pathlib.Path, required=True,
                        help="folder that images, their model and pictures are put in; emptied first")
    parser.add_argument("--epochs", type=int, help="instead of the demo's own number")
    return parser.parse_args()


def main():
    args = parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as folder, Processes() as processes:
        work = pathlib.Path(folder)
        demo = DEMOS[args.demo](args, work)
        demo.plan = [*demo.plan, "--epochs", args.epochs or demo.epochs]
        demo.prepare()
        servers = start_servers(processes, args, demo.data, work)
        summary, killed, in_flight = train(processes, args, demo, work, servers)
        expected = reference_digest(args, demo)
        report(demo, summary, killed, in_flight, expected)
        if summary["digest"] != expected:
            sys.exit("demo: the digests differ: a record was lost, repeated or out of order")
        print("They are equal: every record once, in order, with a server lost on the way.",
              flush=True)
        commands = demo.finish()
    print("\nNext:")
    for command in commands:
        print(f"  {command}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
