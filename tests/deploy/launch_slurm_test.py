"""Tests penstock launch with srun, in an allocation of a one-node Slurm that the test starts."""

import os
import shutil
import signal
import socket
import unittest

from slurm import SlurmTestCase, why_not  # Imported first, because it makes tests/e2e importable.
from processes import BIN, run
from rank_runs import newest, numbers
from servers import wait_until

STEPS = 8
SCRIPT = f"""#!/bin/bash
#SBATCH --job-name=launch --output=launch-%j.log --ntasks=2
echo $$ > "pid-$SLURM_JOB_ID"
exec {BIN}/penstock launch "$@"
"""


def host_name():
    return socket.gethostname().split(".")[0]


def why_no_srun():
    """Returns why srun cannot start ranks here, or nothing."""
    if why_not():
        return why_not()
    if shutil.which("srun") is None:
        return "not installed: srun"
    try:
        socket.gethostbyname(host_name())
    except OSError:
        return f"{host_name()}, this host's name, has no address where ranks could meet"
    return ""


@unittest.skipIf(why_no_srun(), why_no_srun())
class LaunchSlurmTest(SlurmTestCase):
    LOG = "launch-{job}.log"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.script = cls.slurm.folder / "launch.sbatch"
        cls.script.write_text(SCRIPT)

    def launch(self, *args):
        # srun is only chosen by --launcher srun, because the one host is this one.
        return self.slurm.submit(self.script, "-np", 2, "-H", f"{host_name()}:2", "--launcher", "srun",
                                 *args)

    def train_args(self, folder):
        return ["penstock-train", "--manifest", self.manifest, "--global-batch-size", 64, "--seed", 3,
                "--device", "cpu", "--threads", 1, "--steps", STEPS, "--checkpoint-dir", folder]

    def test_ranks_meet_and_train_as_one(self):
        together, alone = self.slurm.folder / "together", self.slurm.folder / "alone"
        job = self.launch("--verbose", "--", *self.train_args(together))
        self.assertEqual(self.slurm.wait(job), ("COMPLETED", 0), self.log(job))
        self.assertIn(f"--nodelist={host_name()}", self.log(job))
        self.assertIn("0: 2 ranks (Slurm)", self.log(job))  # srun marks lines by rank.
        program, *args = self.train_args(alone)
        result = run(program, *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(numbers(newest(together)), numbers(newest(alone)))

    def test_a_rank_that_fails_ends_all(self):
        job = self.launch("--", "bash", "-c", "[ $SLURM_PROCID = 0 ] && exec sleep 600; exit 7")
        state, code = self.slurm.wait(job)
        self.assertEqual(state, "FAILED", self.log(job))
        self.assertNotEqual(code, 0, self.log(job))
        self.assertRegex(self.log(job), r"task 1: Exited with exit code 7")
        self.assertRegex(self.log(job), r"srun: rank 1 failed with exit code 7; its last lines:")

    def test_a_signal_saves_and_ends_well(self):
        # Each way ends a job: SIGTERM to the launcher, or SIGUSR1 to the whole job through Slurm.
        # SIGTERM from Slurm would reach srun too, which kills the ranks.
        ways = {"launcher": lambda job: os.kill(self.launcher(job), signal.SIGTERM),
                "job": lambda job: self.slurm.run("scancel", "--signal=USR1", job)}
        for name, send in ways.items():
            with self.subTest(name):
                folder, events = (self.slurm.folder / f"{name}{what}" for what in ("", ".jsonl"))
                program, *args = self.train_args(folder)
                args[args.index("--steps") + 1] = 10**6
                job = self.launch("--", program, *args, "--events", events)
                wait_until(lambda: events.exists() and events.read_text().count('"step","step"') > 2,
                           "steps")
                send(job)
                self.assertEqual(self.slurm.wait(job), ("COMPLETED", 0), self.log(job))
                self.assertIn("0: stopped after step", self.log(job))
                newest(folder)

    def launcher(self, job):
        return int((self.slurm.folder / f"pid-{job}").read_text())


if __name__ == "__main__":
    unittest.main()
