"""Measures the rates of penstock-train on the GPU, by model: the part `model` of bench/gpu/run.

A machine with a GPU may have no gRPC to build penstock-train with, so the portable programs
(docs/guides/portable.md) run there. They read copies of the sample in their own process (`local:`).
"""
import json
import pathlib
import statistics
import subprocess
import tempfile

from training import NO_MEMORY, LIMIT, missing, no_end, train

# Each model's layers, dim, hidden, batch and steps.
MODELS = {"tiny": (4, 64, 128, 16384, 60), "default": (8, 256, 512, 16384, 30),
          "large": (12, 512, 2048, 4096, 30)}
WARM_UP = 5  # Number of steps in which libraries load, plans are chosen and the graph is captured.
TRACED = 5  # Number of steps that are traced.
# Virtual shards to try. The cost of `deterministic` is relative to `fast`. Nothing fixes the number
# of shards of `fast`, so it has as few as memory allows.
REDUCTIONS = {"deterministic": (8,), "fast": (1, 2, 4)}


def records():
    """The largest number of records that one training reads."""
    return max(batch * steps for *_, batch, steps in MODELS.values())


def flops_per_position(layers, dim, hidden):
    """FLOPs of the matrix products of a forward and a backward pass over 64 tokens. The backward pass
    has twice those of the forward pass."""
    tokens, features = 64, 34
    block = 2 * tokens * dim * (4 * dim + 2 * hidden) + 4 * tokens * tokens * dim
    head = 2 * dim * (dim + 1)
    return 3 * (layers * block + 2 * tokens * features * dim + head)


def measure(setting, model, reduction, shards, seconds_left):
    """The figures of one training, or why there are none."""
    layers, dim, hidden, batch, steps = MODELS[model]
    found = train(setting, model, batch, steps, "--reduction", reduction, "--virtual-shards", shards,
                  seconds_left=seconds_left)
    if missing(found):
        return found
    seconds = [sum(step["times_s"].values()) for step in found["step_events"]][WARM_UP:]
    rate = batch / statistics.median(seconds)
    return {"batch": batch, "virtual_shards": shards, "steps": len(seconds),
            "positions_per_second": rate,
            "tflops": rate * flops_per_position(layers, dim, hidden) / 1e12,
            "slowest_step_over_median": max(seconds) / statistics.median(seconds),
            "input_wait_share": found["input_wait_share"], "times_s": found["times_s"],
            "verdict": found["verdict"]}


def measure_reduction(setting, model, reduction, seconds_left):
    """The figures with the first number of shards that memory allows."""
    for shards in REDUCTIONS[reduction]:
        if seconds_left() < 10:
            return {"left_out": "out of time"}
        found = measure(setting, model, reduction, shards, seconds_left)
        if NO_MEMORY not in found.get("left_out", ""):
            break
    return found


def shares(device):
    """The shares of time in which a summary's "device" was busy and idle. None means unknown."""
    times = device["sum"]
    idle = {what: times.get(f"idle_{what}_us") for what in ("before", "between_launches", "inside")}
    whole = times["busy_us"] + sum(value or 0 for value in idle.values())
    return {"source": device["source"], "steps": times["steps"],
            "step_ms": whole / times["steps"] / 1e3, "busy": times["busy_us"] / whole,
            **{f"idle_{what}": None if value is None else value / whole
               for what, value in idle.items()}}


def trace(setting, model, seconds_left):
    """Idle time between step graphs and inside them. The run is separate, because tracing costs time."""
    if seconds_left() < 10:
        return {"left_out": "out of time"}
    first, last = WARM_UP + 1, WARM_UP + 1 + TRACED
    found = train(setting, model, MODELS[model][3], last, "--profile-steps", f"{first}:{last}",
                  seconds_left=seconds_left)
    if missing(found):
        return found
    notes = [line for line in found["stderr"].splitlines() if "--profile-steps: " in line]
    if "device" not in found:
        return {"left_out": " ".join(notes)[:300] or "no GPU was traced"}
    return {**shares(found["device"]), "notes": notes}


def products(setting, model, seconds_left):
    """The rate of cuBLASLt with the model's products alone, for one shard of the deterministic step."""
    batch, (shards, *_) = MODELS[model][3], REDUCTIONS["deterministic"]
    seconds = seconds_left()
    with tempfile.TemporaryDirectory(prefix="penstock-products-") as folder:
        found = pathlib.Path(folder) / "products.json"
        try:
            ended = subprocess.run(
                [setting.programs / "penstock-train", "products", "--model", model, "--samples",
                 str(batch // shards), "--precision", setting.precision, "--device", setting.device,
                 "--json", found], capture_output=True, text=True, timeout=max(min(LIMIT, seconds), 1),
                check=False)
        except subprocess.TimeoutExpired:
            return no_end(LIMIT, seconds)
        if ended.returncode != 0:
            return {"failed": " ".join(ended.stderr.split())[-300:]}
        return json.loads(found.read_text())


def measure_model(setting, model, seconds_left):
    """{reduction: figures, "traced": shares, "products": their rates, "deterministic_cost": how much
    faster `fast` is, "of_the_product_rate": TFLOP/s of the step over those of its products alone}."""
    found = {reduction: measure_reduction(setting, model, reduction, seconds_left)
             for reduction in REDUCTIONS}
    found["traced"] = trace(setting, model, seconds_left)
    found["products"] = products(setting, model, seconds_left)
    if "tflops" in found["products"] and "tflops" in found["deterministic"]:
        found["of_the_product_rate"] = (found["deterministic"]["tflops"] /
                                        found["products"]["tflops"])
    both = [found[reduction].get("positions_per_second") for reduction in REDUCTIONS]
    if all(both):
        found["deterministic_cost"] = both[1] / both[0] - 1
    print(f"model {model}: {found}", flush=True)
    return found


def measure_all(setting, seconds_left):
    return {model: measure_model(setting, model, seconds_left) for model in MODELS}
