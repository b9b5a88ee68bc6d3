"""Tests paths that lead nowhere: the error names the option, the path and what to do, before any
work is done."""

import json
import os
import unittest

from processes import run
from training import TrainingTestCase

FEN = "8/8/8/8/8/4k3/8/4K3 w - - 0 1"
MAKE_FOLDER = "No such file or directory; make its folder first, or give another path"


class PathsTest(TrainingTestCase):
    def setUp(self):
        super().setUp()
        self.none = self.folder / "none"
        self.nowhere = self.none / "out"
        self.text = self.folder / "text"
        self.text.write_text("data of a user")

    def refused(self, program, *args):
        """Returns the message of a program that refuses to work."""
        result = run(program, *args)
        self.assertEqual(result.returncode, 1, (program, args, result.stdout, result.stderr))
        self.assertEqual(result.stdout, "", (program, args))
        return result.stderr

    def commands_with(self, option):
        """Returns the names of the commands that have the option."""
        names = set()
        for program in ("penstock", "penstock-train"):
            self.check_run(program, "--write-shell-files", self.folder / "share")
            pages = json.loads((self.folder / f"share/penstock/{program}.json").read_text())
            names |= {page["name"] for page in pages
                      if any(option in row["names"] for group in page["groups"]
                             for row in group["options"])}
        return names

    def test_every_command_tries_the_file_of_json_before_its_work(self):
        packed = self.folder / "packed"
        checkpoint = ["--checkpoint", self.none]
        commands = {
            "penstock bench": [self.manifest, "--seconds", 3600],
            "penstock index": [self.data, "-o", self.folder / "data/new.pb"],
            "penstock inspect": [self.data],
            "penstock pack": [self.data, "-o", packed, "--from", "tfrecord"],
            "penstock size": ["--rows-per-second", 1000, "--server-cpu", 1],
            "penstock stream": [self.manifest],
            "penstock top": ["--servers", self.reserve_address()],
            "penstock which": [self.manifest, "--step", 0],
            "penstock-train": self.train_args(steps=10**6),
            "penstock-train evaluate": [*checkpoint, self.manifest],
            "penstock-train predict": [*checkpoint, "--fen", FEN],
            "penstock-train products": []}
        self.assertEqual(set(commands), self.commands_with("--json"))
        for name, args in commands.items():
            for file, says in ((self.nowhere, f"--json: {self.nowhere}: {MAKE_FOLDER}"),
                               (self.text, f"--json: {self.text} exists and is not JSON")):
                with self.subTest(name, file=file):
                    self.assertIn(says, self.refused(*name.split(), *args, "--json", file))
        self.assertFalse((self.folder / "data/new.pb").exists())
        self.assertFalse(packed.exists())
        self.assertEqual(self.text.read_text(), "data of a user")

    def test_every_command_tries_its_output_before_its_work(self):
        checkpoint = ["--checkpoint", self.none]
        commands = {
            "penstock chess generate": ["-n", 10**6],
            "penstock decode": [self.manifest],
            "penstock index": [self.data],
            "penstock pack": [self.data, "--from", "tfrecord"],
            "penstock-train export": checkpoint,
            "penstock-train predict": [*checkpoint, self.manifest]}
        self.assertEqual(set(commands), self.commands_with("-o"))
        for name, args in commands.items():
            makes_folders = name in ("penstock decode", "penstock pack")
            file = self.text / "below" if makes_folders else self.nowhere
            says = (f"-o: {self.text}: is not a folder" if makes_folders
                    else f"-o: {file}: {MAKE_FOLDER}")
            with self.subTest(name):
                self.assertIn(says, self.refused(*name.split(), *args, "-o", file))
        archive = f"{self.nowhere}.npz"
        self.assertIn(f"-o: {archive}: {MAKE_FOLDER}",
                      self.refused("penstock", "decode", self.manifest, "-o", archive))
        for program, option, *args in (
                ("penstock", "--contact-sheet", "inspect", self.data),
                ("penstock-train", "--confusion-matrix", "evaluate", *checkpoint, self.manifest)):
            picture = f"{self.nowhere}.png"
            self.assertIn(f"{option}: {picture}: {MAKE_FOLDER}",
                          self.refused(program, *args, option, picture))

    def test_a_dataset_that_is_not_there_is_named_with_what_to_give(self):
        says = f"dataset: {self.none}: No such file or directory; give a folder"
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

    def test_the_folder_of_a_manifest_is_named_in_full(self):
        result = run("penstock", "index", self.data, "-o", "m.pb", cwd=self.address_files)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"is outside {os.path.realpath(self.address_files)}, the folder of the manifest",
                      result.stderr)

    def test_a_file_of_another_kind_is_told_with_the_option_that_names_it(self):
        told = self.refused("penstock", "pack", self.text, "-o", self.folder / "packed")
        self.assertIn("text:1: no tab between FEN and score; if the file does not hold chess "
                      "positions, name its kind, such as --from csv", told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
