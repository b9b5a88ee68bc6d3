"""Tests penstock launch with real ranks: output, failures, restarts, signals."""

import os
import pathlib
import select
import signal
import subprocess
import time
import unittest

from processes import pause, run
from rank_runs import BIN, RanksTestCase, numbers
from servers import BY_TIMEOUT, TIMEOUT_S

END_S = 60  # Time limit for all ranks to end after one was killed. An idle machine takes 10 s.


class LaunchTest(RanksTestCase):
    def launch(self, *args):
        return self.start_rank([BIN / "penstock", "launch", *args])

    def one_rank(self, steps):
        folder = self.folder / f"one-{steps}"
        self.check_run("penstock-train", *self.train_args("--checkpoint-dir", folder, steps=steps))
        return numbers(self.newest(folder))

    def process_of(self, launcher, rank):
        """Returns the process id of a rank that the launcher started."""
        pid = launcher.process.pid
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            environment = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            if f"RANK={rank}".encode() in environment:
                return int(child)
        raise AssertionError(f"no rank {rank}")

    def test_ranks_of_this_host(self):
        folder = self.folder / "of-2"
        job = self.launch("-np", 2, "--", "penstock-train",
                          *self.train_args("--checkpoint-dir", folder))
        self.end_well([job])
        self.assertIn("[0] 2 ranks (torchrun)", job.out)
        self.assertRegex(job.out, r"\[0\]   memory, MiB     rank 0    rank 1\n"
                                  r"\[0\]   parameters         0\.6       0\.6\n")
        self.assertNotIn("[1]", job.out)
        self.assertEqual(numbers(self.newest(folder)), self.one_rank(self.STEPS))

    def test_a_killed_rank_ends_the_job_and_a_restart_goes_on(self):
        folder, events = self.folder / "parts", self.folder / "events.jsonl"
        args = self.train_args("--checkpoint-dir", folder, "--checkpoint-every", 4, "--events",
                               events, steps=10**6)
        job = self.launch("-np", 2, "--restarts", 1, "--", "penstock-train", *args)
        self.wait_for_steps(events, 6, [job])
        os.kill(self.process_of(job, 1), signal.SIGKILL)
        while "starting again, 1 of 1" not in job.err:
            self.assertIsNone(job.process.poll(), job.err)
            pause()
        self.assertIn("rank 1 was ended by signal 9 (Killed)", job.err)
        while "resuming from" not in job.out:
            self.assertIsNone(job.process.poll(), job.err)
            pause()
        self.wait_for_steps(events, events.read_text().count('"step","step"') + 2, [job])
        begin = time.monotonic()
        os.kill(self.process_of(job, 0), signal.SIGKILL)
        self.assertEqual(job.wait(), 128 + 9)
        self.assertLess(time.monotonic() - begin, END_S)
        self.assertRegex(job.err, r"(?s)rank 0 was ended by signal 9 \(Killed\);.* its last lines:")
        at = int(self.newest(folder).stem.split("-")[1])
        self.assertEqual(numbers(self.newest(folder)), self.one_rank(at))

    def save_and_end(self, number, prefix=()):
        folder, events = self.folder / "parts", self.folder / "events.jsonl"
        job = self.start_rank([*prefix, BIN / "penstock", "launch", "-np", 2, "penstock-train",
                               *self.train_args("--checkpoint-dir", folder, "--events", events,
                                                steps=10**6)])
        self.wait_for_steps(events, 3, [job])
        job.process.send_signal(number)
        self.end_well([job])
        self.assertIn("[0] stopped after step", job.out)
        self.newest(folder)

    def test_sigterm_saves_and_ends_well(self):
        self.save_and_end(signal.SIGTERM)

    def test_the_second_signal_of_timeout_lets_it_save(self):
        self.save_and_end(signal.SIGTERM, BY_TIMEOUT)

    def test_nohup_lets_it_run(self):
        script = "trap 'echo told' TERM; kill -HUP $PPID; sleep 1"
        job = self.start_rank(["nohup", BIN / "penstock", "launch", "-np", 1, "--", "sh", "-c", script])
        self.end_well([job])
        self.assertNotIn("told", job.out)

    def test_sigterm_is_heard_while_nobody_reads(self):
        told = self.folder / "told"
        script = f"trap 'echo x > {told}; exit 0' TERM; while :; do echo nobody reads this; done"
        read, write = os.pipe()
        with open(read, "rb"), open(write, "wb") as full:
            job = subprocess.Popen(
                [BIN / "penstock", "launch", "-np", "1", "--", "sh", "-c", script],
                stdout=full, stderr=subprocess.DEVNULL)
            self.addCleanup(job.kill)
            while select.select([], [write], [], 0)[1]:
                self.assertIsNone(job.poll())
                pause()
            job.send_signal(signal.SIGTERM)
            self.assertEqual(job.wait(timeout=TIMEOUT_S), 0)
        self.assertTrue(told.exists())

    def test_the_code_of_stopped_ranks_is_that_of_the_launch(self):
        folder, events = self.folder / "parts", self.folder / "events.jsonl"
        job = self.launch("-np", 2, "penstock-train",
                          *self.train_args("--checkpoint-dir", folder, "--events", events,
                                           "--stopped-exit-code", 75, steps=10**6))
        self.wait_for_steps(events, 3, [job])
        job.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 75, job.err)
        self.assertIn("[0] stopped after step", job.out)
        self.newest(folder)

    def test_wrong_lines_are_usage_errors(self):
        for args, says in ((["-np", 2], "no program is given"), (["--", "true"], "-np is missing"),
                           (["-np", 4, "-H", "localhost:2", "--", "true"], "2 slots"),
                           (["-np", 2, "--gpus", "0", "true"], "--gpus 0"),
                           (["-np", 2, "penstock-train"], "no dataset given"),
                           (["-np", 2, "--min-np", 1, "true"], "--min-np: elastic training is not supported"),
                           (["-np", 2, "--config-file", "f", "true"], "--config-file: not supported")):
            result = run("penstock", "launch", *args)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(says, result.stderr)

    def test_a_line_of_horovodrun(self):
        folder = self.folder / "out"
        result = self.check_run("penstock", "launch", "-np", 2, "-H", "localhost:2", "--log-level",
                                "INFO", "--timeline-filename=t.json", "-map-by", "slot", "-x", "WORD=hi",
                                "-x", "NOT_HERE", "--output-filename", folder, "-prefix-timestamp",
                                "sh", "-c", "echo $WORD; echo $RANK >&2")
        time_of_day = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d "
        self.assertRegex(result.stdout, rf"(?m)^{time_of_day}\[1\] hi$")
        self.assertEqual((folder / "rank.0/stdout").read_text(), "hi\n")
        self.assertEqual((folder / "rank.1/stderr").read_text(), "1\n")
        for note in ("--log-level is ignored: ",
                     "--timeline-filename is ignored: use penstock-train --profile",
                     "--map-by slot is ignored: mpirun does not start these ranks",
                     "-x NOT_HERE: no such variable is set here"):
            self.assertIn(f"penstock launch: {note}", result.stderr)

    def test_start_timeout_is_when_all_ranks_must_have_met(self):
        train = " ".join(map(str, [BIN / "penstock-train", *self.train_args()]))
        job = self.launch("-np", 2, "--start-timeout", 5, "sh", "-c",
                          f"[ $RANK = 1 ] && exec sleep 600; exec {train}")
        self.assertEqual(job.wait(), 1)
        self.assertIn("rank 1 of 2 did not join within 5s", job.err)

    def test_output_that_cannot_be_written_is_told(self):
        with open("/dev/full", "w") as full:
            job = subprocess.run([BIN / "penstock", "launch", "-np", "1", "--", "echo", "lost"],
                                 stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(job.returncode, 1, job.stderr)
        self.assertIn("the output of the ranks cannot be written", job.stderr)

    def test_gpus_are_bound_by_local_rank(self):
        result = run("penstock", "launch", "-np", 2, "--gpus", "5,3", "sh", "-c",
                     "echo gpu $CUDA_VISIBLE_DEVICES")
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] gpu 5", "[1] gpu 3"])

    def test_check_build(self):
        libraries = BIN.parent / "fake_nccl"  # The build's tests include these libraries.
        result = self.check_run("penstock", "launch", "-cb", env={
            **os.environ, "CUDA_VISIBLE_DEVICES": "", "PENSTOCK_CUDA_LIBS": str(libraries)})
        self.assertIn("[X] local", result.stdout)
        self.assertIn(f"[X] penstock-train: {BIN}", result.stdout)
        self.assertRegex(result.stdout, r"\[X\] CPU: fp32")
        self.assertRegex(result.stdout, r"\[ \] GPU: (this build has no CUDA|there is no )")
        self.assertRegex(result.stdout, r"\[ \] NCCL, one GPU per rank: there is no usable GPU")
        if (libraries / "libnccl.so.2").exists():
            self.assertIn(f": {libraries}/libnccl.so.2", result.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
