"""Trains a small vision transformer on images.

The images are those of $PENSTOCK_TEST_DATA/data/images, which has a folder for each class. If there
are none, the demo draws patterns.
"""

import os
import pathlib
import shutil
import subprocess

from patterns import draw_patterns

SPEC = "images-train:72"


class Images:
    plan = ["--global-batch-size", 64, "--seed", 7, "--spec", SPEC]
    epochs = 20
    dtype = "i8"
    training = ["--model", "vit-tiny", "--lr", "1e-3", "--lr-schedule", "cosine",
                "--warmup-steps", 40, "--look-ahead", "4MiB"]
    unit = "images"

    def __init__(self, args, work):
        self.bin, self.out, self.work = args.bin, args.out, work
        self.data, self.checkpoints = self.out / "data", self.out / "checkpoints"
        self.sheet, self.matrix = self.out / "contact-sheet.png", self.out / "confusion-matrix.png"
        self.training = [*self.training, "--checkpoint-dir", self.checkpoints]

    def prepare(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        self.run("penstock", "pack", "--from", "folder", self.folder(), "-o", self.data, "--seed", 1)
        self.run("penstock", "index", self.data, "--holdout", "10%")
        self.run("penstock", "inspect", self.data, "--contact-sheet", self.sheet, "--spec", SPEC)

    def folder(self):
        given = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "data/images"
        if os.environ.get("PENSTOCK_TEST_DATA") and given.is_dir():
            return given
        drawn = self.work / "patterns"
        draw_patterns(drawn)
        return drawn

    def quality(self, summary):
        return (f"Held-out accuracy     {100 * summary['holdout_accuracy']:.1f} % over "
                f"{summary['holdout_records']:,} images")

    def finish(self):
        best = self.checkpoints / "best.ckpt"
        self.run("penstock-train", "evaluate", "--checkpoint", best, "--manifest", self.data,
                 "--confusion-matrix", self.matrix)
        print(f"Contact sheet         {self.sheet}")
        print(f"Confusion matrix      {self.matrix}")
        return [f"{self.bin}/penstock inspect {self.data}",
                f"{self.bin}/penstock inspect {self.data} --spec {SPEC} --contact-sheet sheet.html",
                f"{self.bin}/penstock-train predict --checkpoint {best} --image FILE"]

    def run(self, program, *args):
        subprocess.run([str(a) for a in (self.bin / program, *args)], check=True)
