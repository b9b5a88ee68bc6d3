"""Copies to a CUDA device straight from the slots, which are registered with CUDA.

A slot must not be filled again while a copy from it runs. So each copy has an event, and its slot
is held until the event has completed.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from penstock._slots import Memory


class Event(Protocol):
    """A CUDA event that is recorded after a copy."""

    def record(self) -> None:
        """Records it after the work that is already in the current stream."""

    def query(self) -> bool:
        """Whether the copy has ended."""


class RegisteredCopies:
    """The running copies, with the memory that they read. Thread-safe."""

    def __init__(self, record_event: Callable[[Any], Event] | None = None) -> None:
        self._record_event = record_event or _record_event
        self._running: collections.deque[tuple[Event, Any]] = collections.deque()
        self._sweeping = threading.Lock()

    def copy(
        self, tensors: Mapping[str, Any], base: Any, device: Any
    ) -> list[tuple[str, Any]]:
        """Starts to copy `tensors`, which lie in `base`, to `device`."""
        copied = [(name, tensor.to(device, non_blocking=True)) for name, tensor in tensors.items()]
        # Hold the tensors too, because one that does not lie in `base` has memory of its own.
        self._running.append((self._record_event(device), (base, list(tensors.values()))))
        self.sweep()
        return copied

    def sweep(self) -> int:
        """Releases slots whose copies have ended. Returns the number of copies that still run."""
        if self._sweeping.acquire(blocking=False):  # Otherwise another thread sweeps.
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
    """Registers `memory` with CUDA, for as long as it is mapped.

    Errors:
        RuntimeError: CUDA refuses.
    """
    import torch

    torch.cuda.init()
    cudart = torch.cuda.cudart()
    torch.cuda.check_error(int(cudart.cudaHostRegister(memory.address, memory.size, 0)))
    memory.before_unmap = cudart.cudaHostUnregister
