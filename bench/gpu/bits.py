"""The stage `bits` of bench/gpu/contact: checks that the GPU trains correctly.

It compares the loss of each step with the CPU's on the same records. It also compares weights, which
must not depend on graphs, on the run, on a stop and resume, on the number of steps launched at once,
or on the number of ranks. A difference is a failure.
"""
import dataclasses
import pathlib
import tempfile

import compare
from training import losses

# Options that must give the same weights as a run with none of them.
SAME_BITS = {"again": (), "no_graph": ("--no-graph",), "steps_per_launch": ("--steps-per-launch", 3)}


class Runs:
    """Short trainings of one model. The plain run is kept, and the others are compared with it."""

    def __init__(self, setting, model, stage, folder):
        self.setting, self.model, self.stage = setting, model, stage
        self.batch, self.steps = setting.sizes.bits[model]
        self.folder = pathlib.Path(folder)
        self.plain = None  # The losses and the checkpoint of the plain run.

    def losses(self, setting, *options, steps=None, ranks=1):
        return losses(setting, self.model, self.batch, steps or self.steps, *options,
                      seconds_left=self.stage.seconds_left, ranks=ranks)

    def weights(self, *options, stop_at=None, ranks=1):
        """Trains, in two runs if `stop_at` is set. Returns (losses of the last run, its checkpoint)."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            args = ("--checkpoint-dir", folder, *options)
            if stop_at:
                self.losses(self.setting, *args, steps=stop_at)
            found = self.losses(self.setting, *args, ranks=ranks)
            return found, compare.Checkpoint(folder)

    def run_plain(self):
        """Trains on the GPU without further options."""
        self.plain = self.weights()
        return {"passed": True, "weights": self.plain[1].hash()}

    def same_bits(self, *options, **how):
        found, weights = self.weights(*options, **how)
        wrong = {"loss": compare.same_losses(found, self.plain[0]),
                 "weight": weights.first_difference(self.plain[1])}
        wrong = {what: place for what, place in wrong.items() if place}
        return {"passed": not wrong, "weights": weights.hash(), **({"first_wrong": wrong} if wrong else {})}


def record(runs, name, run):
    """Runs one comparison and puts its outcome into the stage's file."""
    runs.stage.begin(f"{runs.model} {name}")
    found = compare.outcome(run)
    runs.stage.put(found, "bits", runs.model, name)
    if compare.failed(found):
        runs.stage.fail(f"bits {runs.model} {name}, batch {runs.batch}: {found}")
    else:
        runs.stage.say(f"{runs.model} {name}: {found.get('left_out', 'passed')}")
    return found


def beside_cpu(runs, setting, cpu):
    return compare.losses_beside_cpu(setting, runs.losses(setting), cpu)


def compare_one_rank(runs, variants):
    setting = runs.setting
    fp32 = dataclasses.replace(setting, precision="fp32")
    cpu = record(runs, "cpu", lambda: {"passed": True, "losses": runs.losses(
        dataclasses.replace(fp32, device="cpu"))})
    if cpu.get("passed"):
        record(runs, "fp32_beside_cpu", lambda: beside_cpu(runs, fp32, cpu["losses"]))
        record(runs, f"{setting.precision}_beside_cpu",
               lambda: beside_cpu(runs, setting, cpu["losses"]))
    record(runs, "plain", runs.run_plain)
    if runs.plain is None:
        return
    for name, options in variants.items():
        record(runs, name, lambda options=options: runs.same_bits(*options))
    record(runs, "resumed", lambda: runs.same_bits(stop_at=runs.steps // 2))


def compare_ranks(runs):
    if runs.plain is None:
        return
    for ranks in runs.setting.sizes.ranks:
        record(runs, f"ranks_{ranks}", lambda ranks=ranks: runs.same_bits(ranks=ranks))


def run(setting, stage, variants=None):
    """Compares all models. Ranks that share the GPU come last, because they take longest."""
    with tempfile.TemporaryDirectory(prefix="penstock-bits-") as folder:
        models = [Runs(setting, model, stage, folder) for model in setting.sizes.bits]
        for runs in models:
            compare_one_rank(runs, SAME_BITS if variants is None else variants)
        for runs in models:
            compare_ranks(runs)
