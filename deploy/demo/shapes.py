"""Draws images of four classes: circles, crosses, squares and triangles.

python3 deploy/demo/shapes.py FOLDER
"""

import math
import pathlib
import random
import sys

from png import png_of_rows

EACH = 250
DOTS = 12


def circle(y, radius):
    half = math.sqrt(radius * radius - y * y)
    return -half, half


def cross(y, radius):
    half = radius if abs(y) < radius / 3 else radius / 3
    return -half, half


def square(y, radius):
    return -radius, radius


def triangle(y, radius):
    half = (y + radius) / 2
    return -half, half


# How wide a shape is `y` below its middle, for y from -radius to radius: from where to where.
SHAPES = {"circle": circle, "cross": cross, "square": square, "triangle": triangle}


def colour(rng):
    return [rng.randrange(256) for _ in range(3)]


def unlike(rng, others):
    """A colour that can be told from the others."""
    while True:
        chosen = colour(rng)
        if all(sum(abs(a - b) for a, b in zip(chosen, other)) > 200 for other in others):
            return chosen


def background(width, height, top, bottom):
    """Rows that turn from one colour into another."""
    def row(share):
        return bytearray(bytes(round(a + (b - a) * share) for a, b in zip(top, bottom)) * width)
    return [row(y / height) for y in range(height)]


def fill(row, left, right, pixel):
    """Of the row's width, whatever `left` and `right` are."""
    begin, end = max(0, round(left)), min(len(row) // 3, round(right))
    if begin < end:
        row[3 * begin:3 * end] = bytes(pixel) * (end - begin)


def draw(shape, rng):
    """A PNG of one shape before dots, of a size, a place and colours of its own."""
    width, height = rng.randint(72, 128), rng.randint(72, 128)
    top = colour(rng)
    bottom = [min(255, max(0, c + rng.randint(-60, 60))) for c in top]
    rows = background(width, height, top, bottom)
    for _ in range(DOTS):
        x, y, side, pixel = rng.randrange(width), rng.randrange(height), rng.randint(2, 5), colour(rng)
        for row in rows[y:y + side]:
            fill(row, x, x + side, pixel)
    radius = rng.uniform(0.22, 0.45) * min(width, height)
    middle_x, middle_y = rng.uniform(radius, width - radius), rng.uniform(radius, height - radius)
    pixel = unlike(rng, [top, bottom])
    for y, row in enumerate(rows):
        below = y + 0.5 - middle_y
        if abs(below) < radius:
            left, right = shape(below, radius)
            fill(row, middle_x + left, middle_x + right, pixel)
    return png_of_rows(width, rows)


def draw_shapes(folder):
    """Writes folder/CLASS/NUMBER.png, the same files each time."""
    rng = random.Random(1)
    for name, shape in SHAPES.items():
        (folder / name).mkdir(parents=True)
        for number in range(EACH):
            (folder / name / f"{number:03}.png").write_bytes(draw(shape, rng))


if __name__ == "__main__":
    draw_shapes(pathlib.Path(sys.argv[1]))
