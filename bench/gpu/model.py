"""Rates of penstock-train on the GPU, by model: the part `model` of bench/gpu/run.

That machine may have no gRPC to build penstock-train with; the portable programs (docs/portable.md)
run there. They read the sample, in their own process.
"""
import json
import pathlib
import statistics
import subprocess
import tempfile

PRECISION = "bf16"
# layers, dim, hidden; batch; steps.
MODELS = {"tiny": (4, 64, 128, 16384, 60), "default": (8, 256, 512, 16384, 30),
          "large": (12, 512, 2048, 4096, 30)}
WARM_UP = 5  # Steps in which libraries load, plans are chosen and the graph is captured.
TRACED = 5  # Steps.
# The second is what the first costs beside.
REDUCTIONS = ("deterministic", "fast")


def flops_per_position(layers, dim, hidden):
    """Of products of a forward and backward pass over 64 tokens; the backward has twice the forward's."""
    tokens, features = 64, 34
    block = 2 * tokens * dim * (4 * dim + 2 * hidden) + 4 * tokens * tokens * dim
    head = 2 * dim * (dim + 1)
    return 3 * (layers * block + 2 * tokens * features * dim + head)


def step_seconds(events):
    """Of each step after the warm-up."""
    steps = [json.loads(line) for line in events.read_text().splitlines()]
    return [sum(step["times_s"].values()) for step in steps if step["event"] == "step"][WARM_UP:]


def train(program, data, model, reduction, timeout, steps, *options, device="cuda",
          precision=PRECISION):
    """A training's summary with its steps' seconds as "step_seconds"; or why it "left_out" them."""
    batch = MODELS[model][3]
    with tempfile.TemporaryDirectory(prefix="penstock-model-") as folder:
        folder = pathlib.Path(folder)
        summary, events = folder / "summary.json", folder / "events.jsonl"
        command = [program, "--manifest", data, "--device", device, "--precision", precision,
                   "--model", model, "--global-batch-size", batch, "--steps", steps, "--reduction", reduction,
                   "--json", summary, "--events", events, "--profile-file", folder / "trace.json",
                   *options]
        try:
            ended = subprocess.run([*map(str, command)], capture_output=True, text=True,
                                   timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return {"left_out": f"no end within {timeout:.0f} s"}
        if ended.returncode != 0:
            return {"left_out": " ".join(ended.stderr.split())[-300:]}
        found = json.loads(summary.read_text())
        return {**found, "step_seconds": step_seconds(events), "stderr": ended.stderr}


def measure(program, data, model, reduction, timeout, **where):
    """One training's figures, or why there are none."""
    layers, dim, hidden, batch, steps = MODELS[model]
    found = train(program, data, model, reduction, timeout, steps, **where)
    if "left_out" in found:
        return found
    seconds = found["step_seconds"]
    rate = batch / statistics.median(seconds)
    return {"batch": batch, "steps": len(seconds), "positions_per_second": rate,
            "tflops": rate * flops_per_position(layers, dim, hidden) / 1e12,
            "slowest_step_over_median": max(seconds) / statistics.median(seconds),
            "input_wait_share": found["input_wait_share"], "times_s": found["times_s"],
            "verdict": found["verdict"]}


def shares(device):
    """Of the time of a summary's "device": what it was busy and idle; None is not known."""
    times = device["sum"]
    idle = {what: times.get(f"idle_{what}_us") for what in ("before", "between_launches", "inside")}
    whole = times["busy_us"] + sum(value or 0 for value in idle.values())
    return {"source": device["source"], "steps": times["steps"],
            "step_ms": whole / times["steps"] / 1e3, "busy": times["busy_us"] / whole,
            **{f"idle_{what}": None if value is None else value / whole
               for what, value in idle.items()}}


def trace(program, data, model, timeout, **where):
    """Idle time between step graphs and inside them, in a run of its own: tracing costs time."""
    first, last = WARM_UP + 1, WARM_UP + 1 + TRACED
    found = train(program, data, model, "deterministic", timeout, last, "--profile-steps",
                  f"{first}:{last}", **where)
    if "left_out" in found:
        return found
    notes = [line for line in found["stderr"].splitlines() if "--profile-steps: " in line]
    if "device" not in found:
        return {"left_out": " ".join(notes)[:300] or "no GPU was traced"}
    return {**shares(found["device"]), "notes": notes}


def measure_all(program, index, sample, seconds_left, **where):
    """{model: {reduction: figures, "traced": shares}} of `program`; `index`: the `penstock` beside it."""
    results = {}
    with tempfile.TemporaryDirectory(prefix="penstock-data-") as folder:
        manifest = pathlib.Path(folder) / "manifest.pb"
        subprocess.run([index, "index", sample, "-o", manifest, "--absolute"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for model in MODELS:
            results[model] = {}
            for reduction in REDUCTIONS:
                results[model][reduction] = (
                    measure(program, manifest, model, reduction, min(90, seconds_left()), **where)
                    if seconds_left() > 10 else {"left_out": "out of time"})
                print(f"model {model}, {reduction}: {results[model][reduction]}", flush=True)
            results[model]["traced"] = (
                trace(program, manifest, model, min(60, seconds_left()), **where)
                if seconds_left() > 10 else {"left_out": "out of time"})
            print(f"model {model}, traced: {results[model]['traced']}", flush=True)
            both = [results[model][r].get("positions_per_second") for r in REDUCTIONS]
            if all(both):
                results[model]["deterministic_cost"] = both[1] / both[0] - 1
    return results
