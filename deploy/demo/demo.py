"""Trains the tiny model from two servers, kills the busier one half-way, compares digests.

Run by ./demo. Exits 1 when the batches that were trained on differ from those of the plan.
"""

import argparse
import ctypes
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SEED = 7
EPOCHS = 4
BATCH = 256
START_TIMEOUT_S = 30


def die_with_parent():
    """Even SIGKILL of the demo leaves no process behind (prctl(2), PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Processes:
    """Child processes that end with this object."""

    def __init__(self):
        self.children = []

    def __enter__(self):
        return self

    def start(self, *argv, **options):
        child = subprocess.Popen([str(a) for a in argv], preexec_fn=die_with_parent, **options)
        self.children.append(child)
        return child

    def __exit__(self, *_):
        for child in self.children:
            if child.poll() is None:
                child.kill()
        for child in self.children:
            child.wait()


class Server:
    """One penstock-server on a free loopback port."""

    def __init__(self, processes, args, work, number):
        self.log = open(work / f"server{number}.log", "w")
        self.address_file = work / f"server{number}.address"
        self.process = processes.start(
            args.bin / "penstock-server", "--data-root", work / "data", "--listen", "127.0.0.1:0",
            "--address-file", self.address_file, stdout=self.log, stderr=self.log)

    def last_lines(self):
        return "\n".join(pathlib.Path(self.log.name).read_text().splitlines()[-10:])

    def wait_until_it_serves(self):
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.address_file.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"demo: a server did not start:\n{self.last_lines()}")
            time.sleep(0.02)
        self.address = self.address_file.read_text().strip()


def follow(path, trainer):
    """Yields the trainer's events (JSON lines) until it ends."""
    buffer = ""
    with open(path) as lines:
        while True:
            ended = trainer.poll() is not None
            buffer += lines.read()
            *complete, buffer = buffer.split("\n")
            for line in complete:
                yield json.loads(line)
            if ended:
                return
            time.sleep(0.02)


def train(processes, args, work, servers):
    """Trains; kills the server that has served most when half of the steps are done.

    Returns the trainer's summary, the server killed and its requests in flight at that moment.
    """
    events, summary = work / "events.jsonl", work / "summary.json"
    events.touch()
    trainer = processes.start(
        args.bin / "penstock-train", "--manifest", work / "data/manifest.pb", "--servers",
        ",".join(s.address for s in servers), "--model", "tiny", "--global-batch-size", BATCH,
        "--epochs", EPOCHS, "--seed", SEED, "--lr", "1e-3", "--lr-schedule", "cosine",
        "--warmup-steps", "20",
        # Little, so that the servers work all the time and not only at the start.
        "--look-ahead", "2MiB", "--events", events, "--digest", "--json", summary)
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


def reference_digest(args, work):
    """The digest of the same plan, read in one process without any server."""
    out = subprocess.run(
        [args.bin / "penstock", "stream", work / "data/manifest.pb", "--servers", "local:",
         "--global-batch-size", str(BATCH), "--epochs", str(EPOCHS),
         "--seed", str(SEED), "--dtype", "packed", "--split", "train", "--digest", "--json"],
        check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["digest"]


def report(summary, killed, in_flight, expected):
    print("\nPieces served:")
    for server in summary["servers"]:
        note = ""
        if server["address"] == killed.address:
            note = (f"   killed half-way with {in_flight} requests in flight, "
                    f"{server['lost_requests']} asked again")
        print(f"  {server['address']:<22} {server['parts']:>6}{note}")
    print(f"Loss                  {summary['loss_start']:.4f} -> {summary['loss_end']:.4f}")
    print(f"Held-out loss         {summary['holdout_loss']:.4f}, "
          f"{summary['holdout_below_mean_percent']:.1f} % below predicting the mean "
          f"({summary['holdout_baseline']:.4f})")
    print(f"Rate                  {summary['positions_per_second']:,.0f} positions/s, "
          f"waiting for input {100 * summary['input_wait_share']:.2f} % of the time")
    print(f"Trained on            sha256 {summary['digest']}")
    print(f"The plan, no servers  sha256 {expected}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as folder, Processes() as processes:
        work = pathlib.Path(folder)
        shutil.copytree(args.data, work / "data")
        subprocess.run([args.bin / "penstock", "index", work / "data", "--holdout", "5%"], check=True)
        servers = [Server(processes, args, work, n) for n in (1, 2)]
        for server in servers:
            server.wait_until_it_serves()
        print("Servers:", ", ".join(s.address for s in servers))
        summary, killed, in_flight = train(processes, args, work, servers)
        expected = reference_digest(args, work)
        report(summary, killed, in_flight, expected)

    if summary["digest"] != expected:
        sys.exit("demo: the digests differ: a record was lost, repeated or out of order")
    print("They are equal: every record once, in order, with a server lost on the way.\n\nNext:")
    print(f"  {args.bin}/penstock inspect {args.data}")
    print(f"  {args.bin}/penstock stream {args.data} --servers local: --global-batch-size 512")
    print(f"  {args.bin}/penstock-server --data-root {args.data} --listen 127.0.0.1:7070")
    print(f"  {args.bin}/penstock-train --help")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
