"""Trains the tiny model on chess positions."""

import shutil
import subprocess


class Chess:
    plan = ["--global-batch-size", 256, "--seed", 7]
    epochs = 4
    dtype = "packed"
    training = ["--model", "tiny", "--lr", "1e-3", "--lr-schedule", "cosine", "--warmup-steps", 20,
                # A small look-ahead keeps the servers working all the time, not only at the start.
                "--look-ahead", "2MiB"]
    unit = "positions"

    def __init__(self, args, work):
        self.bin, self.sample = args.bin, args.sample
        self.data = work / "data"

    def prepare(self):
        shutil.copytree(self.sample, self.data)
        subprocess.run([self.bin / "penstock", "index", self.data, "--holdout", "5%"], check=True)

    def quality(self, summary):
        return (f"Held-out loss         {summary['holdout_loss']:.4f}, "
                f"{summary['holdout_below_mean_percent']:.1f} % below predicting the mean "
                f"({summary['holdout_baseline']:.4f})")

    def finish(self):
        return [f"{self.bin}/penstock inspect {self.sample}",
                f"{self.bin}/penstock stream {self.sample} --servers local: --global-batch-size 512",
                f"{self.bin}/penstock-server --data-root {self.sample} --listen 127.0.0.1:7070",
                f"{self.bin}/penstock-train --help"]
