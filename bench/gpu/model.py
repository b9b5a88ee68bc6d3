"""The stage `model` of bench/gpu/contact: measures the rates of penstock-train by model.

A machine with a GPU may have no gRPC to build penstock-train with, so the portable programs
(docs/guides/portable.md) run there. They read copies of the sample in their own process (`local:`).
"""
import statistics

from first import products
from training import NO_MEMORY, missing, train

REDUCTIONS = ("deterministic", "fast")


def shards_of(setting, reduction):
    """Returns the numbers of virtual shards to try. The cost of `deterministic` is relative to `fast`.
    Nothing fixes the number of shards of `fast`, so it has as few as memory allows."""
    return (setting.sizes.shards,) if reduction == "deterministic" else setting.sizes.fast_shards


def flops_per_position(layers, dim, hidden):
    """Returns the FLOPs of the matrix products of a forward and a backward pass over 64 tokens. The
    backward pass has twice those of the forward pass."""
    tokens, features = 64, 34
    block = 2 * tokens * dim * (4 * dim + 2 * hidden) + 4 * tokens * tokens * dim
    head = 2 * dim * (dim + 1)
    return 3 * (layers * block + 2 * tokens * features * dim + head)


def measure(setting, model, reduction, shards, seconds_left):
    """Returns the figures of one training, or why there are none."""
    layers, dim, hidden, batch, steps = setting.sizes.rates[model]
    found = train(setting, model, batch, steps, "--reduction", reduction, shards=shards,
                  seconds_left=seconds_left)
    if missing(found):
        return found
    seconds = [sum(step["times_s"].values())
               for step in found["step_events"]][setting.sizes.warm_up:]
    rate = batch / statistics.median(seconds)
    return {"batch": batch, "virtual_shards": shards, "steps": len(seconds),
            "positions_per_second": rate,
            "tflops": rate * flops_per_position(layers, dim, hidden) / 1e12,
            "slowest_step_over_median": max(seconds) / statistics.median(seconds),
            "input_wait_share": found["input_wait_share"], "times_s": found["times_s"],
            "verdict": found["verdict"]}


def measure_reduction(setting, model, reduction, seconds_left):
    """Returns the figures with the first number of shards that memory allows."""
    for shards in shards_of(setting, reduction):
        if seconds_left() < 10:
            return {"left_out": "out of time"}
        found = measure(setting, model, reduction, shards, seconds_left)
        if NO_MEMORY not in found.get("left_out", ""):
            break
    return found


def measure_products(setting, model, seconds_left):
    """Returns the rate of cuBLASLt with one shard of the deterministic step."""
    return products(setting, model, setting.sizes.rates[model][3] // setting.sizes.shards, seconds_left)


def ratios(found):
    """Returns how much faster `fast` is, and TFLOP/s of the step over those of its products alone."""
    both = [found[reduction].get("positions_per_second") for reduction in REDUCTIONS]
    of_products = ("tflops" in found["products"] and "tflops" in found["deterministic"] and
                   found["products"]["tflops"])
    return {**({"deterministic_cost": both[1] / both[0] - 1} if all(both) else {}),
            **({"of_the_product_rate": found["deterministic"]["tflops"] / of_products}
               if of_products else {})}


def put(stage, found, *path):
    """Writes and prints figures, or why there are none."""
    stage.put(found, *path)
    if "failed" in found:
        stage.fail(f"{' '.join(path)}: {found['failed']}")
    else:
        stage.say(f"{' '.join(path)}: {found}")


def measure_model(setting, model, stage):
    found = {}
    for reduction in REDUCTIONS:
        stage.begin(f"{model} {reduction}")
        found[reduction] = measure_reduction(setting, model, reduction, stage.seconds_left)
        put(stage, found[reduction], "model", model, reduction)
    stage.begin(f"{model} products")
    found["products"] = measure_products(setting, model, stage.seconds_left)
    put(stage, found["products"], "model", model, "products")
    for name, ratio in ratios(found).items():
        stage.put(ratio, "model", model, name)
        stage.say(f"{model} {name}: {ratio:.3f}")


def run(setting, stage):
    for model in setting.sizes.rates:
        measure_model(setting, model, stage)
