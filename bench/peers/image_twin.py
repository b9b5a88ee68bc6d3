#!/usr/bin/env python3
"""Compares penstock-train with the same image model in PyTorch: gradients, losses, accuracy, speed.

    python3 -m venv /tmp/twin && /tmp/twin/bin/pip install torch numpy safetensors
    /tmp/twin/bin/python bench/peers/image_twin.py --bin build/release/bin
    /tmp/twin/bin/python bench/peers/image_twin.py --model vit-small --batch 8 --images 240 \\
        --steps 4 --learn-steps 0 --least-steps 1

Makes shards of images whose patterns of colours tell their class. Both programs start from one
safetensors file and see the same batches. Without dropout, it compares the loss of the first batch,
its gradients (the first moment after one step, divided by 1 - beta1) and the losses of `--steps`
steps of AdamW. Then both train with the model's dropout, each with its own random numbers, and are
evaluated on the same held-out images. Then both train by turns, the twin on a batch that is ready in
memory, and the medians of their rates are compared. The exit code is 1 if they disagree. ./check
does not run this program, because PyTorch is a large download.
"""

import argparse
import collections
import dataclasses
import json
import math
import pathlib
import statistics
import sys
import tempfile
import time

import torch
from safetensors.torch import load_file

import image_records
from image_model import SIZES, ImageTwin, loss_of, parameter_shapes
from programs import Penstock
from twin import train_step

NO_DROPOUT = ["--dropout", 0, "--head-dropout", 0]
# Maximum relative differences; those of gradients are relative to the norm. Losses of later steps
# grow apart as training continues.
TOLERANCES = {"first_loss": 1e-6, "gradients": 1e-5, "losses": 1e-4}


def relative(a, b):
    a, b = torch.as_tensor(a).double(), torch.as_tensor(b).double()
    return float((a - b).norm() / b.norm())


