#!/usr/bin/env python3
"""Draws docs/figures/mixing_*.svg from the output of `mixing_bench --json FILE`.

  python3 bench/plot_mixing.py FILE [--out docs/figures]
"""
import argparse
import json
import os
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plot_mixing.py needs matplotlib: apt-get install python3-matplotlib")

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

DATA = [("homogeneous_chunks", "homogeneous chunks"), ("games_of_80", "games of 80")]
SWEEPS = [
    ("K", "K, chunks of a window"),
    ("L", "L, lanes"),
    ("S", "S, records of a strip"),
    ("chunk_records", "records of a chunk"),
]
ORDERS = [
    ("file_order", "file order"),
    ("shuffle_buffer_10000", "buffer of 10,000"),
    ("plan", "Penstock's plan"),
    ("full_permutation", "full permutation"),
]
METRICS = [
    ("position_correlation", "correlation of a batch's positions"),
    ("label_entropy_bits", "entropy of a batch's labels, bits"),
    ("median_neighbour_distance", "median distance of neighbours, records"),
    ("neighbours_within_80", "share of neighbours within 80 records"),
]


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_sweeps(result, path):
    figure, axes = plt.subplots(2, 2, figsize=(9, 6), sharey=True)
    for axis, (name, label) in zip(axes.flat, SWEEPS):
        points = result["sweeps"][name]
        for key, title in DATA:
            axis.plot([p[name] for p in points], [p[key] for p in points], "o-", label=title)
        axis.axhline(1, color="grey", linewidth=0.8)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log", base=2)
        for scale in (axis.xaxis, axis.yaxis):
            scale.set_major_formatter("{x:g}")
        axis.set_xlabel(label)
    for axis in axes[:, 0]:
        axis.set_ylabel("variance of a batch mean")
    axes[0][0].legend(frameon=False)
    save(figure, path)


def draw_positions(result, path):
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.2))
    for axis, (key, label) in zip(axes, METRICS):
        values = [result["positions"][order][key] for order, _ in ORDERS]
        axis.bar(range(len(values)), values, color=["C7", "C1", "C0", "C2"])
        axis.set_xticks(range(len(values)), [title for _, title in ORDERS], rotation=30, ha="right")
        axis.set_title(label, fontsize=9)
        if key == "label_entropy_bits":
            axis.set_ylim(min(values) - 0.05, 4)
    save(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--out", default="docs/figures")
    options = parser.parse_args()
    plt.rcParams["svg.hashsalt"] = "penstock"
    with open(options.file) as file:
        result = json.load(file)
    draw_sweeps(result, os.path.join(options.out, "mixing_sweeps.svg"))
    if "positions" in result:
        draw_positions(result, os.path.join(options.out, "mixing_positions.svg"))


if __name__ == "__main__":
    main()
