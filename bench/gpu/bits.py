"""The stage `bits` of bench/gpu/contact: checks that the GPU trains correctly.

It compares the loss of each step with the CPU's on the same records. It also compares weights, which
must not depend on graphs, on the run, on a stop and resume, on the number of steps launched at once,
or on the number of ranks. A difference is a failure.
"""
import dataclasses
import pathlib
import tempfile

import compare
from training import LeftOut, losses_of, trained

STEPS_PER_LAUNCH = 2
# Two groups of batches take turns, and each has a graph of its own. The first use of each runs its
# operations one by one, and the second captures and launches the graph. So with five launches, at least
# one of the graphs is launched twice.
LEAST_LAUNCHES = 5


def launches_of(found, steps):
    """Returns how often so many steps were launched at once. Raises LeftOut if that is unknown."""
    if "device" not in found:
        notes = [line for line in found["output"].splitlines() if "--profile-steps: " in line]
        raise LeftOut(" ".join(["how many steps were launched at once is unknown", *notes])[:400])
    return sum(launch["steps"] == steps for launch in found["device"]["steps"])


class Runs:
    """Short trainings of one model. The plain run is kept, and the others are compared with it."""

    def __init__(self, setting, model, stage, folder):
        self.setting, self.model, self.stage = setting, model, stage
        self.batch, self.steps, self.cpu_steps = setting.sizes.bits[model]
        self.folder = pathlib.Path(folder)
        self.plain = None  # The losses and the checkpoint of the plain run.

    def trained(self, setting, *options, steps, ranks=1):
        return trained(setting, self.model, self.batch, steps, *options,
                       seconds_left=self.stage.seconds_left, ranks=ranks)

    def losses(self, setting):
        """Returns the losses of the steps that are compared with the CPU's."""
        return losses_of(self.trained(setting, steps=self.cpu_steps))

    def weights(self, *options, stop_at=None, ranks=1):
        """Trains, in two runs if `stop_at` is set. Returns (summary of the last run, its checkpoint)."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            args = ("--checkpoint-dir", folder, *options)
            if stop_at:
                self.trained(self.setting, *args, steps=stop_at)
            found = self.trained(self.setting, *args, steps=self.steps, ranks=ranks)
            return found, compare.Checkpoint(folder)

    def run_plain(self):
        """Trains on the GPU without further options."""
        found, weights = self.weights()
        self.plain = losses_of(found), weights
        return {"passed": True, "weights": weights.hash()}

    def beside_plain(self, found, weights):
        wrong = {"loss": compare.same_losses(losses_of(found), self.plain[0]),
                 "weight": weights.first_difference(self.plain[1])}
        wrong = {what: place for what, place in wrong.items() if place}
        return {"passed": not wrong, "weights": weights.hash(), **({"first_wrong": wrong} if wrong else {})}

    def same_bits(self, *options, **how):
        return self.beside_plain(*self.weights(*options, **how))

    def same_bits_in_launches(self):
        """Launches several steps at once. The run fails if no graph was launched twice, because it then
        compared nothing."""
        least = LEAST_LAUNCHES * STEPS_PER_LAUNCH
        if self.steps < least:
            raise LeftOut(f"{self.steps} steps are too few: at least {least} are needed")
        found, weights = self.weights("--steps-per-launch", STEPS_PER_LAUNCH, "--profile-steps",
                                      f"1:{self.steps + 1}")
        outcome = self.beside_plain(found, weights)
        if not outcome["passed"]:
            return outcome
        launches = launches_of(found, STEPS_PER_LAUNCH)
        if launches < LEAST_LAUNCHES:
            return {"passed": False, "error": f"{launches} launches of {STEPS_PER_LAUNCH} steps in "
                    f"{self.steps} steps: at least {LEAST_LAUNCHES} are needed"}
        return {**outcome, "launches": launches}


# Runs that must have the same weights as the plain one.
VARIANTS = {"again": Runs.same_bits, "no_graph": lambda runs: runs.same_bits("--no-graph"),
            "steps_per_launch": Runs.same_bits_in_launches}


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
    for name, variant in variants.items():
        record(runs, name, lambda variant=variant: variant(runs))
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
            compare_one_rank(runs, VARIANTS if variants is None else variants)
        for runs in models:
            compare_ranks(runs)
