"""The stage `first` of bench/gpu/contact: checks that the GPU trains as the CPU does. Each part uses one
feature more than the part before it, so the first failure tells what is broken."""
import dataclasses
import json
import pathlib
import tempfile

import compare
from training import losses, run_program

STEPS = 3
# A slot's list of operations runs one by one, is then captured and launched as a graph, and is then
# launched again. With two slots, step 3 is the first that a graph computes, and step 5 the first that
# uses a graph again.
GRAPH_STEPS = 8
# The precision, the options and the number of steps of each training.
RUNS = {"fp32_no_graph": ("fp32", ("--no-graph",), STEPS),
        "bf16_no_graph": ("bf16", ("--no-graph",), STEPS),
        "bf16_graphs": ("bf16", (), GRAPH_STEPS)}


def devices(setting, stage):
    """Prints what penstock-train finds on this machine."""
    output, why = run_program(setting, [setting.programs / "penstock-train", "devices"],
                              stage.seconds_left())
    found = why or {"lines": output.splitlines()}
    stage.put(found, "first", "devices")
    if why:
        stage.fail(f"devices: {why}")
    for line in found.get("lines", []):
        if line.strip():
            stage.say(line)
    if not any(line.startswith("    [X] GPU") for line in found.get("lines", [])):
        stage.fail("devices: no usable GPU")


def products(setting, model, samples, seconds_left, repeats=None):
    """Returns the rate of cuBLASLt with the model's products alone, or why there is none."""
    with tempfile.TemporaryDirectory(prefix="penstock-products-") as folder:
        found = pathlib.Path(folder) / "products.json"
        _, why = run_program(
            setting, [setting.programs / "penstock-train", "products", "--model", model, "--samples",
                      samples, "--precision", setting.precision, "--device", setting.device,
                      "--repeats", repeats or setting.sizes.product_repeats, "--json", found],
            seconds_left())
        return why or json.loads(found.read_text())


def train_beside_cpu(setting, stage, model, cpu):
    """Trains in each way of RUNS and compares the losses with the CPU's."""
    batch = setting.sizes.first[model]
    for name, (precision, options, steps) in RUNS.items():
        stage.begin(f"{model} {name}")
        way = dataclasses.replace(setting, precision=precision)
        found = compare.outcome(lambda: compare.losses_beside_cpu(
            way, losses(way, model, batch, steps, *options, seconds_left=stage.seconds_left), cpu))
        stage.put(found, "first", model, name)
        if compare.failed(found):
            stage.fail(f"first {model} {name}, batch {batch}: {found}")
        else:
            stage.say(f"{model} {name}: {found}")


def run(setting, stage):
    stage.begin("devices")
    devices(setting, stage)
    for model, batch in setting.sizes.first.items():
        for precision in ("fp32", "bf16"):
            stage.begin(f"products {model} {precision}")
            found = products(dataclasses.replace(setting, precision=precision), model,
                             setting.sizes.product_samples, stage.seconds_left)
            stage.put(found, "first", model, f"products_{precision}")
            if "failed" in found:
                stage.fail(f"products {model} {precision}: {found['failed']}")
        stage.begin(f"{model} on the CPU")
        cpu = dataclasses.replace(setting, precision="fp32", device="cpu")
        expected = compare.outcome(lambda: {"passed": True, "losses": losses(
            cpu, model, batch, GRAPH_STEPS, seconds_left=stage.seconds_left)})
        stage.put(expected, "first", model, "cpu")
        if compare.failed(expected):
            stage.fail(f"{model} on the CPU: {expected}")
        if expected.get("passed"):
            train_beside_cpu(setting, stage, model, expected["losses"])
