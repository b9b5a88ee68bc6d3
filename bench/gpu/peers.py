"""The stage `peers` of bench/gpu/contact: the same models in PyTorch, in each mode of torch.compile with
each backend of SDPA.

All combinations together take longer than a stage, mostly for compiling. So each model with one backend
is a process of its own, and the next run of the stage continues after those that are done.
"""
import json
import os

import machine
import processes
from training import PRECISION

MODELS = ("tiny", "default", "large")
BACKENDS = ("auto", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH")
# A process for each. Its name is a model and a backend.
NAMES = [f"{model} {backend}" for backend in BACKENDS for model in MODELS]
KEPT = "peers_kept.json"  # Not peers.json, which is the file of the stage.
LEAST = 45  # Time in seconds that compiling one combination may take.


def best(found):
    """Returns the fastest combination, or None."""
    measured = [one for one in found if "positions_per_second" in one]
    return max(measured, key=lambda one: one["positions_per_second"], default=None)


def bests(found):
    """Returns the fastest combination of each model."""
    return {model: best([one for one in found if one["model"] == model]) for model in MODELS}


def whole(result):
    return "all" in result and not result["incomplete"]


def summary(measured):
    """Returns the combinations of all processes, the best of each model, and whether some are missing."""
    combinations = [one for result in measured.values() for one in result["all"]]
    return {"precision": PRECISION, "torch": next((r["torch"] for r in measured.values()), ""),
            "incomplete": not all(whole(measured.get(name, {})) for name in NAMES),
            "best": bests(combinations), "all": combinations}


class Kept:
    """What was measured on this kind of device, as {name: result}. It is in --state for the next run
    here, and in --out for one on another machine. A run there may be given that --out."""

    def __init__(self, contact):
        self.device = contact.stage.found.get("device", "")
        self.paths = [folder / KEPT for folder in (contact.state, contact.stage.out)]
        self.measured = next(filter(None, map(self._read, self.paths)), {})

    def _read(self, path):
        """Returns {} without a whole file, or if the file is of another device."""
        kept = processes.json_of(path) or {}
        return kept.get("measured", {}) if kept.get("device") == self.device else {}

    def put(self, name, result):
        self.measured[name] = result
        for path in self.paths:
            draft = path.with_suffix(".part")
            draft.write_text(json.dumps({"device": self.device, "measured": self.measured}))
            os.replace(draft, path)


def measure(contact, model, backend, seconds):
    """Returns what twin_speed.py measured within these seconds, or why it measured nothing."""
    file = contact.state / "twin.json"
    file.unlink(missing_ok=True)
    ended = processes.run(
        [contact.python, contact.root / "bench" / "peers" / "twin_speed.py", "--device", "cuda",
         "--precision", PRECISION, "--models", model, "--backends", backend, "--budget",
         max(seconds - LEAST, 1), "--json", file], seconds, contact.stage.log)
    found = processes.json_of(file)
    return found or {"failed": f"twin_speed.py wrote no result: {processes.last_words(ended.output)}"}


def run(contact):
    stage = contact.stage
    if not machine.has_torch(contact.python):
        stage.put({"left_out": f"{contact.python} has no PyTorch (--python)"}, "peers")
        stage.say(f"peers: left out, {contact.python} has no PyTorch (--python)")
        return
    kept = Kept(contact)
    for name in NAMES:
        if whole(kept.measured.get(name, {})) or stage.seconds_left() < LEAST + 15:
            continue
        stage.begin(name)
        result = measure(contact, *name.split(), stage.seconds_left() - 5)
        if "failed" in result:
            stage.fail(f"peers {name}: {result['failed']}")
            continue
        kept.put(name, result)
        stage.put(summary(kept.measured), "peers")
        stage.say(f"{name}: {best(result['all'])}")
    found = summary(kept.measured) if kept.measured else {"left_out": "out of time"}
    stage.put(found, "peers")
    if found.get("incomplete", True):
        stage.say("peers: run the stage again to measure the other combinations")
