"""Copies to a CUDA device straight from the slots, which are registered with CUDA.

A slot must not be filled again while a copy from it runs. Each copy therefore has an event, and
its slot is held until the event has passed.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from penstock._slots import Memory


class Event(Protocol):
    """A CUDA event that was recorded behind a copy."""

    def record(self) -> None:
        """Puts it behind what the current stream has to do."""

    def query(self) -> bool:
        """Whether the copy has ended."""


class RegisteredCopies:
    """The copies that run, with what they read. Thread-safe."""

    def __init__(self, record_event: Callable[[Any], Event] | None = None) -> None:
        self._record_event = record_event or _record_event
        self._running: collections.deque[tuple[Event, Any]] = collections.deque()
        self._sweeping = threading.Lock()

    def copy(
        self, tensors: Mapping[str, Any], base: Any, device: Any
    ) -> list[tuple[str, Any]]:
        """Begins to copy `tensors`, which lie in `base`, to `device`."""
        copied = [(name, tensor.to(device, non_blocking=True)) for name, tensor in tensors.items()]
        # The tensors too: one that does not lie in `base` keeps its own memory.
        self._running.append((self._record_event(device), (base, list(tensors.values()))))
        self.sweep()
        return copied

    def sweep(self) -> int:
        """Lets go of slots whose copies have ended; returns how many copies run still."""
        if self._sweeping.acquire(blocking=False):  # Else another thread does it.
            try:
                while self._running and self._running[0][0].query():
                    self._running.popleft()
            finally:
                self._sweeping.release()
        return len(self._running)


def _record_event(device: Any) -> Event:
    import torch

    with torch.cuda.device(device):
        event: Event = torch.cuda.Event()
        event.record()
    return event


def register(memory: Memory) -> None:
    """Makes `memory` known to CUDA, for as long as it is mapped.

    Errors:
        RuntimeError: CUDA refuses.
    """
    import torch

    torch.cuda.init()
    cudart = torch.cuda.cudart()
    torch.cuda.check_error(int(cudart.cudaHostRegister(memory.address, memory.size, 0)))
    memory.before_unmap = cudart.cudaHostUnregister
