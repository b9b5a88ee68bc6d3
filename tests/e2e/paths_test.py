"""Tests paths that lead nowhere: the error names the option, the path and what to do, before any
work is done."""

import unittest

from processes import run
from training import TrainingTestCase

FEN = "8/8/8/8/8/4k3/8/4K3 w - - 0 1"


class PathsTest(TrainingTestCase):
    def setUp(self):
        super().setUp()
        self.none = self.folder / "none"

    def refused(self, program, *args):
        """Returns the message of a program that refuses to work."""
        result = run(program, *args)
        self.assertEqual(result.returncode, 1, (program, args, result.stdout, result.stderr))
        self.assertEqual(result.stdout, "", (program, args))
        return result.stderr

    def test_a_dataset_that_is_not_there_is_named_with_what_to_give(self):
        says = f"DATASET (or --manifest): {self.none}: No such file or directory; give a folder"
        for args in (["bench"], ["stream"], ["which", "--step", 0], ["inspect"],
                     ["decode", "-o", self.folder / "arrays"]):
            for dataset in ([self.none], ["--manifest", self.none]):
                with self.subTest(args[0], dataset=dataset):
                    self.assertIn(says, self.refused("penstock", *args, *dataset))
        self.assertIn(says, self.refused("penstock-train", *self.train_args("--manifest", self.none)))

    def test_inputs_that_are_not_there_are_named_with_what_to_give(self):
        output = self.folder / "output"
        for args in (["index"], ["pack", "--from", "csv", "-o", output], ["pack", "-o", output]):
            with self.subTest(args):
                self.assertIn(f"INPUTS: {self.none}: No such file or directory; give ",
                              self.refused("penstock", *args, self.none))

    def test_a_checkpoint_that_is_not_there_is_named_with_what_to_give(self):
        self.assertIn(f"--resume: {self.none}: No such file or directory; give auto, never or ",
                      self.refused_training("--resume", self.none))
        for args in (["evaluate", self.manifest], ["predict", "--fen", FEN],
                     ["predict", self.manifest, "-o", self.folder / "p.npz"],
                     ["export", "-o", self.folder / "w.safetensors"]):
            with self.subTest(args):
                self.assertIn(
                    f"--checkpoint: {self.none}: No such file or directory; give a checkpoint",
                    self.refused("penstock-train", *args, "--checkpoint", self.none))

    def refused_training(self, *args):
        result = run("penstock-train", *self.train_args(*args))
        self.assertEqual(result.returncode, 1, result.stderr)
        return result.stderr


if __name__ == "__main__":
    unittest.main(verbosity=2)
