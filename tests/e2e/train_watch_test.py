"""What a person is told of a training: phases, verdict, trace, diagnoses."""

import json
import unittest

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

    def test_memory_is_told_before_it_is_taken(self):
        result = self.check_run("penstock-train", *self.train_args("--threads", 2, steps=1))
        table = result.stdout[:result.stdout.index("together")]
        for what in ["parameters", "moments", "gradients", "8 virtual shards", "activations",
                     "2 threads", "slots", "MiB"]:
            self.assertIn(what, table)

    def test_a_trace_holds_the_steps_asked_for(self):
        path = self.folder / "trace.json"
        self.train("--profile-steps", "3:5", "--profile-file", path, "--threads", 2)
        events = json.loads(path.read_text())["traceEvents"]
        tracks = {event["tid"]: event["args"]["name"] for event in events
                  if event["name"] == "thread_name"}
        self.assertEqual(tracks, {0: "training", 1: "worker 0", 2: "worker 1"})
        spans = [event for event in events if event["ph"] == "X"]
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

    def test_diagnoses_compare_with_the_normal_run(self):
        for args, words in [(["--synthetic-data"], "synthetic data"),
                            (["--replay-batches", 3], "3 batches from memory")]:
            result = self.check_run("penstock-train", *self.train_args(*args, steps=10))
            line = next(line for line in result.stdout.splitlines()
                        if line.startswith("diagnosis: "))
            self.assertRegex(line, rf"normal [\d,]+ positions/s .* with {words} [\d,]+ positions/s")
            self.assertIn("done after step 10", result.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