class Comparison:
    """Penstock and the twin on the same shards."""

    def __init__(self, args, folder):
        self.args = args
        self.size = SIZES[args.model]
        self.size = dataclasses.replace(self.size, classes=args.classes or self.size.classes)
        args.data = folder / "shards"
        labels = [kind * self.size.classes // args.kinds for kind in range(args.kinds)]
        image_records.write_shards(args.data, self.size.side, labels, args.images)
        spec = folder / "spec.textproto"
        spec.write_text(image_records.decode_spec(self.size.side))
        self.penstock = Penstock(args, folder, "--holdout", "10%", "--holdout-feature", "image",
                                 model_args=["--classes", self.size.classes],
                                 source_args=["--spec", spec], dtype="i8",
                                 parse=image_records.parse)
        self.weights = self.penstock.initial_weights(0)

    def twin(self, dropout):
        """The twin with the weights that both start from."""
        rates = {} if dropout else {"dropout": 0, "head_dropout": 0}
        return ImageTwin(load_file(self.weights), dataclasses.replace(self.size, **rates))

    def train(self, steps, *args):
        """Trains Penstock; returns its step events, its summary, and the batches of the steps."""
        lines, summary = self.penstock.events(steps, "--init-from", self.weights, "--lr",
                                              self.args.lr, "--digest", *args)
        records, digest = self.penstock.order("train", "--steps", steps, "--epochs", 0)
        if digest != summary["digest"]:
            sys.exit(f"trained on rows of digest {summary['digest']}, streamed {digest}")
        return lines, summary, self.batches(records)

    def batches(self, records):
        for at in range(0, len(records), self.args.batch):
            yield image_records.tensors(records[at:at + self.args.batch], self.size.side)

    def train_twin(self, twin, batches):
        optimizer = twin.optimizer(self.args.lr)
        return [train_step(twin, optimizer, x, y, False, loss_of).item() for x, y in batches]


def compare_parameters(comparison, result):
    shapes = parameter_shapes(comparison.size)
    ours = {name: tuple(p.shape) for name, p in load_file(comparison.weights).items()}
    result["parameters"] = {"penstock": sum(map(math.prod, ours.values())),
                            "twin": sum(map(math.prod, shapes.values()))}
    if comparison.size.classes == SIZES[comparison.args.model].classes:
        assert result["parameters"]["twin"] == comparison.size.parameters, result
    return ours == shapes


def gradients_of(twin, x, y):
    loss = loss_of(twin, x, y, False)
    loss.backward()
    return loss.item(), {name.replace("/", "."): p.grad for name, p in twin.p.items()}


def worst(gradients, others):
    name = max(others, key=lambda name: relative(gradients[name], others[name]))
    return {"parameter": name, "difference": relative(gradients[name], others[name])}


def compare_gradients(comparison, result):
    """Compares ours with the twin's, and both with the twin's in fp64, which shows the error of fp32."""
    lines, _, batches = comparison.train(1, *NO_DROPOUT, "--checkpoint-dir",
                                         comparison.penstock.folder / "one")
    ours = comparison.penstock.moments("one")
    x, y = next(batches)
    loss, theirs = gradients_of(comparison.twin(dropout=False), x, y)
    _, exact = gradients_of(comparison.twin(dropout=False).double(), x.double(), y)
    result["first_loss"] = {"penstock": lines[0]["loss"], "twin": loss}
    result["gradients"] = {"parameters": len(theirs), "worst": worst(ours, theirs),
                           "worst_beside_fp64": worst(ours, exact),
                           "worst_of_twin_beside_fp64": worst(theirs, exact)}
    return (relative(lines[0]["loss"], loss) < TOLERANCES["first_loss"]
            and result["gradients"]["worst"]["difference"] < TOLERANCES["gradients"])


def compare_losses(comparison, result):
    lines, _, batches = comparison.train(comparison.args.steps, *NO_DROPOUT)
    ours = [line["loss"] for line in lines]
    theirs = comparison.train_twin(comparison.twin(dropout=False), batches)
    differences = list(map(relative, ours, theirs))
    result["losses"] = {"steps": len(ours), "penstock": ours[-1], "twin": theirs[-1],
                        "relative_difference": differences[-1],
                        "largest_relative_difference": max(differences)}
    return max(differences) < TOLERANCES["losses"]


def accuracy_percent(comparison, twin, records):
    twin.eval()
    with torch.no_grad():
        right = sum((twin(x).argmax(dim=1) == y).sum().item()
                    for x, y in comparison.batches(records))
    return 100 * right / len(records)


def compare_learning(comparison, result):
    """Whether both are right on twice as many held-out images as the commonest class has."""
    _, summary, batches = comparison.train(comparison.args.learn_steps)
    twin = comparison.twin(dropout=True)
    comparison.train_twin(twin, batches)
    held_out, _ = comparison.penstock.order("holdout", "--no-shuffle", "--remainder", "short")
    commonest = collections.Counter(label for _, label in held_out).most_common(1)[0][1]
    result["learning"] = {
        "steps": comparison.args.learn_steps, "holdout_images": len(held_out),
        "commonest_class_percent": 100 * commonest / len(held_out),
        "penstock_percent": 100 * summary["holdout_accuracy"],
        "twin_percent": accuracy_percent(comparison, twin, held_out)}
    least = 2 * result["learning"]["commonest_class_percent"]
    return (len(held_out) == summary["holdout_records"]
            and result["learning"]["penstock_percent"] > least
            and result["learning"]["twin_percent"] > least)


def twin_rate(comparison, dropout, x, y):
    args, twin = comparison.args, comparison.twin(dropout)
    optimizer = twin.optimizer(args.lr)
    train_step(twin, optimizer, x, y, False, loss_of)
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < args.seconds:
        train_step(twin, optimizer, x, y, False, loss_of)
        steps += 1
    return steps * args.batch / (time.perf_counter() - start)


def measure(comparison, result):
    args = comparison.args
    x, y = next(comparison.batches(comparison.penstock.records(0)))
    rates = collections.defaultdict(list)
    kinds = {"": (True, [])} if comparison.size.dropout == 0 else {
        "": (True, []), "_without_dropout": (False, NO_DROPOUT)}
    steps = args.least_steps
    for _ in range(args.repetitions):
        for kind, (dropout, options) in kinds.items():
            rates["penstock" + kind].append(comparison.penstock.rate(steps, *options))
            rates["twin" + kind].append(twin_rate(comparison, dropout, x, y))
        steps = max(args.least_steps, int(args.seconds * rates["penstock"][-1] / args.batch))
    medians = {name: statistics.median(r) for name, r in rates.items()}
    result["images_per_second"] = {
        name: {"median": medians[name], "min": min(r), "max": max(r)} for name, r in rates.items()}
    for kind in kinds:
        result["times_the_twin" + kind] = medians["penstock" + kind] / medians["twin" + kind]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--model", choices=SIZES, default="vit")
    parser.add_argument("--classes", type=int, default=0, help="0: the model's default")
    parser.add_argument("--kinds", type=int, default=10, help="number of classes that have images")
    parser.add_argument("--images", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--steps", type=int, default=20, help="steps whose losses are compared")
    parser.add_argument("--learn-steps", type=int, default=60,
                        help="steps of training with dropout; 0: none")
    parser.add_argument("--seconds", type=float, default=5, help="length of each measurement")
    parser.add_argument("--least-steps", type=int, default=4,
                        help="least number of steps of each measurement of Penstock")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--no-parity", action="store_true", help="only measure the speed")
    parser.add_argument("--no-speed", action="store_true", help="only compare the results")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    result = {"model": args.model, "batch": args.batch, "threads": args.threads, "lr": args.lr,
              "torch": torch.__version__, "tolerances": TOLERANCES, "disagree": []}
    with tempfile.TemporaryDirectory(prefix="image-twin-") as folder:
        comparison = Comparison(args, pathlib.Path(folder))
        result["classes"] = comparison.size.classes
        parts = [] if args.no_parity else [compare_parameters, compare_gradients, compare_losses]
        parts += [compare_learning] if args.learn_steps and not args.no_parity else []
        for part in parts:
            if not part(comparison, result):
                result["disagree"].append(part.__name__)
        if not args.no_speed:
            measure(comparison, result)
    print(json.dumps(result, indent=2))
    return 1 if result["disagree"] else 0


if __name__ == "__main__":
    sys.exit(main())
