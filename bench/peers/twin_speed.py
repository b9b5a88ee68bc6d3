#!/usr/bin/env python3
"""How fast PyTorch trains the board model: every torch.compile mode with every SDPA backend.

    bench/peers/twin_speed.py --device cuda --precision bf16 --json peers.json
    bench/peers/twin_speed.py --device cpu --models tiny --batch 256 --modes eager default

Batches are made up and lie on the device; AdamW is fused; bf16 is autocast with fp32 masters, as in
Penstock. What a combination cannot do is reported with PyTorch's words; what there is no time for
(--budget) is named. Ends with 77 where the device is missing. Needs PyTorch alone.
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
    """Lets SDPA use that backend alone; `auto` leaves the choice to PyTorch."""
    if name == "auto":
        return contextlib.nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel
    return sdpa_kernel(getattr(SDPBackend, name))


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def rate(args, model, mode, backend, batch):
    """Positions per second, after the first steps, which compile."""
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
            result["left_out"] = "it had no end"  # Until it has: who kills this keeps the rest.
            write(args, results)
            torch.compiler.reset()
            try:
                result["positions_per_second"] = rate(args, model, mode, backend, batch)
            except Exception as error:  # Of any part of PyTorch: another combination may work.
                result["error"] = str(error).strip().splitlines()[0][:200] if str(error) else repr(error)
            del result["left_out"]
            print(json.dumps(result), file=sys.stderr, flush=True)


def best(results, model):
    measured = [r for r in results if r["model"] == model and "positions_per_second" in r]
    return max(measured, key=lambda r: r["positions_per_second"], default=None)


def write(args, results):
    """What was found so far, which is written to --json. It is incomplete where a combination was
    left out: the best of all may be another."""
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
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement")
    parser.add_argument("--budget", type=float, default=240, help="seconds for all")
    parser.add_argument("--threads", type=int, default=2, help="on the CPU")
    parser.add_argument("--json", help="file to write")
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        print("twin_speed.py: no GPU that PyTorch can use", file=sys.stderr)
        return SKIPPED
    if args.device == "cpu":
        torch.set_num_threads(args.threads)
    torch.backends.cuda.matmul.allow_tf32 = args.precision != "fp32"
    begin, results = time.monotonic(), []
    for number, model in enumerate(args.models):
        # Each model may use an equal part of what is left.
        left = begin + args.budget - time.monotonic()
        measure(args, model, time.monotonic() + left / (len(args.models) - number), results)
    found = write(args, results)
    print(json.dumps(found, indent=1))
    return 0 if all(found["best"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
