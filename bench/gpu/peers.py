"""The stage `peers` of bench/gpu/contact: the same models in PyTorch, in each mode of torch.compile with
each backend of SDPA.

All combinations together take longer than a stage, mostly for compiling. So each model with one backend
is a process of its own, and the next run of the stage continues after those that are done.
"""
import json

import machine
import processes
from training import PRECISION

MODELS = ("tiny", "default", "large")
BACKENDS = ("auto", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH")
LEAST = 45  # Time in seconds that compiling one combination may take.


def best(found):
    """Returns the fastest combination, or None."""
    measured = [one for one in found if "positions_per_second" in one]
    return max(measured, key=lambda one: one["positions_per_second"], default=None)


def summary(measured):
    """Returns the combinations of all processes, the best of each model, and whether some are missing."""
    combinations = [one for result in measured.values() for one in result["all"]]
    done = len(measured) == len(MODELS) * len(BACKENDS)
    return {"precision": PRECISION, "torch": next((r["torch"] for r in measured.values()), ""),
            "incomplete": not done or any("left_out" in one for one in combinations),
            "best": {model: best([one for one in combinations if one["model"] == model])
                     for model in MODELS}, "all": combinations}


def measure(contact, model, backend, seconds):
    """Returns what twin_speed.py measured within these seconds, or why it measured nothing."""
    file = contact.state / "twin.json"
    file.unlink(missing_ok=True)
    ended = processes.run(
        [contact.python, contact.root / "bench" / "peers" / "twin_speed.py", "--device", "cuda",
         "--precision", PRECISION, "--models", model, "--backends", backend, "--budget",
         max(seconds - LEAST, 1), "--json", file], seconds, contact.stage.log)
    if file.exists():
        return json.loads(file.read_text())
    return {"failed": f"twin_speed.py wrote nothing: {processes.last_words(ended.output)}"}


def whole(result):
    return "all" in result and not result["incomplete"]


def run(contact):
    stage = contact.stage
    if not machine.has_torch(contact.python):
        stage.put({"left_out": f"{contact.python} has no PyTorch (--python)"}, "peers")
        stage.say(f"peers: left out, {contact.python} has no PyTorch (--python)")
        return
    kept = contact.state / "peers.json"
    measured = json.loads(kept.read_text()) if kept.exists() else {}
    for backend in BACKENDS:
        for model in MODELS:
            name = f"{model} {backend}"
            if name in measured or stage.seconds_left() < LEAST + 15:
                continue
            stage.begin(name)
            result = measure(contact, model, backend, stage.seconds_left() - 5)
            if "failed" in result:
                stage.fail(f"peers {name}: {result['failed']}")
                continue
            if whole(result):
                measured[name] = result
                kept.write_text(json.dumps(measured))
            stage.put(summary({**measured, name: result}), "peers")
            stage.say(f"{name}: {best(result['all'])}")
    stage.put(summary(measured) if measured else stage.results.get(
        "peers", {"left_out": "out of time"}), "peers")
    if len(measured) < len(MODELS) * len(BACKENDS):
        stage.say("peers: run the stage again to measure the other combinations")
