"""Random draws for rows, which depend only on the row and not on the process that draws."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock.batch import Batch

Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Size = int | Sequence[int]

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157))
_BUMPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_ROUNDS = 10
_WORDS = 4  # Number of words that one call of the cipher gives.
_MASK = (1 << 64) - 1


class RowRandom:
    """Draws random values for the rows of one batch.

    Row i draws from NumPy's Philox generator with the key (seed, epoch) and a counter that
    contains position + first_row + i. So the draws of a row do not depend on the world size, on
    the batch's other rows, or on the number of draws that other rows make.

    The methods draw for all rows at once. Each continues where the previous one stopped:
    `rng.uniform(0, 1)[i]` is the first result of `rng.row(i).uniform(0, 1)`.

    Example:
        def augment(batch, rng):
            brightness = rng.uniform(0.8, 1.2)                    # float64 [rows]
            flip = rng.integers(0, 2)                             # int64 [rows]
            noise = rng.normal(0, 0.1, size=(8, 8))               # float64 [rows, 8, 8]
            ...
    """

    def __init__(self, seed: int, epoch: int, first: int, rows: int, stage: int = 0) -> None:
        self._key = (seed & _MASK, epoch & _MASK)
        self._first = first
        self._stage = stage
        self._drawn = 0  # Number of words that each row has drawn.
        self.rows = rows

    @classmethod
    def of_batch(cls, seed: int, batch: Batch, stage: int = 0) -> RowRandom:
        """Returns the draws of a batch. `stage` distinguishes several functions on the same batch.
        """
        return cls(seed, batch.epoch, batch.position + batch.first_row, batch.rows, stage)

    def row(self, i: int) -> np.random.Generator:
        """Returns a generator for row i only, from its first draw on.

        Errors:
            IndexError: the batch has no row i.
        """
        if not 0 <= i < self.rows:
            raise IndexError(f"row {i} of {self.rows}")
        counter = [0, 0, self._stage, (self._first + i) & _MASK]
        key = np.array(self._key, np.uint64)
        return np.random.Generator(
            np.random.Philox(key=key, counter=np.array(counter, np.uint64))
        )

    def random(self, size: Size = ()) -> Floats:
        """Returns values that are uniform in [0, 1): float64 [rows, *size]."""
        words = self._words(_shape(size))
        draws: Floats = (words >> np.uint64(11)).astype(np.float64) * (1.0 / (1 << 53))
        return draws

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Size = ()) -> Floats:
        """Returns values that are uniform in [low, high): float64 [rows, *size]."""
        return low + (high - low) * self.random(size)

    def integers(
        self, low: int, high: int | None = None, size: Size = ()
    ) -> npt.NDArray[np.int64]:
        """Returns integers in [low, high), or in [0, low) without `high`: int64 [rows, *size].

        NumPy's `row(i).integers()` uses another method and gives other numbers.

        Errors:
            ValueError: the interval is empty or too large.
        """
        low, high = (0, low) if high is None else (low, high)
        if not low < high <= low + (1 << 63):
            raise ValueError(f"the interval [{low}, {high}) is empty or has more than 2^63 numbers")
        high_word, _ = _multiply(self._words(_shape(size)), np.uint64(high - low))
        return high_word.astype(np.int64) + low

    def normal(self, mean: float = 0.0, deviation: float = 1.0, size: Size = ()) -> Floats:
        """Returns values of the normal distribution: float64 [rows, *size].

        NumPy's `row(i).normal()` uses another method and gives other numbers.
        """
        pairs = self.random((*_shape(size), 2))
        radius = np.sqrt(-2.0 * np.log1p(-pairs[..., 0]))
        result: Floats = mean + deviation * radius * np.cos(2.0 * math.pi * pairs[..., 1])
        return result

    def _words(self, shape: tuple[int, ...]) -> Words:
        """Returns the next words of each row: uint64 [rows, *shape]."""
        count = math.prod(shape)
        begin, end = self._drawn, self._drawn + count
        self._drawn = end
        first, last = begin // _WORDS, -(-end // _WORDS)
        # NumPy increments the counter before its first call of the cipher.
        calls = np.arange(first + 1, last + 1, dtype=np.uint64)
        rows = np.uint64(self._first & _MASK) + np.arange(self.rows, dtype=np.uint64)
        blocks = _philox(calls, rows, np.uint64(self._stage), self._key)
        skipped = begin - first * _WORDS
        words = blocks.reshape(self.rows, _WORDS * len(calls))[:, skipped : skipped + count]
        return words.reshape(self.rows, *shape)


def _shape(size: Size) -> tuple[int, ...]:
    return (size,) if isinstance(size, int) else tuple(size)


def _multiply(a: Words, b: np.uint64) -> tuple[Words, Words]:
    """Returns the high and the low 64 bits of the products."""
    a_high, a_low = a >> _HALF, a & _LOW
    b_high, b_low = b >> _HALF, b & _LOW
    middle = a_high * b_low + (a_low * b_low >> _HALF)
    other = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF), a * b


def _philox(calls: Words, rows: Words, stage: np.uint64, key: tuple[int, int]) -> Words:
    """Computes Philox 4x64 with 10 rounds: uint64 [rows, calls, 4]."""
    shape = (len(rows), len(calls))
    x0 = np.broadcast_to(calls, shape)
    x1 = np.zeros(shape, np.uint64)
    x2 = np.full(shape, stage)
    x3 = np.broadcast_to(rows[:, None], shape)
    key0, key1 = key
    for _ in range(_ROUNDS):
        high0, low0 = _multiply(x0, _MULTIPLIERS[0])
        high1, low1 = _multiply(x2, _MULTIPLIERS[1])
        x0, x1 = high1 ^ x1 ^ np.uint64(key0), low1
        x2, x3 = high0 ^ x3 ^ np.uint64(key1), low0
        key0, key1 = (key0 + _BUMPS[0]) & _MASK, (key1 + _BUMPS[1]) & _MASK
    return np.stack([x0, x1, x2, x3], axis=-1)
