"""TFRecord shards of images, written and read without Penstock."""

import struct

import numpy as np
import torch

from chess_records import features

GRID = 4  # Squares of one colour along a side of a pattern.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # As trainer/model/pixel_scale.h.


def crc_table():
    table = list(range(256))
    for _ in range(8):
        table = [c >> 1 ^ (0x82f63b78 if c & 1 else 0) for c in table]
    return table


CRC_TABLE = crc_table()


def masked_crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xffffffff
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def frame(payload):
    length = struct.pack("<Q", len(payload))
    return length + masked_crc32c(length) + payload + masked_crc32c(payload)


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(image, label):
    """A tf.train.Example of `image` (bytes) and `label` (int64)."""
    entries = {"image": field(1, field(1, image)), "label": field(3, field(1, varint(label)))}
    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, value))
                             for name, value in entries.items()))


def pattern(rng, side):
    colours = rng.random((GRID, GRID, 3))
    at = np.arange(side) * GRID // side
    return colours[at][:, at]


def write_shards(folder, side, labels, images, shards=4):
    """Images a quarter of their label's pattern, half of another at random, a quarter of noise."""
    rng = np.random.default_rng(1)
    patterns = [pattern(rng, side) for _ in labels]
    folder.mkdir()
    for shard in range(shards):
        with open(folder / f"images-{shard}.tfrecord", "wb") as out:
            for _ in range(images // shards):
                number = int(rng.integers(len(labels)))
                image = (patterns[number] / 4 + pattern(rng, side) / 2
                         + rng.random((side, side, 3)) / 4)
                out.write(frame(example((image * 255).astype(np.uint8).tobytes(), labels[number])))


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
