"""Draws images of four classes of patterns: checks, columns, dots and rows.

python3 deploy/demo/patterns.py FOLDER
"""

import pathlib
import random
import sys

from png import png_of_rows

EACH = 250


def checks(x, y, step):
    return (x // step + y // step) % 2


def columns(x, y, step):
    return x // step % 2


def dots(x, y, step):
    size = 2 * step
    return (x % size - step) ** 2 + (y % size - step) ** 2 < (0.7 * step) ** 2


def rows(x, y, step):
    return y // step % 2


# Each function tells whether a pixel is dark.
PATTERNS = {"checks": checks, "columns": columns, "dots": dots, "rows": rows}


def colour(rng, least, most):
    return bytes(rng.randint(least, most) for _ in range(3))


def draw(pattern, rng):
    """Returns a PNG of one pattern, with a size, a place and two colours of its own."""
    width, height = rng.randint(72, 128), rng.randint(72, 128)
    step = rng.randint(7, 12)
    left, top = rng.randrange(2 * step), rng.randrange(2 * step)
    light, dark = colour(rng, 140, 255), colour(rng, 0, 110)
    lines = [b"".join(dark if pattern(x + left, y + top, step) else light for x in range(width))
             for y in range(height)]
    return png_of_rows(width, lines)


def draw_patterns(folder):
    """Writes folder/CLASS/NUMBER.png. The files are the same each time."""
    rng = random.Random(1)
    for name, pattern in PATTERNS.items():
        (folder / name).mkdir(parents=True)
        for number in range(EACH):
            (folder / name / f"{number:03}.png").write_bytes(draw(pattern, rng))


if __name__ == "__main__":
    draw_patterns(pathlib.Path(sys.argv[1]))
