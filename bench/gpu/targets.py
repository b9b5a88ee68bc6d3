#!/usr/bin/env python3
"""Targets of the figures on an H100 and an H200, and their ceilings. Prints the rows of the tables in
docs/internals/gpu_targets.md:

    python3 bench/gpu/targets.py

A ceiling is a roofline: no operation takes less time than its bytes (traffic.py) take at the card's
bandwidth, or its FLOPs at the card's peak. Operations run one after another."""
import re

import traffic
from model import flops_per_position
from sizes import FULL

# Bandwidths in bytes/s, and FLOP/s of dense products in bf16: NVIDIA's data sheets, SXM.
BANDWIDTH = {"H100": 3.35e12, "H200": 4.8e12}
PEAK = 989e12
OTHER_FORMS = {"PCIe", "NVL", "MIG"}  # They have other bandwidths and peaks.

# Shares of the peak, or positions/s.
SHARES = {"large": {"H100": 0.42, "H200": 0.45}, "default": {"H100": 0.22, "H200": 0.30}}
POSITIONS = {"tiny": {"H100": 0.8e6, "H200": 1.1e6}}
# Bandwidth of attention's forward pass in bf16 over that of a copy, by width of a head, for 64 tokens.
ATTENTION = {16: {"H100": 0.50, "H200": 0.38}, 32: {"H100": 0.65, "H200": 0.55},
             64: {"H100": 0.80, "H200": 0.70}}
# Our rate over that of the best form in PyTorch, on either card.
PEERS = {"large": 1.2, "default": 1.3, "tiny": 2}


def card_of(device):
    """Returns "H100" or "H200" if the device has targets, else None."""
    words = set(device.split())
    return next((card for card in BANDWIDTH if card in words and not words & OTHER_FORMS), None)


def seconds(model, card):
    """Returns the time that one position takes at least."""
    return sum(max(one.bytes / BANDWIDTH[card], one.flops / PEAK) for one in traffic.step(model))


def share(model, rate):
    """Returns the share of the peak that so many positions/s need."""
    return rate * flops_per_position(*FULL.rates[model][:3]) / PEAK


def rates(model, card):
    """Returns the target and the ceiling in positions/s."""
    target = SHARES[model][card] / share(model, 1) if model in SHARES else POSITIONS[model][card]
    return target, 1 / seconds(model, card)


def models(found, card):
    """Yields the figures of the deterministic steps: (name, measured, target, ceiling, unit)."""
    for model, runs in found.get("model", {}).items():
        run = runs.get("deterministic", {}) if isinstance(runs, dict) else {}
        if "positions_per_second" in run:
            yield f"model.{model}", run["positions_per_second"], *rates(model, card), "positions/s"


def attention(found, card):
    """Yields the same of the forward passes over 64 tokens."""
    benchmarks = [one for one in found.get("benchmarks", []) if isinstance(one, dict)]
    speeds = {one["benchmark"]: one["gb_per_s"] for one in benchmarks}
    for name, speed in speeds.items():
        shape = re.fullmatch(r"attention/bf16/\d+x64x\d+x(\d+)", name)
        if shape:
            yield name, speed / speeds["copy"], ATTENTION[int(shape.group(1))][card], 1, "of a copy"


def peers(found, card):
    """The target is the same on each `card`, and there is no ceiling."""
    for model, times in found.get("times_the_best_peer", {}).items():
        yield f"times_the_best_peer.{model}", times, PEERS[model], None, "times"


def compared(found):
    """Returns what report.py says about the figures that have a target on this device."""
    card = card_of(found.get("device", ""))
    keys = ("measured", "target", "ceiling", "unit")
    return {name: dict(zip(keys, rest)) for figures in (models, attention, peers) if card
            for name, *rest in figures(found, card)}


def line(measured, target, ceiling, unit):
    """Returns the text of a comparison."""
    show = rounded if unit == "positions/s" else "{:.2f}".format
    most = f", ceiling {show(ceiling)}" if ceiling else ""
    return (f"{show(measured)} {unit}; target {show(target)}{most}: "
            f"{'reached' if measured >= target else 'missed'}")


def rounded(number):
    """Three digits of a number that has more."""
    return f"{float(f'{number:.3g}'):,.0f}"


def target_rows():
    """Yields the cells of the page's table of targets."""
    for model in ("large", "default", "tiny"):
        yield [f"`{model}`, B = {FULL.rates[model][3]:,}",
               *(f"{100 * share(model, rate):.3g} % ({rounded(rate)} positions/s)"
                 for card in BANDWIDTH for rate in rates(model, card))]
    for width, by_card in ATTENTION.items():
        yield [f"attention forward, heads of {width}",
               *(f"{100 * part:.0f} %" for card in BANDWIDTH for part in (by_card[card], 1))]
    for model, times in PEERS.items():
        yield [f"`{model}`, beside torch.compile", *(f"{times} times", "none") * len(BANDWIDTH)]


def traffic_rows():
    """Yields the cells of the page's table of bytes and FLOPs."""
    for model in ("large", "default", "tiny"):
        moved = [sum(one.bytes for one in traffic.step(model) if part in ("", one.part)) / 1e6
                 for part in ("", *traffic.PARTS)]
        yield [f"`{model}`", f"{flops_per_position(*FULL.rates[model][:3]) / 1e6:,.0f}",
               *(f"{size:#.3g}" for size in moved),
               *(f"{1e6 * seconds(model, card):#.3g}" for card in BANDWIDTH)]


if __name__ == "__main__":
    for row in [*target_rows(), *traffic_rows()]:
        print(f"| {' | '.join(row)} |")
