"""Runs the processes of a demo, which end with it."""

import ctypes
import json
import pathlib
import signal
import subprocess
import sys
import time

START_TIMEOUT_S = 30


def die_with_parent():
    """Ends this process even if the demo is killed by SIGKILL (prctl(2), PR_SET_PDEATHSIG)."""
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

    def __init__(self, processes, program, data, work, number):
        self.log = open(work / f"server{number}.log", "w")
        self.address_file = work / f"server{number}.address"
        self.process = processes.start(
            program, "--data-root", data, "--listen", "127.0.0.1:0",
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
