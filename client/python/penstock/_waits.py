"""Measures how long a consumer blocks."""

from __future__ import annotations

import time


class Waits:
    """How long the consumer blocked. Waits for the first batch are counted separately."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.first_seconds = 0.0
        self.starts = 0
        self.count = 0
        self._elapsed = 0.0  # Seconds in the periods that have ended.
        self._began: float | None = None

    def start(self) -> None:
        """Call this when START was sent. The period ends, and the next one begins with its first
        batch."""
        self.starts += 1
        self._elapsed += self._period()
        self._began = None

    def add(self, began: float, ended: float, first: bool) -> None:
        """Adds a wait of the consumer, from `began` to `ended`. `first`: it waited for the first
        batch."""
        if first:
            self.first_seconds += ended - began
        else:
            self.seconds += ended - began
            self.count += 1

    def has_batch(self) -> None:
        """Call this when a batch has arrived. If it is the first one, the period begins."""
        if self._began is None:
            self._began = time.perf_counter()

    def _period(self) -> float:
        return 0.0 if self._began is None else time.perf_counter() - self._began

    @property
    def elapsed(self) -> float:
        """Seconds since the first batch, summed over all STARTs."""
        return self._elapsed + self._period()
