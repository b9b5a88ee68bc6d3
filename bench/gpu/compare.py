"""Compares losses and weights. A difference names its place and both values."""
import array
import hashlib
import json
import math
import pathlib
import struct

from training import LeftOut, SEED

# Maximum relative difference of a step's loss. In bf16 it comes from rounding, amplified by AdamW.
# In fp32 only the order of additions differs: two libraries for the CPU's products are 5e-8 apart.
MOST_DIFFERENCE = {"fp32": 1e-4, "bf16": 0.03}
KINDS = ("parameter", "m", "v")
BLOCK = 1 << 20  # Number of bytes that are compared at a time.
COUNTED_BLOCKS = 32  # Number of blocks in which differences are counted. Python takes 0.1 s for each.


def relative(a, b):
    """Returns the difference relative to `b`; infinite if one of the two is not finite."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    if a == b:
        return 0.0
    return abs(a - b) / abs(b) if b else math.inf


def losses_beside_cpu(setting, ours, cpu):
    """Compares each of `ours` with the CPU's loss of the same step, and names the first that is too
    far away."""
    most = MOST_DIFFERENCE[setting.precision]
    differences = [relative(a, b) for a, b in zip(ours, cpu)]
    found = {"passed": bool(ours) and max(differences) <= most,
             "largest_relative_difference": max(differences, default=None), "at_most": most}
    for step, difference in enumerate(differences, 1):
        if difference > most:
            found["first_wrong"] = {"seed": SEED, "step": step, "loss": ours[step - 1],
                                    "cpu": cpu[step - 1], "relative": difference}
            break
    return found


def same_losses(losses, plain):
    """Returns None, or the first step whose loss has other bits. `losses` are those of the last steps."""
    before = len(plain) - len(losses)
    for step, (ours, theirs) in enumerate(zip(losses, plain[before:], strict=True), before + 1):
        if ours != theirs:
            return {"seed": SEED, "step": step, "loss": ours, "plain": theirs}
    return None


class Checkpoint:
    """The parameters and moments of a folder's newest checkpoint."""

    def __init__(self, folder):
        newest = sorted(pathlib.Path(folder).glob("step-*.ckpt"))[-1]
        data = newest.read_bytes()
        _, _, json_size, size = struct.unpack_from("<8sIIQ", data)
        self.step = newest.stem
        self.facts = json.loads(data[24:24 + json_size])
        self.numbers = memoryview(data)[24 + json_size:24 + json_size + size]

    def hash(self):
        return hashlib.sha256(self.numbers).hexdigest()

    def name_of(self, index):
        """Returns (kind, parameter, index within the parameter) of the number at `index`."""
        count = len(self.numbers) // 4 // len(KINDS)
        kind, index = KINDS[index // count], index % count
        for parameter in self.facts["parameters"]:
            size = math.prod(parameter["shape"])
            if index < size:
                return kind, parameter["name"], index
            index -= size
        raise IndexError(index)

    def first_difference(self, other):
        """Returns the first number whose bits are not those of `other`, and how many differ at least; or
        None."""
        if self.step != other.step or len(self.numbers) != len(other.numbers):
            return {"checkpoint": self.step, "plain_checkpoint": other.step}
        first, count, blocks = None, 0, 0
        for begin in range(0, len(self.numbers), BLOCK):
            # Comparing bytes takes two thirds of the time of comparing memoryviews, with this copy.
            ours, theirs = (bytes(numbers[begin:begin + BLOCK])
                            for numbers in (self.numbers, other.numbers))
            if ours == theirs:
                continue
            blocks += 1
            if blocks > COUNTED_BLOCKS:
                break
            words = array.array("I", ours), array.array("I", theirs)
            places = [i for i, (a, b) in enumerate(zip(*words)) if a != b]
            count += len(places)
            first = begin // 4 + places[0] if first is None else first
        if first is None:
            return None
        kind, name, index = self.name_of(first)
        value, plain = (struct.unpack_from("<f", one.numbers, 4 * first)[0] for one in (self, other))
        return {"seed": SEED, "checkpoint": self.step, "kind": kind, "name": name, "index": index,
                "value": value, "plain": plain, "differ_at_least": count}


def outcome(compare):
    """Returns the result of `compare`, with "passed"; or why it was left out, which does not count as
    passed."""
    try:
        return compare()
    except LeftOut as why:
        return {"left_out": str(why)}
    except RuntimeError as error:
        return {"passed": False, "error": str(error)}


def failed(found):
    """Returns whether an outcome is a failure. One that was left out is none."""
    return not found.get("passed", "left_out" in found)
