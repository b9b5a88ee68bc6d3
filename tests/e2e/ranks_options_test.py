"""What ranks can be told besides how many they are: as real processes."""

import re
import signal
import unittest

from processes import pause, run
from rank_runs import RanksTestCase, numbers


class ResumeTest(RanksTestCase):
    def test_a_file_before_the_folders_newest_needs_a_new_folder(self):
        folder, other = self.folder / "parts", self.folder / "other"
        self.check_run("penstock-train", *self.train_args("--checkpoint-dir", folder,
                                                          "--checkpoint-every", 4))
        early = folder / "step-000000004.ckpt"
        result = run("penstock-train", *self.train_args("--checkpoint-dir", folder,
                                                        "--resume", early))
        self.assertEqual(result.returncode, 1)
        self.assertIn("is of step 4, but", result.stderr)
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
        self.assertIn("the reduction was deterministic of 2 batches a step, is deterministic",
                      result.stderr)


class LateTest(RanksTestCase):
    def test_every_rank_says_who_is_late(self):
        events = self.folder / "events.jsonl"
        ranks = self.start_ranks(3, "--reduction", "fast", "--late-after", "1s", "--events", events,
                                 steps=10**6)
        self.wait_for_steps(events, 2, ranks)
        ranks[2].process.send_signal(signal.SIGSTOP)
        try:
            late = re.compile(r"rank 2 at step \d+, bucket 0 is late: others wait at "
                              r"step \d+, bucket 0 for 1s or longer")
            for rank in ranks[:2]:
                while not late.search(rank.err):
                    self.assertIsNone(rank.process.poll(), rank.err)
                    pause()
        finally:
            ranks[2].process.send_signal(signal.SIGCONT)
        ranks[0].process.send_signal(signal.SIGTERM)
        self.end_well(ranks)


class DiagnosisTest(RanksTestCase):
    def test_no_allreduce_compares_with_the_normal_run(self):
        ranks = self.start_ranks(2, "--no-allreduce", steps=9)
        self.end_well(ranks)
        self.assertRegex(ranks[0].out, r"diagnosis: normal [0-9,]+ positions/s \(communication .*, "
                                       r"with no exchange of gradients [0-9,]+ positions/s: ")

    def test_no_allreduce_alone_is_a_usage_error(self):
        result = run("penstock-train", *self.train_args("--no-allreduce"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("--no-allreduce compares several ranks", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
