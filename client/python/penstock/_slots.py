"""The shared memory that holds batches, and the owners that give its slots back.

Each batch has an owner, which is the base of its arrays. So every array, view, torch storage or
DLPack capsule made from them keeps the owner alive. When the last one is gone, the owner tells the
feed that it may fill the slot again.

Nothing calls mmap.close(): the memory is freed when the last owner is gone.
"""

from __future__ import annotations

import collections
import fcntl
import mmap
import os
import socket
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _protocol as protocol
from penstock.errors import ResourceExhaustedError

MIN_SLOTS = 4
MAX_SLOTS = 65536
# A send of at most one page is never split, so finalizers on several threads need no lock.
_GROUP = 4096 // protocol.REQUEST_BYTES

Bytes = npt.NDArray[np.uint8]
_U1 = np.dtype("u1")


def make_memory(size: int) -> int:
    """Returns a descriptor of `size` bytes of memory that nobody can shrink or grow.

    Errors:
        ResourceExhaustedError: this machine has less memory than that.
    """
    if size > os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE:
        raise ResourceExhaustedError(
            f"batches need {size:,} bytes, and this machine has less memory: lower look_ahead or "
            "global_batch_size"
        )
    fd = os.memfd_create("penstock-slots", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, size)
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(fd)
        raise
    return fd


class Memory:
    """A mapping of such a descriptor, at `address` with `size` bytes.

    The constructor creates all pages, so they are on the NUMA node of its thread.
    """

    def __init__(self, size: int) -> None:
        self.fd = make_memory(size)
        try:
            self.map = mmap.mmap(self.fd, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        except OSError as error:
            self.close_fd()
            raise ResourceExhaustedError(f"mapping {size:,} bytes: {error}") from None
        self.size = size
        self.address: int = np.frombuffer(self.map, np.uint8).__array_interface__["data"][0]
        self.before_unmap: Callable[[int], Any] | None = None

    def close_fd(self) -> None:
        """Closes the descriptor. The mapping stays until the last owner is gone."""
        fd, self.fd = self.fd, -1  # A signal handler that raises must not close it a second time.
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if getattr(self, "before_unmap", None) is not None:
            self.before_unmap(self.address)  # type: ignore[misc]
        if getattr(self, "fd", -1) >= 0:
            self.close_fd()


_Route = tuple[collections.deque[int], "socket.socket | None", int]


class Slots:
    """The slots of one START: those that are held, and those to be released.

    Owners on other threads and in the garbage collector call nothing here that takes a lock.
    """

    def __init__(self, count: int, slot_bytes: int) -> None:
        self.count = count
        self.slot_bytes = slot_bytes
        self.memory = Memory(count * slot_bytes)
        self._map = self.memory.map
        self.held = bytearray(count)  # 1 means that a batch of the consumer owns this slot.
        # The destination of releases: slots to be released, the socket, the generation. It is
        # replaced as a whole, so that no slot of one generation is released in another.
        self.route: _Route = (collections.deque(), None, 0)
        # Set while the consumer blocks. An owner that is destroyed must then tell the feed at once.
        self.urgent = False

    def begin(self, generation: int, sock: socket.socket) -> None:
        """Begins a generation. No slot may be held."""
        self.route = (collections.deque(), sock, generation)

    def retire(self) -> None:
        """Ends the releases: the feed gets no more messages about held slots."""
        self.urgent = False
        self.route = (collections.deque(maxlen=0), None, 0)

    def num_held(self) -> int:
        """Returns the number of slots that batches of the consumer own."""
        return self.held.count(1)

    def take(self, number: int) -> Bytes:
        """Returns the bytes of a slot, which the caller owns until the last view of them is gone.
        """
        size = self.slot_bytes
        owner: _SlotOwner = _SlotOwner(size, _U1, self._map, number * size)
        owner.slots = self
        owner.number = number
        self.held[number] = 1
        return owner

    def flush(self) -> bool:
        """Sends releases without waiting. Returns False if some are left because the feed reads
        too slowly."""
        releases, sock, generation = self.route
        sent = True
        while releases and sock is not None and sent:
            group: list[int] = []
            try:
                while len(group) < _GROUP:
                    group.append(releases.popleft())
            except IndexError:
                pass  # Another thread took the rest.
            if group and not _send_now(sock, _messages(generation, group)):
                releases.extendleft(reversed(group))
                sent = False
        return sent

    @property
    def releases(self) -> collections.deque[int]:
        """The slots that are still to be released."""
        return self.route[0]


def _messages(generation: int, numbers: list[int]) -> bytes:
    request = protocol.request
    return b"".join([request(protocol.RELEASE, generation, number) for number in numbers])


class _SlotOwner(np.ndarray[Any, np.dtype[np.uint8]]):
    """The bytes of one slot, held for one batch.

    Arrays are made with this as their buffer, so it is their base. NumPy never looks through a
    base of another class for the memory's real owner, so views of views keep it too.

    A view that is itself of this class has no `slots`, and its end means nothing.
    """

    __slots__ = ("slots", "number")

    slots: Slots
    number: int

    def __del__(self) -> None:
        # May run on any thread, inside any allocation, and after modules have been removed.
        try:
            slots, number = self.slots, self.number
        except AttributeError:
            return  # A signal came before the attributes were set.
        # Clear this first, because another generation may begin once nothing is held.
        releases = slots.route[0]
        slots.held[number] = 0
        releases.append(number)
        if slots.urgent:
            slots.flush()


def _send_now(sock: socket.socket, data: bytes) -> bool:
    try:
        sock.send(data, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    except BlockingIOError:
        return False
    except OSError:
        pass  # The feed has ended; the code that reads the socket reports it.
    return True
