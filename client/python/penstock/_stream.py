"""Takes the batches of one feed in order: START, announcements, waits, errors and the end."""

from __future__ import annotations

import atexit
import collections
import contextlib
import itertools
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from penstock import _pinning as pinning
from penstock import _protocol as protocol
from penstock._feed import Feed
from penstock._layout import Layout, row_bytes
from penstock._options import in_keywords
from penstock._slots import MAX_SLOTS, MIN_SLOTS, Slots
from penstock._version import __version__
from penstock._waits import Waits
from penstock.batch import Batch
from penstock.errors import Error, FeedError, SlotsHeldError, from_status

COPIES = ("auto", "never", "always")
_STATS_SECONDS = 1.0
_COPY_POLL_MS = 1


class EndOfStream(Exception):
    """No step is left."""


class BatchStream:
    """Takes batches from a feed. One thread at a time takes; any thread may call stats().

    `spawn` starts a feed. It is called again if the feed has died and the stream must start anew.
    """

    def __init__(
        self,
        spawn: Callable[[], Feed],
        make_layout: Callable[[dict[str, Any]], Layout],
        copy: str = "auto",
        pin: str | None = None,
    ) -> None:
        self._spawn = spawn
        self._copy = copy
        self._pin = pin
        self._reading = threading.Lock()
        self._parser = protocol.Parser()
        self._ready: collections.deque[protocol.Announcement] = collections.deque()
        self._slots: Slots | None = None
        self._started = self._closed = self._exiting = self._forked = False
        self._generation = 0
        self._error: dict[str, Any] | None = None  # The status that ended this generation.
        self._ended = False  # Whether the last step of this generation has been announced.
        self._dead = False  # Whether the feed can no longer be used.
        # Whether bytes are in flight to or from the feed. An interruption loses them.
        self._unsure = False
        self._announced = 0  # Number of the step after the last one that has arrived.
        self._begin = ""  # The cursor of the current START; empty means the beginning.
        self._last: protocol.Announcement | None = None
        self._next_step = 0
        self._used = self._limit = self._group = 0
        self._stats_arrived = threading.Event()
        self._stats: dict[str, Any] = {}
        self._metrics = ""
        self.number = next(_numbers)
        self._batches_before = 0  # Number of batches handed out before the last seek().
        self._rows = 0  # Number of rows handed out.
        self._warned = False
        self.waits = Waits()
        self._feed = spawn()
        try:
            self.ready = self._handshake()
            self.layout = make_layout(self.ready)
        except BaseException:
            self._feed.close(quiet=True)
            raise
        self.copies = pinning.RegisteredCopies() if pin == "register" else None
        self.layout.copies = self.copies
        _streams.add(self)

    # Starting.

    def _handshake(self) -> dict[str, Any]:
        """Returns the content of READY."""
        messages: list[protocol.Message] = []
        while not messages:
            self._feed.wait()
            messages = self._parser.parse(self._feed.receive(), 0, self._ready)
        message = messages[0]
        if message.kind == protocol.ERROR:
            raise in_keywords(from_status(message.json()))
        ready = message.json() if message.kind == protocol.READY else {}
        if ready.get("protocol") != protocol.PROTOCOL or ready.get("version") != __version__:
            raise FeedError(
                f"this package has version {__version__}, but {self._feed.path} has version "
                f"{ready.get('version', 'unknown')}: install the same version of both, or set "
                "PENSTOCK_BIN to the folder of the matching programs"
            )
        return ready

    def seek(self, cursor: str) -> None:
        """Continues at `cursor`; empty: at the beginning. Before the start it only sets the place.
        """
        self._check_usable()
        with self._reading:
            self._begin, self._last = cursor, None
            self._batches_before += self._next_step
            self._next_step = 0
            if self._started:
                self._start()

    @property
    def untouched(self) -> bool:
        """Whether no batch was taken since the start or the last seek()."""
        return self._next_step == 0

    @property
    def next_step(self) -> int:
        """Number of batches that were taken since the beginning or the last seek()."""
        return self._next_step

    def cursor(self) -> str:
        """Returns the place after the last batch that was handed out."""
        last = self._last
        if last is not None:
            return self.layout.cursor(last[protocol.END_EPOCH], last[protocol.END_POSITION])
        return self._begin or self.layout.cursor(0, 0)

    def place(self) -> tuple[int, int, bool]:
        """Returns epoch and position of cursor(), and whether the epoch has ended there."""
        last = self._last
        if last is not None:
            ended = bool(last[protocol.FLAGS] & protocol.LAST_OF_EPOCH)
            epoch, position = last[protocol.END_EPOCH], last[protocol.END_POSITION]
            return epoch, position, ended and epoch == last[protocol.EPOCH]
        epoch, position = (int(part) for part in self.cursor().split("-")[2:])
        return epoch, position, False

    def _start(self) -> None:
        """Sends START for the batches after the last one that was handed out."""
        begin = self._begin if self._last is None else self.cursor()
        if self._dead or self._unsure or self._feed.dead:
            self._revive()
        self._unsure = True
        self._ready.clear()
        self._error, self._ended = None, False
        self._generation += 1
        slots, fd = self._make_slots()
        slots.begin(self._generation, self._feed.socket)
        try:
            request = protocol.start_request(
                self._generation, begin, slots.count, self._next_step
            )
            self._feed.send(request, fd)
        finally:
            slots.memory.close_fd()
        self._begin, self._last = begin, None
        self._announced = self._next_step
        self._started = True
        self._unsure = False
        self.waits.start()

    def _make_slots(self) -> tuple[Slots, int | None]:
        """Returns slots that nobody holds, and the descriptor to send; None if the feed has it
        already."""
        if self.copies is not None:
            self.copies.sweep()
        if self._slots is not None and self._slots.num_held() == 0:
            return self._slots, None
        if self._slots is not None:
            self._slots.retire()
        count = min(max(int(self.ready["slots"]), MIN_SLOTS), MAX_SLOTS)
        slots = self._slots = Slots(count, int(self.ready["slot_bytes"]))
        if self._pin == "register":
            pinning.register(slots.memory)
        self._used = 0
        # Two slots stay with the feed: one that it fills, and one in flight.
        self._limit = -1 if self._copy == "always" else count - 2
        self._group = max(1, count // 4)
        return slots, slots.memory.fd

    def _revive(self) -> None:
        """Replaces a feed that died, or that is out of step, by another one."""
        self._dead = True  # Set first, in case this is interrupted.
        self._feed.close()
        if self._slots is not None:
            self._slots.retire()
            self._slots = None
        self._parser = protocol.Parser()
        self._generation = 0
        self._feed = self._spawn()
        # Another thread may have closed the stream, and may have seen only the old feed.
        if self._closed:
            self._feed.close(quiet=True)
            self._check_usable()
        ready = self._handshake()
        self.ready["metrics"] = ready["metrics"]  # Port 0 may have become another one.
        if ready != self.ready:
            raise FeedError(
                "the dataset or its spec changed since this Loader was made: make another Loader"
            )
        self._dead = self._unsure = False

    # Taking.

    def take(self) -> Batch:
        """Returns the next batch. EndOfStream: there is none. Other errors come from the feed.

        If a signal handler raises during this call, nothing is lost: the next call returns the
        batch that this one would have returned.
        """
        record = self._ready.popleft() if self._ready else self._await()
        # If STEP differs, a call was interrupted and its batch was lost.
        if record[4] != self._next_step:
            return self._take_again()
        slots = self._slots
        self._used = used = self._used + 1
        if used > self._limit:
            base = self._take_copy(record)
        else:
            base = slots.take(record[2])  # type: ignore[union-attr]
        if len(slots.route[0]) >= self._group:  # type: ignore[union-attr]
            self._flush()
        batch = self.layout.make(base, record)
        self._next_step = record[4] + 1
        self._rows += record[8]  # record[8] is ROWS.
        self._last = record
        return batch

    def _take_again(self) -> Batch:
        with self._reading:
            self._start()
        return self.take()

    def _take_copy(self, record: protocol.Announcement) -> Any:
        """Returns the bytes of a slot, or a copy of them if too few slots are free."""
        slots = self._slots
        assert slots is not None
        if self.copies is not None:
            self.copies.sweep()
        self._used = slots.num_held() + 1
        if self._used <= self._limit:
            return slots.take(record[protocol.SLOT])
        if self._copy == "never":
            self._ready.appendleft(record)
            raise SlotsHeldError(
                f"you hold {self._used - 1} of {slots.count} batches in shared memory: drop some, "
                'raise look_ahead, or give copy="auto"'
            )
        if self._copy == "auto" and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._used - 1} of {slots.count} batches in shared memory are held, so this one "
                "and others are copied. Drop batches that you have used, or raise look_ahead",
                RuntimeWarning,
                stacklevel=4,
            )
        self._used -= 1
        return slots.take(record[protocol.SLOT]).copy()

    def _await(self) -> protocol.Announcement:
        """Waits for the next announcement and returns it."""
        self._check_usable()
        try:
            with self._reading:
                self._recover()
                if self._feed.log_due:
                    self._feed.forward_log()
                while not self._ready:
                    self._check_outcome()
                    if not self._receive():
                        self._wait()
                self.waits.has_batch()
                return self._ready.popleft()
        except Exception:
            self._check_usable()  # If another thread has closed the stream, that is the cause.
            raise

    def _recover(self) -> None:
        """Starts, or starts again if a signal handler raised in the middle of an operation."""
        unsure = self._unsure
        self._dead = self._dead or unsure  # This feed may be out of step.
        lost = self._announced - len(self._ready) != self._next_step
        if not self._started or unsure or lost:
            self._start()

    def _check_usable(self) -> None:
        if self._exiting and threading.current_thread() is not threading.main_thread():
            # A daemon thread ends with the interpreter, without an exception.
            threading.Event().wait()
        if self._closed:
            raise RuntimeError("this Loader is closed")
        if self._forked:
            raise RuntimeError(
                f"this Loader belongs to process {self._feed.owner}, which forked process "
                f"{os.getpid()}: make a Loader in the process that reads it"
            )

    def _check_outcome(self) -> None:
        if self._error is not None:
            raise in_keywords(from_status(self._error))
        if self._dead:
            raise self._feed.death()
        if self._ended:
            raise EndOfStream

    def _receive(self) -> bool:
        """Takes in everything that has arrived. Returns False if nothing has."""
        self._unsure = True
        try:
            data = self._feed.receive()
        except Error:
            self._unsure, self._dead = False, True
            raise
        arrived: collections.deque[protocol.Announcement] = collections.deque()
        messages = self._parser.parse(data, self._generation, arrived)
        if arrived:  # Do not look at _ready, from which another thread may take at the same time.
            self._announced = arrived[-1][protocol.STEP] + 1
            self._ready.extend(arrived)
        for message in messages:
            self._note(message)
        self._unsure = False
        return bool(data)

    def _flush(self) -> None:
        """Sends as many releases as the feed reads."""
        self._unsure = True
        if self._slots is not None:
            self._slots.flush()
        self._unsure = False

    def _note(self, message: protocol.Message) -> None:
        if message.kind == protocol.STATS:
            self._stats = message.json()
            self._metrics = self._stats.pop("metrics", self._metrics)
            self._stats_arrived.set()
        elif message.kind == protocol.ERROR and message.generation == 0:
            # The feed did not understand a request.
            self._error, self._dead = message.json(), True
        elif message.generation != self._generation:
            return
        elif message.kind == protocol.END:
            self._ended = True
        elif message.kind == protocol.ERROR:
            self._error = message.json()

    def _wait(self) -> None:
        """Tells the feed that the consumer waits, and blocks until something arrives."""
        slots = self._slots
        assert slots is not None
        began = time.perf_counter()
        slots.urgent = True
        try:
            self._flush()
            self._feed.send(protocol.request(protocol.WAITING, self._generation, self._next_step))
            while not self._feed.wait(self._poll_ms()):
                self._check_usable()
                self._flush()
        except Error:
            self._unsure, self._dead = False, True
            raise
        finally:
            slots.urgent = False
            self.waits.add(began, time.perf_counter(), first=self._last is None)

    def _poll_ms(self) -> int:
        running = self.copies is not None and self.copies.sweep() > 0
        return _COPY_POLL_MS if running else 1000

    # Reporting.

    def feed_stats(self) -> dict[str, Any]:
        """Returns the feed's counters, or the last ones if it does not answer within a second."""
        self._ask(0)
        return self._stats

    def metrics_page(self) -> str:
        """Returns the feed's metrics, or the last ones if it does not answer within a second."""
        self._ask(protocol.WITH_METRICS)
        return self._metrics

    def _ask(self, value: int) -> None:
        if self._started and not (self._dead or self._closed or self._forked):
            with contextlib.suppress(Error):
                self._stats_arrived.clear()
                self._feed.send(protocol.request(protocol.ASK_STATS, self._generation, value))
                self._await_stats()

    def _await_stats(self) -> None:
        deadline = time.monotonic() + _STATS_SECONDS
        while (left := deadline - time.monotonic()) > 0 and not self._stats_arrived.is_set():
            # A thread that waits for a batch reads the answer too.
            if not self._reading.acquire(blocking=False):
                self._stats_arrived.wait(min(left, 0.01))
                continue
            try:
                if not self._receive():
                    self._feed.wait(int(1000 * left) + 1)
            finally:
                self._reading.release()

    def taken(self) -> dict[str, int]:
        """Returns the amounts that were handed out."""
        size = sum(row_bytes(tensor) for tensor in self.layout.tensors)
        batches = self._batches_before + self._next_step
        return {"batches": batches, "rows": self._rows, "bytes": self._rows * size}

    def num_held(self) -> int:
        """Number of slots that belong to batches that were handed out."""
        return 0 if self._slots is None else self._slots.num_held()

    @property
    def num_slots(self) -> int:
        """Number of slots; 0 before the start."""
        return 0 if self._slots is None else self._slots.count

    # Ending.

    def close(self) -> None:
        """Ends the feed. Batches that you hold stay valid. May be called again."""
        if self._closed or self._forked:
            return
        self._closed = True
        try:
            self._let_go()
            self._feed.shut()  # Ends the wait of a thread that reads.
            # A signal handler may run on a thread that is in the middle of reading.
            locked = self._reading.acquire(timeout=_STATS_SECONDS)
            if locked:
                self._reading.release()
        finally:
            self._feed.close()  # Also after Ctrl-C, because nobody would end the feed later.

    def close_at_exit(self) -> None:
        """Ends the feed. Daemon threads that read keep waiting."""
        self._exiting = True
        self.close()

    def _let_go(self) -> None:
        self._ready = collections.deque()
        if self._slots is not None:
            self._slots.retire()
            self._slots.memory.close_fd()

    def abandon(self) -> None:
        """For a forked child: everything belongs to the parent."""
        if self._closed:
            return
        self._forked = True
        self._reading = threading.Lock()  # Another thread of the parent may have held the lock.
        self._let_go()
        self._feed.abandon()


_streams: weakref.WeakSet[BatchStream] = weakref.WeakSet()
_numbers = itertools.count()


def open_streams() -> list[BatchStream]:
    """Returns the streams of this process that are not closed, in the order of their making."""
    usable = [stream for stream in list(_streams) if not (stream._closed or stream._forked)]
    return sorted(usable, key=lambda stream: stream.number)


def _abandon_all() -> None:
    for stream in list(_streams):
        stream.abandon()


def _close_all() -> None:
    for stream in list(_streams):
        stream.close_at_exit()


os.register_at_fork(after_in_child=_abandon_all)
atexit.register(_close_all)
