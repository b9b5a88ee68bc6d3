"""Tests options of ranks other than their number, as real processes."""

import json
import re
import signal
import unittest

from processes import pause, run
from rank_runs import RanksTestCase, newest, numbers
from training import BATCH


class ResumeTest(RanksTestCase):
    def test_a_file_before_the_folders_newest_needs_a_new_folder(self):
        folder, other = self.folder / "parts", self.folder / "other"
        self.check_run("penstock-train", *self.train_args("--checkpoint-dir", folder,
                                                          "--checkpoint-every", 4))
        early = folder / "step-000000004.ckpt"
        result = run("penstock-train", *self.train_args("--checkpoint-dir", folder,
                                                        "--resume", early))
        self.assertEqual(result.returncode, 1)
        self.assertIn("starts at step 4, but", result.stderr)
        self.assertIn("step-000000012.ckpt is later", result.stderr)
        self.check_run("penstock-train", *self.train_args("--checkpoint-dir", other,
                                                          "--resume", early))
        self.assertEqual(numbers(self.newest("other")), numbers(self.newest("parts")))


class AccumulateTest(RanksTestCase):
    def test_batches_of_a_step_give_the_same_bits_at_any_world_size(self):
        args = ["--accumulate", 2, "--checkpoint-dir"]
        self.check_run("penstock-train", *self.train_args(*args, self.folder / "one", steps=6))
        self.end_well(self.start_ranks(2, *args, self.folder / "two", steps=6))
        self.assertEqual(numbers(self.newest("one")), numbers(self.newest("two")))
        result = run("penstock-train", *self.train_args(
            "--checkpoint-dir", self.folder / "one", "--require-same-bits", steps=8))
        self.assertEqual(result.returncode, 1)
        self.assertIn("--accumulate was 2 and is now 1", result.stderr)
        self.end_well(self.start_ranks(2, *args, self.folder / "one", "--require-same-bits",
                                       steps=8))


