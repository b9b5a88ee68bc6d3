"""Tests penstock-train as a real process: resume, signals, and what it refuses."""

import json
import os
import re
import signal
import unittest

import tfrecord
from processes import pause, run
from servers import BY_TIMEOUT, TIMEOUT_S, wait_until, wait_until_handled
from training import BATCH, STEPS, TrainingTestCase


class TrainTest(TrainingTestCase):
    def test_trains_on_what_the_plan_says(self):
        summary = self.train("--digest")
        stream = json.loads(self.check_run(
            "penstock", "stream", self.manifest, "--servers", "local:", "--global-batch-size", BATCH,
            "--seed", 3, "--steps", STEPS, "--dtype", "packed", "--split", "train", "--digest",
            "--json", "-").stdout)
        self.assertEqual(summary["digest"], stream["digest"])

    def test_stream_reads_as_many_epochs_as_the_steps_of_the_training_need(self):
        data = self.folder / "few"
        data.mkdir()
        (data / "a.tfrecord").write_bytes(
            b"".join(tfrecord.frame(tfrecord.chess_record(i)) for i in range(2 * BATCH)))
        same = [data, "--global-batch-size", BATCH, "--steps", 3, "--digest", "--json", "-"]
        stream = json.loads(self.check_run("penstock", "stream", *same).stdout)
        train = json.loads(self.check_run("penstock-train", *same, "--model", "tiny", "--device",
                                          "cpu").stdout)
        self.assertEqual(stream["steps"], 3)
        self.assertEqual(stream["digest"], train["digest"])

    def test_the_plan_may_be_chosen(self):
        plan = ["--lanes", 8, "--window-chunks", 2, "--strip-rows", 5]
        server = self.start_server()
        summary = self.train(*plan, "--digest", "--connections", 2, servers=server.address)
        stream = json.loads(self.check_run(
            "penstock", "stream", self.manifest, "--servers", "local:", "--global-batch-size", BATCH,
            "--seed", 3, "--steps", STEPS, "--dtype", "packed", "--split", "train", "--digest",
            "--json", "-", *plan).stdout)
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

    def test_a_folder_holds_one_training(self):
        folder = self.folder / "one"
        self.train("--checkpoint-dir", folder, "--resume", "never", steps=2)
        self.assert_fails(*self.train_args("--checkpoint-dir", folder, "--resume", "never", steps=1),
                          says=["never starts at step 0, but", "step-000000002.ckpt is later"], code=1)
        self.assertEqual(len(self.checkpoints("one")), 1)

    def test_a_checkpoint_of_other_data_is_named_with_the_cure(self):
        folder = self.folder / "a"
        self.train("--checkpoint-dir", folder, steps=2)
        self.assert_fails(*self.train_args("--checkpoint-dir", folder, "--lanes", 8),
                          says=[f"resuming from {self.checkpoints('a')[-1]}: the cursor",
                                "or another --checkpoint-dir"], code=1)

    def test_a_best_without_its_training_is_not_replaced(self):
        folder = self.folder / "a"
        args = ["--checkpoint-dir", folder]
        self.train(*args, steps=2)
        kept = self.checkpoints("a")[0].rename(folder / "step-000000002-keep.ckpt")
        best = folder / "best.ckpt"
        before = best.read_bytes()
        for resume in ("auto", "never"):
            self.assert_fails(*self.train_args(*args, "--resume", resume, steps=4),
                              says=[f"{best} would be replaced", "another --checkpoint-dir"], code=1)
        self.assertEqual(best.read_bytes(), before)
        self.train(*args, "--resume", best, steps=4)
        self.assertTrue(kept.exists())

    def train_epoch(self, *args):
        """Returns arguments for one epoch; `args` set the size of a step."""
        return ["--manifest", self.manifest, "--servers", "local:", "--device", "cpu", "--seed", 3,
                "--epochs", 1, "--json", self.folder / "summary.json", *args]

    def test_an_epoch_goes_on_to_its_end_with_larger_steps(self):
        self.manifest = self.pack_few()
        parts = self.folder / "parts"
        self.train("--checkpoint-dir", parts, steps=3)
        result = self.check_run("penstock-train", *self.train_epoch(
            "--checkpoint-dir", parts, "--global-batch-size", 64))
        records = int(re.search(r"([\d,]+) records to train on", result.stdout)[1].replace(",", ""))
        summary = json.loads((self.folder / "summary.json").read_text())
        self.assertIn(f"{records % 64} records of each epoch left out", result.stdout)
        left = records - 3 * BATCH
        self.assertEqual(summary["positions"], left // 64 * 64)
        self.assertEqual(summary["steps"], 3 + left // 64)

    def test_a_step_of_more_batches_than_an_epoch_has_is_refused(self):
        self.assert_fails(*self.train_epoch("--global-batch-size", 256, "--accumulate", 1000),
                          says=["--accumulate 1000: a step needs more batches than the"], code=1)

    def stop_and_go_on(self, number, prefix=()):
        whole, parts = self.folder / "whole", self.folder / "parts"
        events = self.folder / "events.jsonl"
        child = self.spawn("penstock-train", *self.train_args(
            "--checkpoint-dir", parts, "--events", events, steps=10**6), prefix=prefix)
        while not events.exists() or events.read_text().count('"step"') < 3:
            self.assertIsNone(child.poll(), "the training ended before the signal")
            pause()
        child.send_signal(number)
        child.communicate(timeout=TIMEOUT_S)
        self.assertEqual(child.returncode, 0)
        stopped, _ = self.checkpoint("parts")
        for folder in (whole, parts):
            self.train("--checkpoint-dir", folder, steps=stopped["step"] + 4)
        self.assertEqual(self.checkpoint("whole"), self.checkpoint("parts"))

    def test_sigterm_saves_and_the_run_can_be_continued(self):
        self.stop_and_go_on(signal.SIGTERM)

    def test_the_second_signal_of_timeout_lets_it_save(self):
        self.stop_and_go_on(signal.SIGTERM, BY_TIMEOUT)

    def test_a_closed_terminal_lets_it_save(self):
        self.stop_and_go_on(signal.SIGHUP)

    def test_what_a_signal_stops_ends_with_the_code_asked_for(self):
        events = self.folder / "events.jsonl"
        child = self.spawn("penstock-train", *self.train_args(
            "--events", events, "--stopped-exit-code", 75, steps=10**6))
        wait_until(lambda: events.exists() and '"step"' in events.read_text(), "a step")
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=TIMEOUT_S)
        self.assertEqual(child.returncode, 75)
        # The training was not stopped.
        self.assertEqual(self.train("--stopped-exit-code", 75, steps=1)["steps"], 1)

    def stop_before_the_first_step(self, number, *args):
        """Returns the exit code of a rank that is stopped while it waits for another one."""
        child = self.spawn("penstock-train", *self.train_args(
            "--rank", 0, "--world-size", 2, "--rendezvous", "127.0.0.1:0", *args))
        wait_until_handled(child, signal.SIGTERM)
        child.send_signal(number)
        _, err = child.communicate(timeout=TIMEOUT_S)
        self.assertIn("interrupted before the first step", err)
        return child.returncode

    def test_a_signal_before_the_first_step_is_no_other_than_one_after_it(self):
        self.assertEqual(self.stop_before_the_first_step(signal.SIGTERM), 0)
        self.assertEqual(self.stop_before_the_first_step(signal.SIGINT), 130)
        self.assertEqual(
            self.stop_before_the_first_step(signal.SIGTERM, "--stopped-exit-code", 75), 75)

    def test_a_cut_checkpoint_is_refused(self):
        folder = self.folder / "cut"
        self.train("--checkpoint-dir", folder)
        last = self.checkpoints("cut")[-1]
        last.write_bytes(last.read_bytes()[:1000])
        self.assert_fails(*self.train_args("--resume", last), says=[last.name], code=1)
        self.assert_fails(*self.train_args("--checkpoint-dir", folder),
                          says=[last.name, "another --checkpoint-dir"], code=1)

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
        hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}  # Hides any GPU.
        refused = run("penstock-train", *self.train_args(device="cuda"), env=hidden)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertRegex(refused.stderr, "--device cuda: (this build has no CUDA|there is no "
                                         "(NVIDIA driver|GPU for this process))")
        auto = self.check_run("penstock-train", *self.train_args(
            "--checkpoint-dir", self.folder / "auto", "--no-graph", device="auto"), env=hidden)
        self.assertIn("--no-graph has no effect, because this training runs on the CPU", auto.stderr)
        self.train("--checkpoint-dir", self.folder / "cpu")
        self.assertEqual(self.checkpoint("auto"), self.checkpoint("cpu"))

    def test_wrong_flags_are_named(self):
        self.assert_fails(*self.train_args("--model", "huge"), says=["tiny"], code=2)
        self.assert_fails("--servers", "local:", says=["manifest"], code=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
