"""Starts and ends Penstock's programs, for tests of whole processes."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

from servers import (BIN, REPOSITORY, TIMEOUT_S, Server, die_with_parent, pause, reserve_port,
                     wait_until)

SAMPLE = pathlib.Path(os.environ.get("PENSTOCK_SAMPLE", REPOSITORY / "sample"))


def run(program, *args, timeout=TIMEOUT_S, preexec_fn=die_with_parent, **options):
    """Runs a program to its end. Returns it with stdout, stderr (text) and returncode."""
    return subprocess.run([str(BIN / program), *map(str, args)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout,
                          preexec_fn=preexec_fn, **options)


class ProcessTestCase(unittest.TestCase):
    """Has a folder with the indexed sample, and servers that end with the test."""

    holdout = "5%"

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = self.folder / "data"
        self.address_files = self.folder / "servers"  # The folder of file:FOLDER.
        self.address_files.mkdir()
        shutil.copytree(SAMPLE, self.data)
        self.manifest = self.data / "manifest.pb"
        self.check_run("penstock", "index", self.data, "--holdout", self.holdout, "-o", self.manifest)
        self._servers = 0

    def pack_few(self):
        """Returns a manifest of 384 positions, a tenth held out. An epoch takes a second."""
        def rank(file, piece):
            return f"{file or ''}{piece}{7 - file or ''}"

        data = self.folder / "few"
        tsv = self.folder / "few.tsv"
        tsv.write_text("".join(
            f"{'8/' * (8 - above)}{rank(black, 'k')}/{'8/' * (above - 2)}{rank(white, 'K')} w - - 0 1"
            f"\t{10 * white}\n" for above in range(3, 9) for black in range(8) for white in range(8)))
        self.check_run("penstock", "pack", "--from", "chess-tsv", tsv, "-o", data)
        self.check_run("penstock", "index", data, "--holdout", "10%", "-o", data / "manifest.pb")
        return data / "manifest.pb"

    def check_run(self, program, *args, **options):
        result = run(program, *args, **options)
        self.assertEqual(result.returncode, 0, f"{program} {args}\n{result.stdout}\n{result.stderr}")
        return result

    def spawn(self, program, *args, prefix=(), stdout=subprocess.PIPE, stderr=subprocess.PIPE):
        """Starts a program. `prefix` is a command that executes another one. A program that prints
        much needs a file as its output, because it would block when a pipe that nobody reads is
        full."""
        child = subprocess.Popen([*map(str, prefix), str(BIN / program), *map(str, args)],
                                 stdout=stdout, stderr=stderr, text=True,
                                 preexec_fn=die_with_parent)
        self.addCleanup(self._end, child)
        return child

    @staticmethod
    def _end(child):
        if child.poll() is None:
            child.kill()
        child.communicate()

    def start_server(self, *args, listen="127.0.0.1:0"):
        """Returns a penstock-server that serves; its address is `server.address`."""
        server = self.make_server(*args)
        server.start(listen)
        return server.wait_serving()

    def make_server(self, *args, **options):
        """Returns a penstock-server of this test that has not been started."""
        self._servers += 1
        server = Server(self.data, self.address_files / f"{self._servers}",
                        self.folder / f"server{self._servers}.log", *args, **options)
        self.addCleanup(server.end)
        return server

    def reserve_address(self):
        """Returns HOST:PORT. Until the test ends, nothing listens there except what the test
        starts."""
        reserved = reserve_port()
        self.addCleanup(reserved.close)
        return "%s:%d" % reserved.getsockname()

    def top_until(self, shown, servers, *args, interval="300ms"):
        """Returns the servers in `penstock top`'s output, once `shown(servers)` is true: on a
        loaded machine a server may not answer within an interval. A server that is down has no
        clients."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            result = run("penstock", "top", "--servers", servers, "--interval", interval, "--once",
                         "--json", "-", *args)
            rows = [{"error": "", "clients": [], **row}
                    for row in json.loads(result.stdout)["servers"]]
            if shown(rows):
                return rows
            self.assertLess(time.monotonic(), deadline, rows)

    def wait_for_ids(self, client, ids, more=100_000):
        """Waits until the stream has written `more` bytes to its file of --ids."""
        def size():
            self.assertIsNone(client.poll(), "the stream ended early")
            return ids.stat().st_size if ids.exists() else 0
        goal = size() + more
        wait_until(lambda: size() >= goal, "ids")

    def stream_args(self, servers, *args, epochs=2):
        """Returns arguments that read all records, as int8. `args` can override them, because the
        last value of an option counts."""
        return ["stream", self.manifest, "--servers", servers, "--split", "all", "--dtype", "i8",
                "--seed", 7, "--epochs", epochs, "--digest", "--json", "-", *args]

    def stream(self, servers, *args, **options):
        """Returns the parsed output of `penstock stream --json`."""
        return json.loads(self.check_run("penstock", *self.stream_args(servers, *args, **options)).stdout)
