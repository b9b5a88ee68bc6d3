#!/usr/bin/env python3
"""Compares penstock-train with the same model in PyTorch: parameters, outputs, gradients, speed.

    python3 -m venv /tmp/twin && /tmp/twin/bin/pip install torch numpy safetensors
    /tmp/twin/bin/python bench/peers/torch_twin.py --bin build/release/bin --data sample

Both start from the same safetensors file and see the same records. Outputs are those of `predict`.
Gradients are the first moment after one step, divided by 1 - beta1. Losses are those after `--steps`
steps on the same batches. Then both train by turns, and the medians of their rates are compared.
./check does not run this program, because PyTorch is a large download.
"""

import argparse
import json
import statistics
import tempfile
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from chess_records import frames, parse, tensors
from programs import Penstock
from twin import SIZES, Twin, model_args, parameters_of, train_step

FENS = """rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1
r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3
8/8/8/4k3/8/4K3/4P3/8 w - - 0 1
8/5k2/8/8/8/2R5/5K2/8 b - - 12 40
r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 90 60""".splitlines()


def relative(a, b):
    a, b = torch.as_tensor(a).double(), torch.as_tensor(b).double()
    return float((a - b).norm() / b.norm())


def with_some_bias(weights_file):
    """The same weights with noise as attention bias. It starts at zero, where it has no effect."""
    torch.manual_seed(0)
    weights = load_file(weights_file)
    for name in weights:
        if name.endswith(".attention_bias"):
            weights[name].normal_()
    biased = weights_file.with_name("biased.safetensors")
    save_file(weights, biased)
    return biased


def compare(penstock, args, weights_file, result):
    heads = SIZES[args.model][2]
    twin = Twin(load_file(weights_file), heads)
    result["parameters"] = sum(p.numel() for p in twin.parameters())
    assert result["parameters"] == parameters_of(args.model, args.attention_bias), result

    lines = penstock.folder / "positions.tsv"
    lines.write_text("".join(f"{fen}\t+0\n" for fen in FENS))
    penstock.run("penstock", "pack", lines, "-o", penstock.folder / "packed", "--records-per-shard",
                 1000)
    packed = [parse(r) for shard in sorted((penstock.folder / "packed").glob("*.tfrecord"))
              for r in frames(shard)]
    fens = [argument for fen in FENS for argument in ("--fen", fen)]
    penstock.untrained("start", "--init-from", weights_file)
    ours = json.loads(penstock.run("penstock-train", "predict", "--checkpoint",
                                   penstock.checkpoint("start"), "--json", "-", *fens))
    with torch.no_grad():
        theirs = twin(tensors(packed)[0])
    result["output_max_difference"] = float(
        (torch.tensor([o["score"] for o in ours]) - theirs).abs().max())

    penstock.train(1, "--init-from", weights_file, "--checkpoint-dir", penstock.folder / "one")
    gradients = penstock.moments("one")
    x, y = tensors(penstock.records(0))
    F.mse_loss(twin(x), y).backward()
    result["gradient_relative_differences"] = max(
        relative(gradients[name.replace("/", ".")], p.grad) for name, p in twin.p.items())

    twin = Twin(load_file(weights_file), heads)
    optimizer = twin.optimizer(1e-3)
    ours = penstock.train(args.steps, "--init-from", weights_file)
    losses = []
    for step in range(args.steps):
        x, y = tensors(penstock.records(step))
        losses.append(train_step(twin, optimizer, x, y, False).item())
    result["losses_at_the_end"] = [ours["loss_end"], statistics.mean(losses[-10:])]


def twin_rate(args, weights_file, x, y, bf16):
    twin = Twin(load_file(weights_file), SIZES[args.model][2])
    optimizer = twin.optimizer(1e-3)
    train_step(twin, optimizer, x, y, bf16)
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < args.seconds:
        train_step(twin, optimizer, x, y, bf16)
        steps += 1
    return steps * args.batch / (time.perf_counter() - start)


def measure(penstock, args, weights_file, result):
    x, y = tensors(penstock.records(0))
    rates = {"penstock": [], "penstock_bf16": [], "twin": [], "twin_bf16": []}
    steps = args.least_steps
    for _ in range(args.repetitions):
        for name, precision in ("penstock", "fp32"), ("penstock_bf16", "bf16"):
            rates[name].append(penstock.rate(steps, "--precision", precision))
        steps = max(args.least_steps, int(args.seconds * rates["penstock"][-1] / args.batch))
        rates["twin"].append(twin_rate(args, weights_file, x, y, False))
        rates["twin_bf16"].append(twin_rate(args, weights_file, x, y, True))
    result["positions_per_second"] = {
        name: {"median": statistics.median(r), "min": min(r), "max": max(r)}
        for name, r in rates.items()}
    medians = {name: statistics.median(r) for name, r in rates.items()}
    result["times_the_twin"] = medians["penstock"] / medians["twin"]
    result["bf16_times_the_twin"] = medians["penstock_bf16"] / medians["twin"]
    result["bf16_times_the_bf16_twin"] = medians["penstock_bf16"] / medians["twin_bf16"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--data", default="sample")
    parser.add_argument("--model", choices=SIZES, default="tiny")
    parser.add_argument("--attention-bias", action="store_true")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20, help="steps whose losses are compared")
    parser.add_argument("--seconds", type=float, default=2, help="length of each measurement")
    parser.add_argument("--least-steps", type=int, default=8,
                        help="least number of steps of each measurement of Penstock")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--no-parity", action="store_true", help="only measure the speed")
    parser.add_argument("--no-speed", action="store_true", help="only compare the results")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    result = {"model": args.model, "attention_bias": args.attention_bias, "batch": args.batch,
              "threads": args.threads, "torch": torch.__version__}
    with tempfile.TemporaryDirectory(prefix="torch-twin-") as folder:
        penstock = Penstock(args, folder, model_args=model_args(args))
        weights_file = penstock.initial_weights(0)
        if args.attention_bias:
            weights_file = with_some_bias(weights_file)
        if not args.no_parity:
            compare(penstock, args, weights_file, result)
        if not args.no_speed:
            measure(penstock, args, weights_file, result)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
