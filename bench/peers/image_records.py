"""Writes and reads TFRecord shards of images without Penstock."""

import pathlib
import sys

import numpy as np
import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests/e2e"))
from chess_records import features
from tfrecord import example, frame

GRID = 4  # Number of squares of one colour along a side of a pattern.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # See trainer/model/pixel_scale.h.


def pattern(rng, side):
    colours = rng.random((GRID, GRID, 3))
    at = np.arange(side) * GRID // side
    return colours[at][:, at]


def write_shards(folder, side, labels, images, shards=4):
    """Writes images: a quarter their label's pattern, half a random pattern, a quarter noise."""
    rng = np.random.default_rng(1)
    patterns = [pattern(rng, side) for _ in labels]
    folder.mkdir()
    for shard in range(shards):
        with open(folder / f"images-{shard}.tfrecord", "wb") as out:
            for _ in range(images // shards):
                number = int(rng.integers(len(labels)))
                image = (patterns[number] / 4 + pattern(rng, side) / 2
                         + rng.random((side, side, 3)) / 4)
                pixels = (image * 255).astype(np.uint8).tobytes()
                out.write(frame(example(image=pixels, label=labels[number])))


def decode_spec(side):
    return (f'tensor {{ name: "image" bytes {{ feature: "image" length: {side * side * 3} }} }}\n'
            'tensor { name: "label" label { feature: "label" } }\n')


def parse(payload):
    """(pixels, class) of a record."""
    values = features(payload)
    return values["image"], values["label"]


def tensors(records, side):
    """Normalized images [n, side, side, 3] and classes [n]."""
    pixels = np.frombuffer(b"".join(image for image, _ in records), np.uint8)
    pixels = torch.from_numpy(pixels.reshape(len(records), side, side, 3).astype(np.float32))
    images = (pixels / 255 - torch.tensor(MEAN)) / torch.tensor(DEVIATION)
    return images, torch.tensor([label for _, label in records])
