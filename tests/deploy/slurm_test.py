"""Tests deploy/slurm/penstock.sbatch on a one-node Slurm that the test starts."""

import json
import os
import pathlib
import socket
import unittest

from slurm import SlurmTestCase, why_not  # Imported first, because it makes tests/e2e importable.
from processes import BIN, run
from rank_runs import newest, numbers
from servers import wait_until

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "slurm" / "penstock.sbatch"
# A reader like a user's own training: it takes its rank from Slurm. It waits for both servers, since
# the job starts trainers beside the first.
READER = """#!/bin/bash
until [ -e "${2#file:}/0" ] && [ -e "${2#file:}/1" ]; do sleep 0.1; done
exec penstock stream --rank "$SLURM_PROCID" --world-size "$SLURM_NTASKS" --json - "$@" \
  > "rank$SLURM_PROCID.json"
"""


def host_has_an_address():
    try:
        return bool(socket.gethostbyname(socket.gethostname()))
    except OSError:
        return False


# Servers advertise their host's name. If it cannot be resolved, as in some containers, use
# loopback.
SERVER_OPTIONS = "--insecure" if host_has_an_address() else "--insecure --advertise 127.0.0.1"


@unittest.skipIf(why_not(), why_not())
class SlurmTest(SlurmTestCase):
    LOG = "penstock-{job}.log"

    def submit(self, *args, **environment):
        # There are two servers on the node, so that the server set has more than one.
        return self.slurm.submit(SCRIPT, *args, PATH=f"{BIN}:{os.environ['PATH']}",
                                 PENSTOCK_SERVERS_PER_NODE="2",
                                 PENSTOCK_SERVER_OPTIONS=SERVER_OPTIONS, **environment)

    def write_reader(self):
        reader = self.slurm.folder / "reader"
        reader.write_text(READER)
        reader.chmod(0o755)
        return str(reader)

    def assert_ended(self, job, state):
        self.assertEqual(self.slurm.wait(job), state, self.log(job))
        self.assertEqual(list(self.slurm.folder.glob("*.servers")), [])

    def local_stream(self, *args):
        result = run("penstock", "stream", self.manifest, "--digest", "--json", "-", *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_servers_feed_two_ranks(self):
        job = self.submit("--manifest", self.manifest, "--digest",
                          PENSTOCK_TRAINER=self.write_reader(), PENSTOCK_TRAINERS="2")
        self.assert_ended(job, ("COMPLETED", 0))
        for rank in (0, 1):
            result = json.loads((self.slurm.folder / f"rank{rank}.json").read_text())
            expected = self.local_stream("--rank", rank, "--world-size", 2)
            self.assertEqual(result["digest"], expected["digest"])
            self.assertEqual(len(result["servers"]), 2)
        # A signal reached the servers, and they ended by themselves.
        self.assertEqual(self.log(job).count("info ended"), 2, self.log(job))
        self.assertNotIn("CANCELLED", self.log(job))

    def test_servers_feed_a_training(self):
        summary = self.slurm.folder / "summary.json"
        options = ["--global-batch-size", 64, "--steps", 4]
        manifest = pathlib.Path(self.manifest)
        job = self.submit("--manifest", f"server:{manifest.name}", *options, "--digest", "--json",
                          summary, PENSTOCK_DATA=str(manifest.parent))
        self.assert_ended(job, ("COMPLETED", 0))
        expected = self.local_stream("--dtype", "packed", "--split", "train", *options)
        self.assertEqual(json.loads(summary.read_text())["digest"], expected["digest"])

    @unittest.skipUnless(host_has_an_address(), "this host's name has no address where ranks meet")
    def test_servers_feed_two_ranks_of_a_training(self):
        states = []
        for ranks in (1, 2):
            folder = self.slurm.folder / f"checkpoints{ranks}"
            job = self.submit("--manifest", self.manifest, "--global-batch-size", 64, "--steps", 4,
                              "--checkpoint-dir", folder, PENSTOCK_TRAINERS=str(ranks))
            self.assert_ended(job, ("COMPLETED", 0))
            states.append(numbers(newest(folder)))
        self.assertEqual(*states)

    def test_a_cancelled_job_leaves_nothing(self):
        job = self.submit("--manifest", self.manifest, "--epochs", 0, "--ids", "ids",
                          PENSTOCK_TRAINER=self.write_reader())
        ids = self.slurm.folder / "ids"
        wait_until(lambda: ids.exists() and ids.stat().st_size > 0, "rows")
        self.slurm.run("scancel", job)
        self.assert_ended(job, ("CANCELLED", 0))
        for command_line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                self.assertNotIn(f"penstock-{job}.servers", command_line.read_text())
            except (FileNotFoundError, ProcessLookupError):
                pass

    def test_a_job_says_what_is_missing(self):
        jobs = {"give --manifest": self.submit(),
                "set PENSTOCK_DATA to the servers' folder": self.submit("--manifest", "server:manifest.pb"),
                "no server could be started": self.submit("--manifest", "/no/such/manifest.pb")}
        for message, job in jobs.items():
            with self.subTest(message):
                self.assertEqual(self.slurm.wait(job), ("FAILED", 2), self.log(job))
                self.assertIn(message, self.log(job))
        self.assertEqual(list(self.slurm.folder.glob("*.servers")), [])



if __name__ == "__main__":
    unittest.main()
