"""JPEG files like photographs, and helpers for their TFRecord shards. They are reproducible."""

import os
import struct

import numpy as np
from PIL import Image

CLASSES = 8
SAMPLINGS = {"420": 2, "444": 0}  # Pillow's values of `subsampling`.


def draw(rng, width=640, height=480):
    """A picture [height, width, 3]: a gradient, waves, edges and some noise, all random."""
    x, y = np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)[:, None]
    slope, step = rng.uniform(40, 120, 2), rng.uniform(40, 90, 2)
    picture = rng.random((height, width, 3), np.float32) * 6
    shape = 30 + slope[0] * x / width + slope[1] * y / height
    shape += 40 * ((x / step[0] + y / step[1]).astype(int) % 3 == 0)
    for c, (across, down) in enumerate(rng.uniform(9, 30, (3, 2))):
        picture[..., c] += shape + 30 * np.sin(x / across) * np.cos(y / down)
    return np.clip(picture, 0, 255).astype(np.uint8)


def write_pictures(folder, count, sampling, progressive):
    """Writes CLASS/NUMBER.jpg of quality 90; returns the paths."""
    rng = np.random.default_rng(1)
    paths = [folder / str(i % CLASSES) / f"{i:05}.jpg" for i in range(count)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw(rng)).save(path, quality=90, subsampling=SAMPLINGS[sampling],
                                        progressive=progressive)
    return paths


def repeat_shards(folder, times):
    """Gives each shard of the folder so many names, which follow each other in the order of names."""
    for shard in sorted(folder.glob("*.tfrecord")):
        for k in range(1, times):
            os.link(shard, folder / f"{shard.stem}-{k}.tfrecord")


def write_record_offsets(shard, index):
    """Writes a line OFFSET SIZE for each record, as DALI requires."""
    data, at = shard.read_bytes(), 0
    with open(index, "w") as out:
        while at < len(data):
            # A frame is the length, its CRC, the payload, and its CRC.
            size = 16 + struct.unpack_from("<Q", data, at)[0]
            out.write(f"{at} {size}\n")
            at += size
