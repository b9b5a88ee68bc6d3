#!/usr/bin/env python3
"""Measures how fast PyTorch trains the board model: every torch.compile mode with every SDPA backend.

    bench/peers/twin_speed.py --device cuda --precision bf16 --json peers.json
    bench/peers/twin_speed.py --device cpu --models tiny --batch 256 --modes eager default

Batches are random and lie on the device. AdamW is fused. bf16 is autocast with fp32 masters, as in
Penstock. If a combination fails, the report has PyTorch's message. Combinations without enough time
(--budget) are named. The exit code is 77 if the device is missing. The program needs only PyTorch.
"""

import argparse
import contextlib
import json
import pathlib
import sys
import time

import torch

from twin import BATCHES, SIZES, Twin, loss_of, named_weights, train_step

MODES = ["default", "max-autotune-no-cudagraphs", "reduce-overhead", "max-autotune", "eager"]
BACKENDS = ["FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH"]
SKIPPED = 77


def attention(name):
    """Restricts SDPA to that backend. `auto` leaves the choice to PyTorch."""
    if name == "auto":
        return contextlib.nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel
    return sdpa_kernel(getattr(SDPBackend, name))


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def rate(args, model, mode, backend, batch):
    """Positions per second, without the first steps, which compile."""
    torch.manual_seed(0)
    layers, dim, heads, hidden = SIZES[model]
    twin = Twin(named_weights(layers, dim, hidden), heads).to(args.device)
    optimizer = twin.optimizer(1e-4)
    x = torch.randint(-1, 2, (batch, 64, 34), device=args.device).float()
    y = torch.rand(batch, device=args.device) * 2 - 1
    loss = loss_of if mode == "eager" else torch.compile(loss_of, mode=mode)
    bf16 = args.precision == "bf16"
    with attention(backend):
        for _ in range(3):
            train_step(twin, optimizer, x, y, bf16, loss)
        synchronize(args.device)
        begin, steps = time.perf_counter(), 0
        while time.perf_counter() - begin < args.seconds:
            last = train_step(twin, optimizer, x, y, bf16, loss)
            steps += 1
            if steps % 8 == 0:
                synchronize(args.device)  # The queue must not grow far ahead of the clock.
        synchronize(args.device)
        seconds = time.perf_counter() - begin
    if not torch.isfinite(last):
        raise RuntimeError("the loss is not finite")
    return steps * batch / seconds


def measure(args, model, deadline, results):
    batch = args.batch or BATCHES[args.device][model]
    for backend in args.backends:
        for mode in args.modes:
            result = {"model": model, "batch": batch, "mode": mode, "attention": backend}
            results.append(result)
            if time.monotonic() > deadline:
                result["left_out"] = "out of time"
                continue
            result["left_out"] = "it had no end"  # This stays in the file if the process is killed.
            write(args, results)
            torch.compiler.reset()
            try:
                result["positions_per_second"] = rate(args, model, mode, backend, batch)
            except Exception as error:  # Any part of PyTorch may fail; other combinations may work.
                result["error"] = str(error).strip().splitlines()[0][:200] if str(error) else repr(error)
            del result["left_out"]
            print(json.dumps(result), file=sys.stderr, flush=True)


def best(results, model):
    measured = [r for r in results if r["model"] == model and "positions_per_second" in r]
    return max(measured, key=lambda r: r["positions_per_second"], default=None)


def write(args, results):
    """Writes the results so far to --json, and returns them. They are incomplete if a combination was
    left out, because that combination may be the best."""
    combinations = len(args.models) * len(args.modes) * len(args.backends)
    measured = [result for result in results if "left_out" not in result]
    found = {"torch": torch.__version__, "precision": args.precision,
             "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
             "incomplete": len(measured) < combinations,
             "best": {model: best(results, model) for model in args.models}, "all": results}
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(found, indent=1) + "\n")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--precision", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--models", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--backends", nargs="+", choices=["auto", *BACKENDS],
                        default=["auto", *BACKENDS])
    parser.add_argument("--batch", type=int, default=0, help="0: the sizes of docs/internals/performance.md")
    parser.add_argument("--seconds", type=float, default=2, help="length of each measurement")
    parser.add_argument("--budget", type=float, default=240, help="seconds for all measurements")
    parser.add_argument("--threads", type=int, default=2, help="threads on the CPU")
    parser.add_argument("--json", help="output file")
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        print("twin_speed.py: no GPU that PyTorch can use", file=sys.stderr)
        return SKIPPED
    if args.device == "cpu":
        torch.set_num_threads(args.threads)
    torch.backends.cuda.matmul.allow_tf32 = args.precision != "fp32"
    begin, results = time.monotonic(), []
    for number, model in enumerate(args.models):
        # Each model may use an equal part of the remaining time.
        left = begin + args.budget - time.monotonic()
        measure(args, model, time.monotonic() + left / (len(args.models) - number), results)
    found = write(args, results)
    print(json.dumps(found, indent=1))
    return 0 if all(found["best"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
