"""Writes TFRecord shards of products: numbers, texts, lists of any length, and optional ratings.

python3 deploy/demo/products.py FOLDER
"""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/e2e"))
from tfrecord import example, frame

SHARDS, EACH = 4, 500
THINGS = ["lamp", "chair", "mug", "umbrella", "rug"]  # The place in this list is the category.
COLOURS = ["red", "green", "blue", "white", "turquoise"]


def product(rng):
    category = rng.randrange(len(THINGS))
    features = {
        "id": rng.randrange(2**61, 2**62),
        "name": f"{rng.choice(COLOURS)} {THINGS[category]}".encode(),
        "price": round(rng.uniform(1, 200), 2),
        "words": [rng.randrange(30000) for _ in range(rng.randint(1, 12))],
        "category": category,
    }
    if rng.random() < 2 / 3:
        features["rating"] = rng.randint(2, 10) / 2
    return example(**features)


def write_products(folder):
    """Writes folder/products-NUMBER.tfrecord. The files are the same each time."""
    rng = random.Random(1)
    folder.mkdir(parents=True)
    for shard in range(SHARDS):
        records = b"".join(frame(product(rng)) for _ in range(EACH))
        (folder / f"products-{shard}.tfrecord").write_bytes(records)


if __name__ == "__main__":
    write_products(pathlib.Path(sys.argv[1]))
