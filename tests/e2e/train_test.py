"""penstock-train as a real process: resume, signals, and what it refuses."""

import json
import os
import signal
import unittest

from processes import pause, run
from training import STEPS, TrainingTestCase


class TrainTest(TrainingTestCase):
    def test_trains_on_what_the_plan_says(self):
        summary = self.train("--digest")
        stream = json.loads(self.check_run(
            "penstock", "stream", self.manifest, "--servers", "local:", "--global-batch-size", 64,
            "--seed", 3, "--steps", STEPS, "--dtype", "packed", "--split", "train", "--digest",
            "--json").stdout)
        self.assertEqual(summary["digest"], stream["digest"])

    def test_the_plan_may_be_chosen(self):
        plan = ["--lanes", 8, "--window-chunks", 2, "--strip-rows", 5]
        server = self.start_server()
        summary = self.train(*plan, "--digest", "--connections", 2, servers=server.address)
        stream = json.loads(self.check_run(
            "penstock", "stream", self.manifest, "--servers", "local:", "--global-batch-size", 64,
            "--seed", 3, "--steps", STEPS, "--dtype", "packed", "--split", "train", "--digest",
            "--json", *plan).stdout)
        self.assertEqual(summary["digest"], stream["digest"])
        self.assertNotEqual(summary["digest"], self.train("--digest")["digest"])
        self.assert_fails(*self.train_args("--lanes", 0), says=["--lanes"], code=2)
        self.assert_fails(*self.train_args("--connections", 17), says=["--connections"], code=2)

    def test_servers_and_threads_do_not_change_the_weights(self):
        server = self.start_server()
        self.train("--checkpoint-dir", self.folder / "a", "--threads", 1)
        self.train("--checkpoint-dir", self.folder / "b", "--threads", 2, servers=server.address)
        self.assertEqual(self.checkpoint("a"), self.checkpoint("b"))

    def test_a_summary_that_cannot_be_written_is_noticed_at_the_start(self):
        result = run("penstock-train", *self.train_args("--json", self.folder / "no/such.json"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no/such.json", result.stderr)
        self.assertNotIn("step", result.stdout)

    def test_resuming_continues_bit_for_bit(self):
        whole, parts = self.folder / "whole", self.folder / "parts"
        self.train("--checkpoint-dir", whole)
        self.train("--checkpoint-dir", parts, steps=5)
        self.train("--checkpoint-dir", parts)
        self.assertEqual(self.checkpoint("whole"), self.checkpoint("parts"))

    def test_sigterm_saves_and_the_run_can_be_continued(self):
        whole, parts = self.folder / "whole", self.folder / "parts"
        self.train("--checkpoint-dir", whole, steps=40)
        events = self.folder / "events.jsonl"
        child = self.spawn("penstock-train", *self.train_args(
            "--checkpoint-dir", parts, "--events", events, steps=40))
        while not events.exists() or events.read_text().count('"step"') < 3:
            self.assertIsNone(child.poll(), "the training ended before the signal")
            pause()
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
        self.assertEqual(child.returncode, 0)
        self.train("--checkpoint-dir", parts, steps=40)
        self.assertEqual(self.checkpoint("whole"), self.checkpoint("parts"))

    def test_a_cut_checkpoint_is_refused(self):
        folder = self.folder / "cut"
        self.train("--checkpoint-dir", folder)
        last = self.checkpoints("cut")[-1]
        last.write_bytes(last.read_bytes()[:1000])
        self.assert_fails(*self.train_args("--resume", last), says=[last.name], code=1)
        self.assert_fails(*self.train_args("--checkpoint-dir", folder),
                          says=[last.name, "--resume never"], code=1)

    def test_a_damaged_checkpoint_makes_way_for_the_one_before(self):
        whole, parts = self.folder / "whole", self.folder / "parts"
        self.train("--checkpoint-dir", whole)
        self.train("--checkpoint-dir", parts, "--checkpoint-every", 2, steps=6)
        newest, before = self.checkpoints("parts")[:-3:-1]
        newest.write_bytes(newest.read_bytes()[:-1000])
        result = run("penstock-train", *self.train_args("--checkpoint-dir", parts))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(newest.name, result.stderr)
        self.assertIn(f"resuming from {before}", result.stdout)
        self.assertEqual(self.checkpoint("whole"), self.checkpoint("parts"))
        for path in parts.iterdir():
            path.write_bytes(b"nonsense")
        self.assert_fails(*self.train_args("--checkpoint-dir", parts),
                          says=["none of the", str(parts)], code=1)

    def test_without_a_gpu_cuda_is_refused_and_auto_is_the_cpu(self):
        hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}  # One that is there is not seen.
        refused = run("penstock-train", *self.train_args(device="cuda"), env=hidden)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertRegex(refused.stderr, "--device cuda: (this build has no CUDA|there is no "
                                         "(NVIDIA driver|GPU for this process))")
        self.check_run("penstock-train", *self.train_args("--checkpoint-dir", self.folder / "auto",
                                                          device="auto"), env=hidden)
        self.train("--checkpoint-dir", self.folder / "cpu")
        self.assertEqual(self.checkpoint("auto"), self.checkpoint("cpu"))

    def test_wrong_flags_are_named(self):
        self.assert_fails(*self.train_args("--model", "huge"), says=["tiny"], code=2)
        self.assert_fails("--servers", "local:", says=["manifest"], code=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
