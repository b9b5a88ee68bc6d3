"""Starts Penstock's programs for the tests of whole processes, and ends them again."""

import ctypes
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["PENSTOCK_BIN"])
SAMPLE = pathlib.Path(os.environ["PENSTOCK_SAMPLE"])
TIMEOUT_S = 120


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def pause():
    """Between two looks at something that another process does."""
    select.select([], [], [], 0.01)


def run(program, *args, timeout=TIMEOUT_S, **options):
    """Runs a program to its end; returns it with stdout, stderr (text) and returncode."""
    return subprocess.run([str(BIN / program), *map(str, args)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout,
                          preexec_fn=_die_with_parent, **options)


class ProcessTestCase(unittest.TestCase):
    """A folder with the sample, indexed, and servers that end with the test."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = self.folder / "data"
        shutil.copytree(SAMPLE, self.data)
        self.manifest = self.data / "manifest.pb"
        self.check_run("penstock", "index", self.data, "--holdout", "5%", "-o", self.manifest)
        self._servers = 0

    def check_run(self, program, *args, **options):
        result = run(program, *args, **options)
        self.assertEqual(result.returncode, 0, f"{program} {args}\n{result.stdout}\n{result.stderr}")
        return result

    def spawn(self, program, *args):
        child = subprocess.Popen([str(BIN / program), *map(str, args)], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, preexec_fn=_die_with_parent)
        self.addCleanup(self._end, child)
        return child

    @staticmethod
    def _end(child):
        if child.poll() is None:
            child.kill()
        child.communicate()

    def start_server(self, *args, listen="127.0.0.1:0"):
        """A serving penstock-server; its address is `server.address`."""
        self._servers += 1
        address_file = self.folder / f"address{self._servers}"
        log = open(self.folder / f"server{self._servers}.log", "w+")
        self.addCleanup(log.close)
        server = subprocess.Popen(
            [str(BIN / "penstock-server"), "--data-root", str(self.data), "--listen", listen,
             "--address-file", str(address_file), *map(str, args)],
            stdout=log, stderr=log, preexec_fn=_die_with_parent)
        self.addCleanup(self._end, server)
        server.log_path = log.name
        deadline = time.monotonic() + TIMEOUT_S
        while not address_file.exists():
            self.assertIsNone(server.poll(), pathlib.Path(log.name).read_text())
            self.assertLess(time.monotonic(), deadline, "the server did not start")
            pause()
        server.address = address_file.read_text().strip()
        return server

    def stream_args(self, servers, *args, epochs=2):
        batch = [] if "--global-batch-size" in args else ["--global-batch-size", 256]
        return ["stream", self.manifest, "--servers", servers, *batch, "--seed", 7, "--epochs",
                epochs, "--digest", "--json", *args]

    def stream(self, servers, *args, **options):
        """What `penstock stream --json` printed, parsed."""
        return json.loads(self.check_run("penstock", *self.stream_args(servers, *args, **options)).stdout)
