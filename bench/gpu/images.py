"""The stage `images` of bench/gpu/contact: trains models of images on pictures that this program draws.

It compares the losses of some steps with the CPU's, and then measures the rate with the pictures
decoded in the same process. Both need PNG files, and no other library than Python's own.
"""
import dataclasses
import random
import statistics
import subprocess
import sys

import compare
import kernels_hash
import package
from model import put
from training import losses, missing, train

sys.path.insert(0, str(kernels_hash.ROOT / "deploy" / "demo"))
from patterns import PATTERNS, draw  # noqa: E402

STEPS = 3
CLASSES = len(PATTERNS)


def make(programs, folder, pictures):
    """Draws this number of pictures of each class, and packs and indexes them."""
    rng = random.Random(1)
    for name, pattern in PATTERNS.items():
        (folder / "photos" / name).mkdir(parents=True, exist_ok=True)
        for number in range(pictures):
            (folder / "photos" / name / f"{number:03}.png").write_bytes(draw(pattern, rng))
    for command in (["pack", "--from", "folder", folder / "photos", "-o", folder / "data", "--seed", "1"],
                    ["index", folder / "data"]):
        subprocess.run([programs / "penstock", *command], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


def options(side):
    return ("--spec", f"images-train:{side}", "--classes", CLASSES)


def compare_model(setting, model, stage):
    """Compares the losses of fp32 and bf16 with the CPU's."""
    side, batch, _ = setting.sizes.images[model]
    cpu = dataclasses.replace(setting, precision="fp32", device="cpu")
    stage.begin(f"{model} on the CPU")
    expected = compare.outcome(lambda: {"passed": True, "losses": losses(
        cpu, model, batch, STEPS, *options(side), seconds_left=stage.seconds_left)})
    stage.put(expected, "images", model, "cpu")
    if not expected.get("passed"):
        return
    for precision in ("fp32", "bf16"):
        stage.begin(f"{model} {precision}")
        way = dataclasses.replace(setting, precision=precision)
        found = compare.outcome(lambda way=way: compare.losses_beside_cpu(
            way, losses(way, model, batch, STEPS, *options(side), seconds_left=stage.seconds_left),
            expected["losses"]))
        stage.put(found, "images", model, f"{precision}_beside_cpu")
        if compare.failed(found):
            stage.fail(f"images {model} {precision}, batch {batch}: {found}")
        else:
            stage.say(f"{model} {precision}: {found}")


def measure(setting, model, stage):
    """Returns the rate of a training that decodes the pictures itself, or why there is none."""
    side, _, batch = setting.sizes.images[model]
    if stage.seconds_left() < 10:
        return {"left_out": "out of time"}
    found = train(setting, model, batch, setting.sizes.image_steps, "--epochs", 0, *options(side),
                  seconds_left=stage.seconds_left)
    if missing(found):
        return found
    steps = [sum(step["times_s"].values())
             for step in found["step_events"]][min(setting.sizes.warm_up, setting.sizes.image_steps - 1):]
    without_input = [sum(step["times_s"].values()) - step["times_s"]["input"]
                     for step in found["step_events"]][-len(steps):]
    return {"batch": batch, "images_per_second": batch / statistics.median(steps),
            "images_per_second_without_input": batch / statistics.median(without_input),
            "input_wait_share": found["input_wait_share"], "verdict": found["verdict"]}


def run(setting, stage, state):
    stage.begin("pictures")
    pictures = setting.sizes.pictures
    folder = package.make_once(state / f"images-{pictures}",
                               lambda draft: make(setting.programs, draft, pictures))
    setting = dataclasses.replace(setting, manifest=folder / "data" / "manifest.pb")
    for model in setting.sizes.images:
        compare_model(setting, model, stage)
    for model in setting.sizes.images:
        stage.begin(f"{model} rate")
        put(stage, measure(setting, model, stage), "images", model, "rate")
