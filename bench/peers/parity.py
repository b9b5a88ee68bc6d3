#!/usr/bin/env python3
"""Compares the held-out loss of penstock-train and of the same model in PyTorch.

    python3 -m venv /tmp/twin && /tmp/twin/bin/pip install torch numpy safetensors
    /tmp/twin/bin/python bench/peers/parity.py --tsv "$PENSTOCK_TEST_DATA"/data/chess/*.tsv

For each seed, both start with the same weights and take the same steps on the same records in the
same order, with AdamW, warm-up and a cosine schedule. Then both are evaluated on the same held-out
records. A point is a hundredth of the loss of predicting the mean. The exit code is 1 if the losses
differ by more than one point on average over the seeds. ./check does not run this program, because
PyTorch is a large download.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from chess_records import tensors
from programs import Penstock
from twin import SIZES, Twin, model_args, train_step


def pack(args, folder):
    """Packs the positions of --tsv into shards; returns their folder."""
    lines, data = folder / "positions.tsv", folder / "data"
    with open(lines, "wb") as out:
        for path in args.tsv:
            out.write(pathlib.Path(path).read_bytes().rstrip(b"\n") + b"\n")
    subprocess.run([pathlib.Path(args.bin) / "penstock", "pack", "--from", "chess-tsv", lines, "-o",
                    data], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return data


def learning_rate(args, step):
    """The schedule `cosine` of docs/guides/training.md (trainer/optimizer/learning_rate.h)."""
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    return args.lr * 0.5 * (1 + math.cos(math.pi * (step - args.warmup) / (args.steps - args.warmup)))


def batches(records, size):
    for at in range(0, len(records), size):
        yield tensors(records[at:at + size])


def held_out_loss(twin, records, batch):
    with torch.no_grad():
        errors = [F.mse_loss(twin(x), y, reduction="sum").item() for x, y in batches(records, batch)]
    return sum(errors) / len(records)


def train_twin(args, weights, records, held_out):
    twin = Twin(load_file(weights), SIZES[args.model][2])
    optimizer = twin.optimizer(args.lr)
    for step, (x, y) in enumerate(batches(records, args.batch)):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(args, step)
        train_step(twin, optimizer, x, y, args.precision == "bf16")
    return held_out_loss(twin, held_out, args.batch)


def run_seed(penstock, args, seed):
    weights = penstock.initial_weights(seed)
    begin = time.monotonic()
    ours = penstock.train(args.steps, "--seed", seed, "--init-from", weights, "--lr", args.lr,
                          "--lr-schedule", "cosine", "--warmup-steps", args.warmup, "--precision",
                          args.precision, "--digest")
    middle = time.monotonic()
    # 0 epochs means as many as the steps need, as in penstock-train.
    records, digest = penstock.order("train", "--seed", seed, "--steps", args.steps, "--epochs", 0)
    if digest != ours["digest"]:
        sys.exit(f"seed {seed}: trained on rows of digest {ours['digest']}, streamed {digest}")
    held_out, _ = penstock.order("holdout", "--no-shuffle", "--remainder", "short")
    assert len(held_out) == ours["holdout_records"], len(held_out)
    twin_loss = train_twin(args, weights, records, held_out)
    mean_loss = ours["holdout_baseline"]
    return {"seed": seed, "digest": digest, "penstock": ours["holdout_loss"], "twin": twin_loss,
            "mean_predictor": mean_loss,
            "points": 100 * (ours["holdout_loss"] - twin_loss) / mean_loss,
            "penstock_below_mean_percent": 100 * (1 - ours["holdout_loss"] / mean_loss),
            "twin_below_mean_percent": 100 * (1 - twin_loss / mean_loss),
            "penstock_seconds": middle - begin, "twin_seconds": time.monotonic() - middle}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--data", default="sample", help="folder of shards, unless --tsv is given")
    parser.add_argument("--tsv", nargs="+", default=[], help="files with lines of FEN, tab, score")
    parser.add_argument("--model", choices=SIZES, default="tiny")
    parser.add_argument("--attention-bias", action="store_true")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32",
                        help="bf16: the twin uses autocast")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--holdout", default="5%")
    parser.add_argument("--json", help="output file")
    args = parser.parse_args()
    if args.steps <= args.warmup:
        parser.error("--steps must be more than --warmup")
    torch.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory(prefix="parity-") as folder:
        folder = pathlib.Path(folder)
        if args.tsv:
            args.data = pack(args, folder)
        penstock = Penstock(args, folder, "--holdout", args.holdout, model_args=model_args(args))
        seeds = []
        for seed in args.seeds:
            seeds.append(run_seed(penstock, args, seed))
            print(json.dumps(seeds[-1]), file=sys.stderr, flush=True)
    points = [seed["points"] for seed in seeds]
    result = {"model": args.model, "attention_bias": args.attention_bias,
              "precision": args.precision, "steps": args.steps,
              "samples": args.steps * args.batch, "torch": torch.__version__, "seeds": seeds,
              "mean_points": statistics.mean(points),
              "spread_points": max(points) - min(points)}
    text = json.dumps(result, indent=1)
    print(text)
    if args.json:
        pathlib.Path(args.json).write_text(text + "\n")
    return abs(result["mean_points"]) > 1


if __name__ == "__main__":
    sys.exit(main())
