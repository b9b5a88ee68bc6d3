"""Checks that the GPU trains correctly: the part `bits` of bench/gpu/run.

It compares the loss of each step with the CPU's on the same records. It also compares weights, which
must not depend on graphs, on the run, on a stop and resume, on the number of steps launched at once,
or on the number of ranks. A difference is a failure.
"""
import dataclasses
import hashlib
import pathlib
import struct
import tempfile

from training import LeftOut, train

# Batch and steps of each model. They are small, because the CPU trains the same.
MODELS = {"tiny": (512, 12), "default": (64, 6), "large": (16, 4)}
# Options that must give the same weights as a run with none of them.
SAME_BITS = {"again": (), "no_graph": ("--no-graph",), "steps_per_launch": ("--steps-per-launch", 3)}
RANKS = {f"ranks_{ranks}": ranks for ranks in (2, 4, 8)}
# Options that make the loss smooth. One that jumps would amplify rounding.
GENTLY = ("--seed", 5, "--clip-norm", 1, "--lr", 1e-4, "--warmup-steps", 10)
# Maximum relative difference of a step's loss. In bf16 it comes from rounding, amplified by AdamW.
# In fp32 only the order of additions differs: two libraries for the CPU's products are 5e-8 apart.
MOST_DIFFERENCE = {"fp32": 1e-4, "bf16": 0.03}


def weights_hash(folder):
    """SHA-256 of the parameters and moments of a folder's newest checkpoint, and its step."""
    newest = sorted(pathlib.Path(folder).glob("step-*.ckpt"))[-1]
    data = newest.read_bytes()
    _, _, json_size, size = struct.unpack_from("<8sIIQ", data)
    return newest.stem, hashlib.sha256(data[24 + json_size:24 + json_size + size]).hexdigest()


class Runs:
    """Short trainings of one model."""

    def __init__(self, setting, model, seconds_left):
        self.setting, self.model, self.seconds_left = setting, model, seconds_left
        self.batch, self.steps = MODELS[model]

    def losses(self, setting, *options, steps=None, ranks=1):
        """The loss of each step. Raises LeftOut, or RuntimeError if the training failed."""
        found = train(setting, self.model, self.batch, steps or self.steps, *GENTLY, *options,
                      seconds_left=self.seconds_left, ranks=ranks)
        if "left_out" in found:
            raise LeftOut(found["left_out"])
        if "failed" in found:
            raise RuntimeError(found["failed"])
        return [step["loss"] for step in found["step_events"]]

    def weights(self, *options, stop_at=None, ranks=1):
        """(losses of the last run, (step, hash)) of a training; in two runs if `stop_at` is set."""
        with tempfile.TemporaryDirectory(prefix="penstock-bits-") as folder:
            args = ("--checkpoint-dir", folder, *options)
            if stop_at:
                self.losses(self.setting, *args, steps=stop_at)
            losses = self.losses(self.setting, *args, ranks=ranks)
            return losses, weights_hash(folder)


def difference(ours, theirs):
    """The largest relative difference of a step's loss."""
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))


def outcome(compare):
    """The result of `compare`, with "passed"; or why it was left out, which does not count as passed."""
    try:
        return compare()
    except LeftOut as why:
        return {"left_out": str(why)}
    except RuntimeError as error:
        return {"passed": False, "error": str(error)}


def beside_cpu(runs, cpu, setting):
    """Compares the losses of `setting` with the CPU's in fp32."""
    found = difference(runs.losses(setting), cpu)
    most = MOST_DIFFERENCE[setting.precision]
    return {"passed": found <= most, "largest_relative_difference": found, "at_most": most}


def same_bits(runs, plain, *options, **how):
    losses, weights = runs.weights(*options, **how)
    same = weights == plain[1] and losses == plain[0][-len(losses):]
    return {"passed": same, "weights": weights[1]}


def compare_model(setting, model, seconds_left, variants):
    """{comparison: {"passed": ...}} of one model."""
    runs = Runs(setting, model, seconds_left)
    fp32 = dataclasses.replace(setting, precision="fp32")
    cpu = dataclasses.replace(fp32, device="cpu")
    found = {}
    first = outcome(lambda: {"passed": True, "cpu": runs.losses(cpu), "plain": runs.weights()})
    if not first.get("passed"):
        return {"runs": first}
    expected, plain = first["cpu"], first["plain"]
    found["fp32_beside_cpu"] = outcome(lambda: beside_cpu(runs, expected, fp32))
    found[f"{setting.precision}_beside_cpu"] = outcome(lambda: beside_cpu(runs, expected, setting))
    for name, options in variants.items():
        found[name] = outcome(lambda options=options: same_bits(runs, plain, *options))
    for name, ranks in RANKS.items():
        found[name] = outcome(lambda ranks=ranks: same_bits(runs, plain, ranks=ranks))
    found["resumed"] = outcome(lambda: same_bits(runs, plain, stop_at=runs.steps // 2))
    return found


def compare_all(setting, seconds_left, variants=None):
    """{model: its comparisons}, and whether all passed. Models without enough time are "left_out"."""
    results, passed = {}, True
    for model in MODELS:
        if seconds_left() < 20:
            results[model] = {"left_out": "out of time"}
            continue
        found = compare_model(setting, model, seconds_left, SAME_BITS if variants is None else variants)
        results[model] = found
        failed = [name for name, one in found.items() if not one.get("passed", "left_out" in one)]
        passed &= not failed
        print(f"bits {model}: {'FAILED: ' + ', '.join(failed) if failed else 'passed'}", flush=True)
    return results, passed
