"""Tests penstock launch with mpirun: the same weights, failures, signals, restarts."""

import os
import pathlib
import shutil
import signal
import time
import unittest

from processes import pause
from rank_runs import BIN, RanksTestCase, newest, numbers

END_S = 60  # Time limit for all ranks to end after one was killed. An idle machine takes 10 s.


def rank_process(launcher, rank):
    """Returns a rank's process id and environment. mpirun's ranks are not our children."""
    job = f"-{launcher.process.pid}\0".encode()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue  # The process has ended.
        names = dict(entry.split("=", 1) for entry in environment.decode().split("\0") if "=" in entry)
        if job in environment and names.get("OMPI_COMM_WORLD_RANK") == str(rank):
            return int(folder.name), names
    raise AssertionError(f"no rank {rank}")


@unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
class LaunchMpirunTest(RanksTestCase):
    def launch(self, *args):
        return self.start_rank([BIN / "penstock", "launch", "-np", 2, "-H", "localhost:2", "--mpi",
                                *args])

    def start_training(self, *options, save_every=4):
        """Launches an endless training, and returns it after a few steps."""
        self.events = self.folder / "events.jsonl"
        job = self.launch(*options, "--", "penstock-train", *self.train_args(
            "--checkpoint-dir", self.folder / "parts", "--events", self.events,
            "--checkpoint-every", save_every, steps=10**6))
        self.wait_for_steps(self.events, 6, [job])
        return job

    def wait_for(self, done, job):
        while not done():
            self.assertIsNone(job.process.poll(), job.err)
            pause()

    def test_they_train_as_one(self):
        folder, alone = self.folder / "of-2", self.folder / "alone"
        job = self.launch("--verbose", "--", "penstock-train",
                          *self.train_args("--checkpoint-dir", folder))
        self.end_well([job])
        self.assertIn("2 ranks (Open MPI)", job.out)
        self.check_run("penstock-train", *self.train_args("--checkpoint-dir", alone))
        self.assertEqual(numbers(newest(folder)), numbers(newest(alone)))

    def test_a_killed_rank_ends_the_job(self):
        job = self.start_training()
        begin = time.monotonic()
        os.kill(rank_process(job, 1)[0], signal.SIGKILL)
        self.assertEqual(job.wait(), 128 + 9, job.err)
        self.assertLess(time.monotonic() - begin, END_S)
        self.assertRegex(job.err, r"(?s)mpirun: rank 1 was ended by signal 9 \(Killed\);"
                                  r".* its last lines:")

    def test_a_rank_that_fails_is_told_with_its_last_lines(self):
        job = self.launch("sh", "-c", "[ $OMPI_COMM_WORLD_RANK = 0 ] && exec sleep 600; "
                          "echo no disk >&2; exit 7")
        self.assertEqual(job.wait(), 7, job.err)
        # If a rank fails while others are still being started, mpirun does not say which one it
        # was.
        self.assertRegex(job.err, r"(?s)mpirun(: rank 1)? failed with exit code 7;"
                                  r".* its last lines:"
                                  r".*  \[1,1\]<stderr>:no disk\n")

    def test_every_host_has_the_gpus_that_were_named(self):
        job = self.launch("--gpus", "5,3", "sh", "-c", "echo gpus $CUDA_VISIBLE_DEVICES")
        self.end_well([job])
        self.assertEqual(job.out.count("gpus 5,3"), 2, job.out)
        for gpus, says in (("5,3,5", "twice"), ("5,", "--gpus 5,")):
            job = self.launch("--gpus", gpus, "true")
            self.assertEqual(job.wait(), 2, job.err)
            self.assertIn(says, job.err)

    def test_a_wrong_line_of_the_program_is_told(self):
        job = self.launch("penstock-train", "--no-such-option")
        self.assertEqual(job.wait(), 2, job.err)
        self.assertIn("--no-such-option", job.err)

    def test_options_of_mpirun_are_passed_on(self):
        folder = self.folder / "out"
        job = self.launch("--verbose", "-x", "WORD=hi", "-map-by", "slot", "-mca", "btl", "self",
                          "--mpi-args=--report-bindings", "--output-filename", folder,
                          "sh", "-c", "echo $WORD")
        self.end_well([job])
        self.assertIn("--map-by slot --mca btl self --report-bindings sh -c", job.err)
        self.assertIn("[1,1]<stdout>:hi", job.out)
        self.assertEqual(sorted(path.read_text() for path in folder.glob("*/rank.*/stdout")),
                         ["[1,0]<stdout>:hi\n", "[1,1]<stdout>:hi\n"])

    def test_hosts_that_do_not_answer_are_told_and_leave_no_ssh(self):
        ssh = self.folder / "ssh"
        ssh.write_text(f"#!/bin/sh\necho $$ >>{self.folder}/pids\nexec sleep 600\n")
        ssh.chmod(0o755)
        job = self.start_rank([BIN / "penstock", "launch", "-H", "192.0.2.1:1,192.0.2.2:1", "--",
                               "true"],
                              env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})
        self.wait_for(lambda: "ssh 192.0.2.2 true" in job.err, job)
        self.assertIn("mpirun starts them on 192.0.2.1, 192.0.2.2", job.err)
        job.process.send_signal(signal.SIGINT)
        job.wait()
        pids = (self.folder / "pids").read_text().split()
        self.assertEqual([pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()], [])

    def test_signals_save_and_end_well(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                job = self.start_training()
                job.process.send_signal(number)
                self.end_well([job])
                self.assertIn("stopped after step", job.out)
                self.events.unlink()

    def test_ranks_save_when_the_launcher_is_killed(self):
        job = self.start_training(save_every=10**6)
        rank = pathlib.Path(f"/proc/{rank_process(job, 0)[0]}")
        job.process.kill()
        job.wait()
        while rank.exists():
            pause()
        newest(self.folder / "parts")

    def test_a_restart_goes_on_and_refuses_the_start_before(self):
        job = self.start_training("--restarts", 1, "--port",
                                  self.reserve_address().split(":")[1])
        pid, before = rank_process(job, 1)
        os.kill(pid, signal.SIGKILL)
        self.wait_for(lambda: "resuming from" in job.out, job)
        self.assertEqual(rank_process(job, 1)[1]["PENSTOCK_GENERATION"], "1")
        late = self.start_rank([BIN / "penstock-train", *self.train_args()], env=before)
        self.assertEqual(late.wait(), 1)
        self.assertIn("this rank belongs to start 0 of the job, but the job was restarted", late.err)
        job.process.send_signal(signal.SIGTERM)
        self.end_well([job])


if __name__ == "__main__":
    unittest.main(verbosity=2)