class RemainderTest(RanksTestCase):
    def setUp(self):
        super().setUp()
        self.few = self.pack_few()

    def train_alone(self, *args, steps=10**6):
        return self.check_run("penstock-train", *self.train_args(*args, steps=steps,
                                                                 manifest=self.few)).stdout

    def check_remainder(self, remainder):
        summary = self.folder / "summary.json"
        plan = ["--remainder", remainder, "--epochs", 2]
        args = [*plan, "--json", summary, "--checkpoint-dir"]
        one, four, parts = (self.folder / f"{remainder}-{name}" for name in ("one", "four", "parts"))
        out = self.train_alone(*args, one, "--digest")
        records = int(re.search(r"(\d+) records to train on", out)[1])
        self.assertNotEqual(records % BATCH, 0)
        self.assertNotIn("left out", out)
        trained = json.loads(summary.read_text())
        self.assertEqual(trained["positions"], 2 * records)
        read = json.loads(self.check_run(
            "penstock", "stream", self.few, "--seed", 3, "--global-batch-size", BATCH, "--dtype",
            "packed", "--split", "train", "--digest", "--json", "-", *plan).stdout)
        self.assertEqual(trained["digest"], read["digest"])
        self.end_well(self.start_ranks(4, *args, four, steps=10**6,
                                       manifest=lambda rank: self.few))
        self.assertEqual(numbers(newest(four)), numbers(newest(one)))
        # The folder has everything except the end of the first epoch.
        self.train_alone(*args, parts, steps=records // BATCH)
        self.train_alone(*args, parts)
        self.assertEqual(numbers(newest(parts)), numbers(newest(one)))

    def test_an_epochs_end_has_the_same_bits_at_any_world_size_and_after_a_resume(self):
        for remainder in ("short", "carry"):
            self.check_remainder(remainder)

    def test_ranks_must_agree(self):
        ranks = self.start_ranks(2, own=lambda rank: ["--remainder", ("drop", "carry")[rank]])
        for rank in ranks:
            self.assertEqual(rank.wait(), 1)
            self.assertIn('--remainder is "drop" on rank 0 and "carry" on rank 1', rank.err)


class DivergenceTest(RanksTestCase):
    def test_all_ranks_stop_at_the_same_step_and_list_their_records(self):
        folder = self.folder / "parts"
        ranks = self.start_ranks(2, "--checkpoint-dir", folder, "--lr", 1e30)
        self.assertEqual([rank.wait() for rank in ranks], [1, 1])
        reports = sorted(folder.glob("diverged-step-*.json"), key=lambda path: len(path.name))
        self.assertEqual(len(reports), 2, ranks[0].err + ranks[1].err)
        for rank, path in zip(ranks, reports):
            self.assertIn(str(path), rank.err)
        first, second = (json.loads(path.read_text()) for path in reports)
        self.assertEqual(first["step"], second["step"])
        which = json.loads(self.check_run(
            "penstock", "which", self.manifest, "--global-batch-size", BATCH, "--seed", 3, "--split",
            "train", "--step", first["step"], "--json", "-").stdout)
        self.assertEqual([(row["shard"], row["record"]) for row in first["rows"] + second["rows"]],
                         [(row["shard"], row["record"]) for row in which["rows"]])
        self.assertEqual(list(folder.glob("step-*.ckpt")), [])


class LateTest(RanksTestCase):
    def test_every_rank_says_who_is_late(self):
        events = self.folder / "events.jsonl"
        ranks = self.start_ranks(3, "--reduction", "fast", "--late-after", "1s", "--events", events,
                                 steps=10**6)
        self.wait_for_steps(events, 2, ranks)
        ranks[2].process.send_signal(signal.SIGSTOP)
        try:
            late = re.compile(r"rank 2 at step \d+, bucket \d+ (is|are) late: others wait at "
                              r"step \d+, bucket \d+ for 1s or longer")
            for rank in ranks[:2]:
                # The rank also reports its own activity.
                while not (late.search(rank.err) and
                           re.search(r"here step \d+ took .*; since then .*, now in ", rank.err)):
                    self.assertIsNone(rank.process.poll(), rank.err)
                    pause()
        finally:
            ranks[2].process.send_signal(signal.SIGCONT)
        ranks[0].process.send_signal(signal.SIGTERM)
        self.end_well(ranks)


class BucketTest(RanksTestCase):
    def test_buckets_travel_on_a_track_of_their_own_and_change_no_bit(self):
        trace = self.folder / "trace.json"
        for name, args in [("whole", ["--bucket-size", 0]),
                           ("cut", ["--bucket-size", "64KiB", "--profile-steps", "2:4",
                                    "--profile-file", trace])]:
            self.end_well(self.start_ranks(2, "--reduction", "fast", "--checkpoint-dir",
                                           self.folder / name, *args))
        self.assertEqual(numbers(newest(self.folder / "whole")),
                         numbers(newest(self.folder / "cut")))
        for rank, file in enumerate([trace, self.folder / "trace.rank1.json"]):
            events = json.loads(file.read_text())["traceEvents"]
            self.assertEqual({event["pid"] for event in events}, {rank + 1})
            track = next(event["tid"] for event in events if event["name"] == "thread_name"
                         and event["args"]["name"] == "exchange between ranks")
            spans = [event["name"] for event in events
                     if event["ph"] == "X" and event["tid"] == track]
            self.assertGreater(len(spans), 2 * 4)
            self.assertEqual(spans, 2 * [f"bucket {i}" for i in range(len(spans) // 2)])

    def test_every_rank_looks_at_its_trace_file_before_the_first_step(self):
        (self.folder / "trace.rank1.json").mkdir()
        ranks = self.start_ranks(2, "--profile-steps", "2:4", "--profile-file",
                                 self.folder / "trace.json", steps=10**6)
        for rank in ranks:
            self.assertEqual(rank.wait(), 1)
            self.assertIn("trace.rank1.json", rank.err)

    def test_sizes_must_agree(self):
        ranks = self.start_ranks(2, own=lambda rank: ["--bucket-size", f"{rank + 1}MiB"])
        for rank in ranks:
            self.assertEqual(rank.wait(), 1)
            self.assertIn("--bucket-size", rank.err)


class DiagnosisTest(RanksTestCase):
    def test_no_allreduce_compares_with_the_normal_run(self):
        ranks = self.start_ranks(2, "--no-allreduce", steps=9)
        self.end_well(ranks)
        self.assertRegex(ranks[0].out, r"diagnosis: normal [0-9,]+/s \(communication .*, "
                                       r"with no exchange of gradients [0-9,]+/s, ")

    def test_no_allreduce_alone_is_a_usage_error(self):
        result = run("penstock-train", *self.train_args("--no-allreduce"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("--no-allreduce needs at least two ranks", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
