"""The messages between a trainer and `penstock feed` (docs/reference/feed_protocol.md)."""

from __future__ import annotations

import json
import struct
from collections import deque
from typing import Any, NamedTuple

PROTOCOL = 1

# Messages from the feed.
READY, BATCH, END, ERROR, STATS = 1, 2, 3, 4, 5
# Messages to the feed.
START, RELEASE, WAITING, ASK_STATS = 1, 2, 3, 4

WITH_METRICS = 1  # The value of ASK_STATS that also asks for the page of metrics.

# An announcement is a plain tuple, because one is made for every batch. Its fields:
KIND, GENERATION, SLOT, FLAGS, STEP, EPOCH, POSITION = range(7)
FIRST_ROW, ROWS, GLOBAL_ROWS, END_EPOCH, END_POSITION = range(7, 12)
Announcement = tuple[int, ...]

LAST_OF_EPOCH = 1  # A bit of FLAGS.

_ANNOUNCEMENT = struct.Struct("<IIIIQQQQIIQQ")
_REQUEST = struct.Struct("<IIQ")
ANNOUNCEMENT_BYTES = _ANNOUNCEMENT.size
REQUEST_BYTES = _REQUEST.size


class Message(NamedTuple):
    """A message of the feed other than a batch."""

    kind: int
    generation: int
    text: str

    def json(self) -> dict[str, Any]:
        """Parses the text of READY, ERROR and STATS. ValueError: it is not a JSON object."""
        value = json.loads(self.text)
        if not isinstance(value, dict):
            raise ValueError(f"not a JSON object: {self.text[:80]}")
        return value


def request(kind: int, generation: int, value: int) -> bytes:
    """Returns a message to the feed."""
    return _REQUEST.pack(kind, generation, value)


def start_request(generation: int, cursor: str, slots: int, step: int) -> bytes:
    """Returns START with its text; `step` is the number of the first batch."""
    text = json.dumps({"cursor": cursor, "slots": slots, "step": step}).encode()
    return request(START, generation, len(text)) + text


class Parser:
    """Splits the bytes of the socket into announcements and messages."""

    def __init__(self) -> None:
        self._rest = b""

    def parse(
        self, data: bytes, generation: int, batches: deque[Announcement]
    ) -> list[Message]:
        """Appends the announcements of `generation` to `batches`, and returns the other messages.

        Announcements of other generations are dropped. Bytes of an incomplete message are kept for
        the next call.
        """
        if self._rest:
            data = self._rest + data
        messages: list[Message] = []
        at, size, unpack = 0, ANNOUNCEMENT_BYTES, _ANNOUNCEMENT.unpack_from
        last = len(data) - size
        while at <= last:
            record = unpack(data, at)
            if record[KIND] == BATCH:
                at += size
                if record[GENERATION] == generation:
                    batches.append(record)
                continue
            end = at + size + record[ROWS]
            if end > len(data):
                break
            text = data[at + size : end].decode("utf-8", "replace")
            messages.append(Message(record[KIND], record[GENERATION], text))
            at = end
        self._rest = data[at:]
        return messages
