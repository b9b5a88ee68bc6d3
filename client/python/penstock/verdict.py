"""Tells in a few words whether training waits for its input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock._waits import Waits

_WAITS = 0.05  # Share of the time. If more is spent waiting, the waits are worth fixing.
_SOON = 1.0  # Seconds that must pass before a share is meaningful.

Bound = Literal["input", "compute", "unknown"]


@dataclass(frozen=True)
class Verdict:
    """What limited the loop that took batches, from its first batch until now.

    bound: "input" if more than 5 % of the time was spent waiting for batches, "compute" if less
        was, "unknown" in the first second.
    waiting: the share of the time that was spent waiting, from 0 to 1.
    seconds: the time that this covers, without the waits for first batches.
    first_batches: the seconds that were spent waiting for the first batch after each start: the
        first `next`, a `load_state_dict`, or a `for` of an evaluation loader.
    starts: the number of starts.
    late: servers that missed deadlines, with the number of requests; others did their work.
    away: servers without a connection, with the cause.

    It covers this rank only, and only the time that `next` blocks. Copies to a device and your own
    functions, including those of `map`, do not count.
    """

    bound: Bound
    waiting: float
    seconds: float
    first_batches: float
    starts: int
    late: Mapping[str, int]
    away: Mapping[str, str]

    def __str__(self) -> str:
        parts = [self._first_words()]
        parts += [f"{server} was late {times} times" for server, times in self.late.items()]
        parts += [f"{server} is away: {why}" for server, why in self.away.items()]
        return "; ".join(parts)

    def _first_words(self) -> str:
        first = ""
        if self.starts > 0:
            which = "first batch" if self.starts == 1 else f"{self.starts} first batches"
            first = f"{which} {self.first_batches:.1f} s"
        if self.bound == "unknown":
            return ", ".join(filter(None, ["too early to tell what limits this rank", first]))
        share = f"{100 * self.waiting:.1f} % of {self.seconds:.0f} s waiting for batches"
        share = f"{first}, then {share}"
        if self.bound == "input":
            return f"input-bound: {share} (see penstock bench for what would help)"
        return f"compute-bound: {share}"


def judge(waits: Waits, servers: Sequence[Mapping[str, Any]]) -> Verdict:
    """Returns the verdict on the waits of a consumer, with the servers of the feed's STATS."""
    elapsed = waits.elapsed
    waiting = min(1.0, waits.seconds / elapsed) if elapsed > 0 else 0.0
    bound: Bound = "unknown"
    if elapsed >= _SOON:
        bound = "input" if waiting > _WAITS else "compute"
    remote = [server for server in servers if server.get("address") != "local:"]
    late = {s["address"]: s["late_requests"] for s in remote if s.get("late_requests")}
    away = {
        s["address"]: s.get("problem") or "not connected yet"
        for s in remote
        if not s.get("connected", True)
    }
    return Verdict(bound, waiting, elapsed, waits.first_seconds, waits.starts, late, away)
