"""Tests what penstock-train reports about a training: phases, verdict, trace, diagnoses."""

import json
import os
import pathlib
import time
import unittest

from servers import die_with_parent
from training import TrainingTestCase

PHASES = ["input", "host_to_device", "launch", "compute", "collective", "output", "other"]


class WatchTest(TrainingTestCase):
    def test_phases_and_verdict_are_in_the_summary_and_on_the_last_line(self):
        events = self.folder / "events.jsonl"
        result = self.check_run("penstock-train", *self.train_args("--events", events))
        summary = json.loads((self.folder / "summary.json").read_text())
        self.assertEqual(list(summary["times_s"]), PHASES)
        self.assertGreater(summary["times_s"]["compute"], 0)
        self.assertEqual(result.stdout.splitlines()[-1], "verdict: " + summary["verdict"])
        self.assertIn(summary["limit"], summary["verdict"])
        steps = [json.loads(line) for line in events.read_text().splitlines()]
        self.assertGreater(steps[0]["times_s"]["compute"], 0)

    def test_phases_add_up_to_the_wall_time_and_steps_alone_to_seconds(self):
        events = self.folder / "events.jsonl"
        began = time.monotonic()
        summary = self.train("--events", events, "--eval-every", 4, "--checkpoint-dir",
                             self.folder / "ckpt", "--checkpoint-every", 2)
        took = time.monotonic() - began
        wall = summary["wall_seconds"]
        self.assertLess(wall, took)
        self.assertAlmostEqual(sum(summary["times_s"].values()), wall, delta=0.02 * wall)
        steps = [json.loads(line) for line in events.read_text().splitlines()]
        steps = [step["times_s"] for step in steps if step["event"] == "step"]
        self.assertAlmostEqual(sum(sum(step.values()) for step in steps), summary["seconds"])
        self.assertGreater(summary["times_s"]["output"], 0)

    def test_memory_is_told_before_it_is_taken(self):
        result = self.check_run("penstock-train", *self.train_args("--threads", 2, steps=1))
        table = result.stdout[:result.stdout.index("  total ")]
        for what in ["parameters", "moments", "gradients", "8 virtual shards", "activations",
                     "2 threads", "slots", "MiB"]:
            self.assertIn(what, table)

    def test_threads_follow_the_control_group(self):
        # This is a control group of version 1.
        group = pathlib.Path(f"/sys/fs/cgroup/cpu/penstock-test-{os.getpid()}")
        try:
            group.mkdir()
        except OSError as error:
            self.skipTest(f"no control group can be made: {error}")
        self.addCleanup(group.rmdir)
        # The quota is one core.
        (group / "cpu.cfs_quota_us").write_text((group / "cpu.cfs_period_us").read_text())

        def enter():
            die_with_parent()
            (group / "cgroup.procs").write_text("0")

        result = self.check_run("penstock-train", *self.train_args(steps=1), preexec_fn=enter)
        self.assertIn("; 1 thread;", result.stdout)

    def test_a_trace_holds_the_steps_asked_for(self):
        path = self.folder / "trace.json"
        self.train("--profile-steps", "3:5", "--profile-file", path, "--threads", 2)
        events = json.loads(path.read_text())["traceEvents"]
        tracks = {event["tid"]: event["args"]["name"] for event in events
                  if event["name"] == "thread_name"}
        self.assertEqual({tid: name for tid, name in tracks.items() if tid < 10},
                         {0: "training", 1: "worker 0", 2: "worker 1"})
        spans = [event for event in events if event["ph"] == "X" and event["tid"] < 10]
        steps = [span for span in spans if span["name"].startswith("step ")]
        self.assertEqual([step["name"] for step in steps], ["step 3", "step 4"])
        shards = [span for span in spans if span["name"] == "forward and backward"]
        self.assertEqual(len(shards), 2 * 8)
        begin = steps[0]["ts"]
        end = steps[1]["ts"] + steps[1]["dur"]
        for span in spans:
            self.assertGreaterEqual(span["ts"], begin - 1)
            self.assertLessEqual(span["ts"] + span["dur"], end + 1)
        self.assert_fails(*self.train_args("--profile-steps", "5:3"), says=["500:520"], code=2)

    def test_a_trace_shows_the_threads_of_the_loader_in_its_steps(self):
        path = self.folder / "trace.json"
        # The look-ahead is short, so that each of these steps requests more.
        self.train("--profile-steps", "4:10", "--profile-file", path, "--look-ahead", "64KiB",
                   steps=20)
        events = json.loads(path.read_text())["traceEvents"]
        tracks = {event["tid"]: event["args"]["name"] for event in events
                  if event["name"] == "thread_name"}
        spans = [event for event in events if event["ph"] == "X"]
        names = {}
        for span in spans:
            names.setdefault(tracks[span["tid"]].rstrip(" 0123456789"), set()).add(span["name"])
        self.assertIn("schedule", names["loader"])
        self.assertLessEqual({"read chunk", "decode piece", "fill slots"}, names["engine thread"])
        self.assertLessEqual({"request", "deliver"}, names["loader"] | names["engine thread"])
        steps = [span for span in spans if span["name"].startswith("step ")]
        begin, end = steps[0]["ts"], steps[-1]["ts"] + steps[-1]["dur"]
        slack = 20_000  # Microseconds of slack, for spans that begin while a step ends.
        for span in spans:
            self.assertGreaterEqual(span["ts"], begin - slack, span)
            self.assertLessEqual(span["ts"], end + slack, span)

    def test_a_trace_of_no_step_is_told_at_the_start(self):
        trace = ["--profile-file", self.folder / "trace.json", "--profile-steps"]
        result = self.check_run("penstock-train", *self.train_args(*trace, "13:20"))
        self.assertIn("--profile-steps: 13:20 will not be traced, because this run has steps 1 to 12",
                      result.stderr)
        self.assertIn("\nno trace: no step of 13:20 was run", result.stdout)
        self.assertNotIn("perfetto", result.stdout)
        result = self.check_run("penstock-train", *self.train_args(*trace, "12:20"))
        self.assertNotIn("will not be traced", result.stderr)
        self.assertIn("\ntrace of steps 12:20: ", result.stdout)
        self.assertTrue(result.stdout.splitlines()[-1].startswith("verdict: "), result.stdout)

    def test_where_it_is_saved_is_told(self):
        result = self.check_run("penstock-train", *self.train_args(steps=2))
        self.assertIn("no checkpoints are saved, because --checkpoint-dir is not given", result.stderr)
        self.assertIn("\nnot saved\n", result.stdout)
        args = ["--checkpoint-dir", self.folder / "a"]
        for _ in range(2):  # The second time there is nothing left to do.
            result = self.check_run("penstock-train", *self.train_args(*args, steps=2))
            self.assertNotIn("saved", result.stderr)
            self.assertIn(f"\nsaved as {self.checkpoints('a')[-1]}\n", result.stdout)

    def test_diagnoses_compare_with_the_normal_run(self):
        for args, words in [(["--synthetic-data"], "synthetic data"),
                            (["--replay-batches", 3], "3 batches from memory")]:
            result = self.check_run("penstock-train", *self.train_args(*args, steps=10))
            line = next(line for line in result.stdout.splitlines()
                        if line.startswith("diagnosis: "))
            self.assertRegex(line, rf"normal [\d,]+/s .* with {words} [\d,]+/s")
            self.assertIn("done after step 10", result.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
