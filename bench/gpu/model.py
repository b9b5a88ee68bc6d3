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


def measure(program, data, model, reduction, timeout, device="cuda", precision=PRECISION):
    """One training's figures, or why there are none."""
    layers, dim, hidden, batch, steps = MODELS[model]
    with tempfile.TemporaryDirectory(prefix="penstock-model-") as folder:
        summary, events = pathlib.Path(folder) / "summary.json", pathlib.Path(folder) / "events.jsonl"
        command = [program, "--manifest", data, "--device", device, "--precision", precision,
                   "--model", model, "--global-batch-size", batch, "--steps", steps, "--reduction", reduction,
                   "--json", summary, "--events", events]
        try:
            ended = subprocess.run([*map(str, command)], capture_output=True, text=True,
                                   timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return {"left_out": f"no end within {timeout:.0f} s"}
        if ended.returncode != 0:
            return {"left_out": " ".join(ended.stderr.split())[-300:]}
        seconds = step_seconds(events)
        found = json.loads(summary.read_text())
        rate = batch / statistics.median(seconds)
        return {"batch": batch, "steps": len(seconds), "positions_per_second": rate,
                "tflops": rate * flops_per_position(layers, dim, hidden) / 1e12,
                "slowest_step_over_median": max(seconds) / statistics.median(seconds),
                "input_wait_share": found["input_wait_share"], "times_s": found["times_s"],
                "verdict": found["verdict"]}


def measure_all(program, index, sample, seconds_left, **where):
    """{model: {reduction: figures}} of `program`; `index` is the `penstock` beside it."""
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
            both = [results[model][r].get("positions_per_second") for r in REDUCTIONS]
            if all(both):
                results[model]["deterministic_cost"] = both[1] / both[0] - 1
    return results
