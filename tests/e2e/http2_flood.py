"""A hostile HTTP/2 client, for tests of our own servers: on loopback and in network namespaces.

    python3 tests/e2e/http2_flood.py rapid-reset 127.0.0.1:7070 --seconds 2 --max-bytes 64MiB

It writes HTTP/2 frames by hand, because libraries refuse to send most of these. KINDS lists the
floods. Frames are prepared in blocks, so that Python is no bottleneck. Each run is bounded in time
and in bytes, and refuses addresses outside 127.0.0.0/8 and the namespaces of
tests/chaos/network.py. It prints JSON: bytes and calls sent, and how the server ended connections.
"""

import argparse
import collections
import ctypes
import dataclasses
import ipaddress
import json
import multiprocessing
import os
import pathlib
import select
import signal
import socket
import ssl
import struct
import sys
import time
import typing

from servers import die_with_parent

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = range(5)
PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(6, 10)
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
HAS_PRIORITY = 0x20
CANCEL = 8
MAX_FRAME = 16384  # The server announces no other SETTINGS_MAX_FRAME_SIZE.
BLOCK = 1 << 16  # Bytes of a prepared write.
NETWORKS = [ipaddress.ip_network(text) for text in ("127.0.0.0/8", "10.77.0.0/24")]
PIECES = "/penstock.v1.PieceService/Pieces"
STATS = "/penstock.v1.PieceService/Stats"
WATCH = "/grpc.health.v1.Health/Watch"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">IBI", len(payload) << 8 | kind, flags, stream) + payload


def rst_stream(stream):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL))


def fill(piece, size=BLOCK):
    """Repeats `piece` up to the size of a write; at least once."""
    return piece * max(1, size // len(piece))


def literal(name, value, first=0x10):
    """A header field with its name, never indexed. first=0x40 puts it into the dynamic table."""
    return bytes([first]) + b"".join(_integer(len(text), 7) + text
                                     for text in (name.encode(), value.encode()))


def _integer(value, bits):
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([value])
    out, value = [limit], value - limit
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


@dataclasses.dataclass
class Target:
    """The address and the method to flood, and the credentials. Picklable."""
    host: str
    port: int
    path: str = PIECES
    token: str = ""
    tls_ca: str = ""  # Speaks TLS if set.
    tls_cert: str = ""
    tls_key: str = ""
    sources: tuple = ()  # Addresses to connect from, by turns.
    netns: str = ""  # A file of setns(2): floods from within that network namespace.

    def check(self):
        address = ipaddress.ip_address(self.host)
        if not any(address in network for network in NETWORKS):
            raise ValueError(f"{self.host} is neither loopback nor in a namespace of the tests")

    def fields(self, path=""):
        """The header fields of a call, as (name, value)."""
        return [(":method", "POST"), (":scheme", "https" if self.tls_ca else "http"),
                (":path", path or self.path), (":authority", f"{self.host}:{self.port}"),
                ("te", "trailers"), ("content-type", "application/grpc"),
                *([("authorization", f"Bearer {self.token}")] if self.token else [])]

    def call(self, path=""):
        return b"".join(literal(name, value) for name, value in self.fields(path))

    def context(self):
        if not self.tls_ca:
            return None
        context = ssl.create_default_context(cafile=self.tls_ca)
        context.set_alpn_protocols(["h2"])
        if self.tls_cert:
            context.load_cert_chain(self.tls_cert, self.tls_key)
        return context


def hello():
    """The first message of a Pieces stream: ClientHello with a spec of one tensor."""
    def field(number, payload):
        return bytes([number << 3 | 2]) + _varint(len(payload)) + payload
    tensor = field(1, b"x") + field(5, field(1, b"x") + b"\x10\x01")  # Bytes{feature: x, length: 1}
    message = field(1, b"\x08\x01" + field(2, field(1, tensor)))  # protocol_version 1, spec
    return b"\0" + struct.pack(">I", len(message)) + message


def _varint(value):
    out = []
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


# Kinds. Each is a generator. It yields bytes, which are written one after the other, and floats,
# which are seconds of silence. `link` is the Connection.

def continuation(link):
    """A header block without end: one field of 200 bytes a frame."""
    field = literal("x-flood", "a" * 190)
    yield frame(HEADERS, 0, stream := link.next_stream(), link.target.call())
    block = fill(frame(CONTINUATION, 0, stream, field))
    while True:
        yield block


def continuation_indexed(references):
    """Puts a field of 4 KiB into the dynamic table, then names it by one byte, `references` times a
    frame. gRPC 1.51 ends the connection if a frame goes on after 16 KiB of metadata."""
    def script(link):
        big = literal("x", "a" * 4000, first=0x40)
        yield frame(HEADERS, 0, stream := link.next_stream(), link.target.call() + big)
        newest = b"\xbe"  # Entry 62.
        block = fill(frame(CONTINUATION, 0, stream, newest * references))
        while True:
            yield block
    return script


def calls_indexed(link):
    """Calls that name a field of 3.5 KiB three times, by one byte each: less than 16 KiB."""
    big = literal("x", "a" * 3500, first=0x40)
    yield frame(HEADERS, END_HEADERS, stream := link.next_stream(), link.target.call() + big)
    yield rst_stream(stream)
    yield from _pairs(link, link.target.call() + b"\xbe\xbe\xbe", 16)


def empty_continuation(link):
    yield frame(HEADERS, 0, stream := link.next_stream(), link.target.call())
    block = fill(frame(CONTINUATION, 0, stream))
    while True:
        yield block


def _pairs(link, headers, count):
    """HEADERS and RST_STREAM, `count` pairs a write."""
    pair = struct.Struct(f">IBI{len(headers)}sIBII")
    begin, end = len(headers) << 8 | HEADERS, 4 << 8 | RST_STREAM
    while True:
        streams = link.next_streams(count)
        yield b"".join([pair.pack(begin, END_HEADERS, stream, headers, end, 0, stream, CANCEL)
                        for stream in streams])


def _indexed_call(link):
    """A call that puts its fields into the dynamic table, and the fields of later calls."""
    fields = [(name, value) for name, value in link.target.fields()
              if name not in (":method", ":scheme")]
    pseudo = b"\x83" + (b"\x87" if link.target.tls_ca else b"\x86")
    table = b"".join(literal(name, value, first=0x40) for name, value in fields)
    stream = link.next_stream()
    first = frame(HEADERS, END_HEADERS, stream, pseudo + table) + rst_stream(stream)
    return first, pseudo + bytes(0x80 | 61 + len(fields) - i for i in range(len(fields)))


def rapid_reset(count, indexed):
    def script(link):
        headers = link.target.call()
        if indexed:
            first, headers = _indexed_call(link)
            yield first
        yield from _pairs(link, headers, count)
    return script


def rapid_reset_fragmented(link):
    """Writes 5 bytes at a time: no frame's header comes in one piece."""
    for block in _pairs(link, link.target.call(), 16):
        for at in range(0, len(block), 5):
            yield block[at:at + 5]


def rapid_reset_priority(link):
    """HEADERS have a priority before the fields."""
    headers = struct.pack(">IB", 0, 16) + link.target.call()
    while True:
        yield b"".join([frame(HEADERS, END_HEADERS | HAS_PRIORITY, stream, headers)
                        + rst_stream(stream) for stream in link.next_streams(16)])


def rapid_reset_paced(link):
    """16 pairs every 20 ms, which one connection may do; fifty may not."""
    for block in _pairs(link, link.target.call(), 16):
        yield block
        yield 0.02


def made_you_reset(spoil):
    """Calls that the server resets: spoil(stream) makes the frame that it resets them for."""
    def script(link):
        headers = link.target.call()
        while True:
            yield b"".join([frame(HEADERS, END_HEADERS, stream, headers) + spoil(stream)
                            for stream in link.next_streams(16)])
    return script


def half_open(extra=0, indexed=False):
    """Never ends a call; each has `extra` bytes of metadata."""
    def script(link):
        headers = link.target.call() + (literal("x", "a" * extra) if extra else b"")
        if indexed:
            first, headers = _indexed_call(link)
            yield first
        count = max(1, BLOCK // (len(headers) + 9))
        while True:
            yield b"".join([frame(HEADERS, END_HEADERS, stream, headers)
                            for stream in link.next_streams(count)])
    return script


def refused(link):
    """Whole calls of an unknown method, never more at a time than the server allows."""
    headers = link.target.call().replace(link.target.path.encode(), b"x" * len(link.target.path))
    while True:
        room = 30 - (link.calls - link.answered)
        yield b"".join([frame(HEADERS, END_HEADERS | END_STREAM, stream, headers)
                        for stream in link.next_streams(room)]) if room > 0 else 0.0005


def ping(link):
    block = fill(frame(PING, 0, 0, b"floodfld"))
    while True:
        yield block


def ping_ack(link):
    """Answers to pings that nobody sent."""
    block = fill(frame(PING, ACK, 0, b"floodfld"))
    while True:
        yield block


def settings(link):
    values = struct.pack(">HIHI", 4, 65535, 1, 4096)  # INITIAL_WINDOW_SIZE, HEADER_TABLE_SIZE
    block = fill(frame(SETTINGS, 0, 0, values))
    while True:
        yield block


def settings_windows(link):
    """Each SETTINGS takes back the window that the one before gave."""
    block = fill(b"".join(frame(SETTINGS, 0, 0, struct.pack(">HIHI", 4, size, 1, size & 4096))
                          for size in (0, 65535 & ~4096)))
    yield frame(HEADERS, END_HEADERS, link.next_stream(), link.target.call())
    while True:
        yield block


def window_update(link):
    """Opens the connection's window byte by byte."""
    update = frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1))
    block = fill(update)
    while True:
        yield block


def priority(link):
    block = fill(b"".join(frame(PRIORITY, 0, 2 * i + 1, struct.pack(">IB", 0, 16))
                          for i in range(1000, 5000)))
    while True:
        yield block


def unknown(link):
    """Frames of an unknown type, which a server must ignore."""
    block = fill(frame(0x2a, 0, 0, b"flood"))
    while True:
        yield block


def data_unasked(link):
    """Sends DATA on a call that was reset, within the connection's window."""
    stream = link.next_stream()
    yield frame(HEADERS, END_HEADERS, stream, link.target.call()) + rst_stream(stream)
    piece = frame(DATA, 0, stream, b"x")
    while True:
        count = min(link.window, BLOCK // len(piece))
        link.window -= count
        yield piece * count if count else 0.001


def zero_length_data(link):
    stream = link.next_stream()
    yield frame(HEADERS, END_HEADERS, stream, link.target.call())
    block = fill(frame(DATA, 0, stream))
    while True:
        yield block


def trailers(link):
    """Sends HEADERS again and again on one call."""
    stream = link.next_stream()
    yield frame(HEADERS, END_HEADERS, stream, link.target.call())
    block = fill(frame(HEADERS, END_HEADERS, stream, literal("x-trailer", "a" * 1000)))
    while True:
        yield block


def half_messages(link):
    """Opens as many calls as it may, and sends each a message of 4 MiB except for the last byte."""
    size = 4 << 20
    message = memoryview(b"\0" + struct.pack(">I", size) + b"x" * (size - 1))
    left = {}
    for stream in link.next_streams(30):
        yield frame(HEADERS, END_HEADERS, stream, link.target.call())
        left[stream] = message
    while True:
        sent = False
        for stream, text in left.items():
            count = min(len(text), MAX_FRAME, link.window, link.windows[stream])
            if count > 0:
                link.window -= count
                link.windows[stream] -= count
                left[stream] = text[count:]
                sent = True
                yield frame(DATA, 0, stream, bytes(text[:count]))
        if not sent:
            yield 0.001


def huge_frame(link):
    """A frame of 16 MiB, a thousand times what is allowed."""
    yield struct.pack(">IBI", 0xffffff << 8 | DATA, 0, 1)
    while True:
        yield bytes(BLOCK)


def slow(link):
    """Sends a byte a second of a frame that never ends."""
    yield frame(HEADERS, END_HEADERS, link.next_stream(), link.target.call())[:-40]
    while True:
        yield 1.0
        yield b"\x10"


def once(link):
    """One call and its reset; then the connection ends."""
    stream = link.next_stream()
    yield frame(HEADERS, END_HEADERS, stream, link.target.call()) + rst_stream(stream)


def http1_headers(link):
    yield f"GET /metrics HTTP/1.1\r\nHost: {link.target.host}\r\n".encode()
    block = fill(b"X-Flood: " + b"a" * 190 + b"\r\n")
    while True:
        yield block


def http1_line(link):
    yield b"GET /"
    while True:
        yield b"a" * BLOCK


def http1_requests(link):
    """Sends one request after the other and reads no answer."""
    block = fill(f"GET /metrics HTTP/1.1\r\nHost: {link.target.host}\r\n\r\n".encode())
    while True:
        yield block


@dataclasses.dataclass(frozen=True)
class Kind:
    script: typing.Callable
    acks: bool = True  # Acknowledges the server's SETTINGS.
    reads: bool = True  # Reads the server's frames.
    greets: bool = True  # Waits for the server's SETTINGS first.
    aborts: bool = False  # Ends its TCP connection with RST.
    speaks_http2: bool = True


KINDS = {
    "continuation": Kind(continuation),
    "continuation-indexed": Kind(continuation_indexed(1)),
    "continuation-indexed-bulk": Kind(continuation_indexed(MAX_FRAME)),
    "empty-continuation": Kind(empty_continuation),
    "rapid-reset": Kind(rapid_reset(16, indexed=False)),
    "rapid-reset-bulk": Kind(rapid_reset(400, indexed=False)),
    "rapid-reset-indexed": Kind(rapid_reset(16, indexed=True)),
    "rapid-reset-indexed-bulk": Kind(rapid_reset(2000, indexed=True)),
    "rapid-reset-fragmented": Kind(rapid_reset_fragmented),
    "rapid-reset-priority": Kind(rapid_reset_priority),
    "rapid-reset-paced": Kind(rapid_reset_paced),
    "reset-by-window": Kind(made_you_reset(
        lambda stream: frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 0x7fffffff)))),
    "reset-by-no-window": Kind(made_you_reset(
        lambda stream: frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 0)))),
    "reset-by-headers": Kind(made_you_reset(
        lambda stream: frame(HEADERS, END_HEADERS | END_STREAM, stream, literal("Bad", "\n")))),
    "reset-by-end": Kind(made_you_reset(
        lambda stream: frame(DATA, END_STREAM, stream, b"\xff\xff\xff\xff\xff"))),
    "calls-indexed": Kind(calls_indexed),
    "half-open": Kind(half_open()),
    "half-open-unacked": Kind(half_open(), acks=False),
    "half-open-unacked-indexed": Kind(half_open(indexed=True), acks=False),
    "half-open-unacked-large": Kind(half_open(extra=15 << 10), acks=False),
    "refused": Kind(refused),
    "ping": Kind(ping),
    "ping-unacked": Kind(ping, acks=False),
    "ping-unread": Kind(ping, reads=False),
    "ping-ack": Kind(ping_ack),
    "settings": Kind(settings),
    "settings-unread": Kind(settings, reads=False),
    "settings-windows": Kind(settings_windows),
    "window-update": Kind(window_update),
    "priority": Kind(priority),
    "unknown-frames": Kind(unknown),
    "data-unasked": Kind(data_unasked),
    "zero-length-data": Kind(zero_length_data),
    "trailers": Kind(trailers),
    "half-messages": Kind(half_messages),
    "huge-frame": Kind(huge_frame),
    "slow": Kind(slow),
    "reconnect": Kind(once, greets=False),
    "abort": Kind(once, greets=False, aborts=True),
    "http1-headers": Kind(http1_headers, speaks_http2=False),
    "http1-line": Kind(http1_line, speaks_http2=False),
    "http1-requests": Kind(http1_requests, speaks_http2=False, reads=False),
}


class Ended(Exception):
    """The server ended the connection."""


class Connection:
    """One connection from its greeting to its end. Not thread-safe."""

    def __init__(self, target, kind, source, context, says_hello):
        self.target, self.kind = target, kind
        self.sent = self.calls = self.answered = 0
        self.greeted, self.goaway = False, ""
        self.window = 65535  # DATA bytes that the server takes on the connection.
        self.windows = collections.defaultdict(lambda: 65535)
        self.began = time.monotonic()
        self._stream, self._unparsed, self._seen = 1, b"", set()
        self._pending, self._resume_at = memoryview(b""), 0.0
        self._script = self._greet_and_flood(says_hello)
        self._shakes_hands = context is not None
        self.socket = socket.create_connection((target.host, target.port), timeout=1,
                                               source_address=(source, 0) if source else None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        if self._shakes_hands:
            self.socket = context.wrap_socket(self.socket, server_hostname=target.host,
                                              do_handshake_on_connect=False)
            self.pump(self.began, 1)  # Sends the ClientHello, which the server waits for.

    def next_stream(self):
        return self.next_streams(1)[0]

    def next_streams(self, count):
        first, self._stream = self._stream, self._stream + 2 * count
        self.calls += count
        return range(first, self._stream, 2)

    def _greet_and_flood(self, says_hello):
        if self.kind.speaks_http2:
            yield from self._greet(says_hello)
        self.greeted = True
        yield from self.kind.script(self)

    def _greet(self, says_hello):
        yield PREFACE + frame(SETTINGS, 0, 0)
        if self.kind.greets or says_hello:
            yield from self._wait_for(SETTINGS, 0)
        if self.kind.acks:
            yield frame(SETTINGS, ACK, 0)
        if says_hello:
            stream = self.next_stream()
            yield (frame(HEADERS, END_HEADERS, stream, self.target.call(path=PIECES))
                   + frame(DATA, 0, stream, hello()))
            yield from self._wait_for(DATA, stream)

    def _wait_for(self, kind, stream):
        while (kind, stream) not in self._seen:
            yield 0.001

    def _parse(self, data):
        if not data:
            raise Ended(self.goaway or "closed")
        if not self.kind.speaks_http2:
            return
        data = self._unparsed + data
        at = 0
        while len(data) - at >= 9:
            size, flags, stream = struct.unpack_from(">IBI", data, at)
            size, kind = size >> 8, size & 255
            if len(data) - at < 9 + size:
                break
            if kind != PING:
                self._on_frame(kind, flags, stream, data[at + 9:at + 9 + size])
            at += 9 + size
        self._unparsed = data[at:]

    def _on_frame(self, kind, flags, stream, payload):
        if len(self._seen) < 100:
            self._seen.add((kind, stream))
        if kind == WINDOW_UPDATE:
            [more] = struct.unpack(">I", payload)
            if stream == 0:
                self.window += more
            else:
                self.windows[stream] += more
        elif kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack_from(">HI", payload, at)
                if name == 4:  # INITIAL_WINDOW_SIZE of streams that are not open yet.
                    self.windows.default_factory = lambda size=value: size
        elif kind == HEADERS and flags & END_STREAM:
            self.answered += 1
        elif kind == GOAWAY:
            _, code = struct.unpack_from(">II", payload)
            self.goaway = f"goaway {code} {payload[8:80].decode(errors='replace')}".strip()

    def events(self, now):
        """The events to poll(2) for."""
        reads = select.POLLIN if self.kind.reads or not self.greeted else 0
        return reads | (select.POLLOUT if not self._shakes_hands and now >= self._resume_at else 0)

    def pump(self, now, budget):
        """Sends what the socket takes, at most about `budget` bytes, and reads what has come.
        Returns false once the script has ended."""
        try:
            if self._shakes_hands:
                self.socket.do_handshake()
                self._shakes_hands = False
            if self.kind.reads or not self.greeted:
                self._drain()
            return self._send(now, min(budget, 4 * BLOCK))
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return True

    def _send(self, now, budget):
        before = self.sent
        while now >= self._resume_at and self.sent - before < budget:
            if not self._pending:
                item = next(self._script, None)
                if item is None:
                    return False
                if isinstance(item, float):
                    self._resume_at = now + item
                    break
                self._pending = memoryview(item)
            count = self.socket.send(self._pending)
            self.sent += count
            self._pending = self._pending[count:]
        return True

    def _drain(self):
        try:
            for _ in range(16):
                self._parse(self.socket.recv(BLOCK))
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass

    def last_word(self):
        """The GOAWAY of a connection that has ended; empty if there was none."""
        try:
            self._drain()
        except (OSError, Ended):
            pass
        return self.goaway

    def close(self):
        if self.kind.aborts:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def _reason(error):
    if isinstance(error, Ended):
        return str(error)
    return "reset" if isinstance(error, (ConnectionError, ssl.SSLError)) else "no answer"


class Flood:
    """Floods from this process over `connections`, for `seconds` or until `max_bytes` are sent.
    With `reconnect` it replaces connections that the server ends."""

    def __init__(self, kind, target, seconds, max_bytes, connections=1, reconnect=False,
                 says_hello=False):
        target.check()
        self._kind, self._target = KINDS[kind], target
        self._seconds, self._left = seconds, max_bytes
        self._reconnect = reconnect or self._kind.script is once
        self._says_hello = says_hello
        self._context = target.context()
        self._free = collections.deque(range(connections))  # Numbers of those not connected.
        self._of_fd = {}
        self._poll = select.poll()
        self._retry_at = 0.0
        self.result = {"kind": kind, "connections": connections, "bytes": 0, "calls": 0,
                       "greeted": 0, "ends": {}, "first_end_s": None, "first_end_bytes": None}

    def stop(self):
        """Makes run() return soon. A signal handler may call it."""
        self._left = 0

    def run(self):
        began = time.monotonic()
        self._until = began + self._seconds
        while (now := time.monotonic()) < self._until and self._left > 0:
            if self._free and now >= self._retry_at:
                self._connect()
            elif not self._of_fd and not self._free:
                break
            self._turn(now)
        for connection, _ in list(self._of_fd.values()):
            self._finish(connection, None)
        self.result["seconds"] = time.monotonic() - began
        return self.result

    def _connect(self):
        number = self._free.popleft()
        sources = self._target.sources
        source = sources[number % len(sources)] if sources else ""
        try:
            connection = Connection(self._target, self._kind, source, self._context,
                                    self._says_hello)
        except OSError as error:
            self._count_end(_reason(error))
            if self._reconnect:
                self._free.append(number)
                self._retry_at = time.monotonic() + 0.002  # A refusal must not spin.
            return
        self._of_fd[connection.socket.fileno()] = connection, number
        self._poll.register(connection.socket, select.POLLIN)

    def _turn(self, now):
        for fd, (connection, _) in self._of_fd.items():
            self._poll.modify(fd, connection.events(now))
        for fd, _ in self._poll.poll(1 if self._of_fd else 2):
            connection, number = self._of_fd[fd]
            before = connection.sent
            try:
                if not connection.pump(now, self._left):
                    self._finish(connection, None)
                    self._free.append(number)
            except (OSError, Ended) as error:
                self._finish(connection, connection.last_word() or _reason(error))
                if self._reconnect:
                    self._free.append(number)
                    self._retry_at = 0.0 if connection.greeted else now + 0.002
            self._left -= connection.sent - before

    def _finish(self, connection, end):
        """`end` says why the server ended it; None: the server did not."""
        del self._of_fd[connection.socket.fileno()]
        self._poll.unregister(connection.socket)
        if end is not None:
            self._count_end(end)
            if self.result["first_end_s"] is None:
                self.result["first_end_s"] = time.monotonic() - connection.began
                self.result["first_end_bytes"] = connection.sent
        self.result["bytes"] += connection.sent
        self.result["calls"] += connection.calls
        self.result["greeted"] += connection.greeted
        connection.close()

    def _count_end(self, end):
        ends = self.result["ends"]
        ends[end] = ends.get(end, 0) + 1


def _enter(netns):
    with open(netns) as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), f"setns {netns}")


def _run_one(pipe, target, args):
    die_with_parent()
    if target.netns:
        _enter(target.netns)
    kind, *rest = args
    flood = Flood(kind, target, *rest)
    signal.signal(signal.SIGTERM, lambda *_: flood.stop())
    pipe.send(flood.run())


class Flooders:
    """Processes that flood. They end by themselves; join() returns the sum of their results."""

    def __init__(self, kind, targets, seconds, max_bytes, connections=1, reconnect=False,
                 says_hello=False, processes=None):
        """`targets`: one, or a list of which each process takes the next."""
        targets = targets if isinstance(targets, list) else [targets]
        for target in targets:
            target.check()
        processes = min(connections, processes or max(len(targets), 2))
        # Not fork, which would copy locks that other threads of this process hold.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["http2_flood"])
        self._running = []
        for i in range(processes):
            ours, theirs = context.Pipe(duplex=False)
            share = len(range(i, connections, processes))
            args = (kind, seconds, max_bytes // processes, share, reconnect, says_hello)
            process = context.Process(target=_run_one, daemon=True,
                                      args=(theirs, targets[i % len(targets)], args))
            process.start()
            theirs.close()
            self._running.append((process, ours))

    def stop(self):
        """Ends them before their time. Call join() afterwards."""
        for process, _ in self._running:
            process.terminate()

    def join(self, look=lambda: None):
        """Calls `look` every 5 ms until all have ended."""
        results = [found for process, pipe in self._running
                   if (found := self._result(process, pipe, look)) is not None]
        look()
        return _sum(results)

    @staticmethod
    def _result(process, pipe, look):
        """None if the process was killed."""
        try:
            while not pipe.poll(0.005):
                look()
            return pipe.recv()
        except EOFError:
            return None
        finally:
            pipe.close()
            process.join()


def _sum(results):
    if not results:
        return {"killed": True, "bytes": 0, "calls": 0, "ends": {}}
    whole = dict(results[0])
    for name in ("connections", "bytes", "calls", "greeted"):
        whole[name] = sum(result[name] for result in results)
    whole["ends"] = dict(sum((collections.Counter(result["ends"]) for result in results),
                             start=collections.Counter()))
    firsts = [(result["first_end_s"], result["first_end_bytes"]) for result in results
              if result["first_end_s"] is not None]
    whole["first_end_s"], whole["first_end_bytes"] = min(firsts, default=(None, None))
    whole["seconds"] = max(result["seconds"] for result in results)
    return whole


class MemoryWatch:
    """A process's resident memory: `before`, the `peak` since then, and now(). look() updates the
    peak and kills a process that exceeds `limit` bytes; `exceeded` is then true. The peak is the
    kernel's VmHWM, which the constructor resets (proc(5), clear_refs): no sample misses it."""

    def __init__(self, pid, limit=4 << 30):
        self._pid, self._limit = pid, limit
        self._resets = self._reset()
        self.before = self.peak = self.now()
        self.exceeded = False

    def _reset(self):
        try:
            pathlib.Path(f"/proc/{self._pid}/clear_refs").write_text("5")
        except OSError:
            return False  # The kernel has no clear_refs: the peak is the highest sample.
        return True

    def _read(self, field):
        try:
            for line in pathlib.Path(f"/proc/{self._pid}/status").read_text().splitlines():
                if line.startswith(field + ":"):
                    return int(line.split()[1]) << 10
        except OSError:
            pass
        return 0  # It has ended.

    def now(self):
        return self._read("VmRSS")

    def look(self):
        now = self._read("VmHWM" if self._resets else "VmRSS")
        self.peak = max(self.peak, now)
        if now > self._limit and not self.exceeded:
            self.exceeded = True
            os.kill(self._pid, signal.SIGKILL)


def parse_bytes(text):
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    for unit, size in units.items():
        if text.endswith(unit):
            return int(float(text[:-3]) * size)
    return int(text)


def add_options(parser):
    """The options of a target, for target_of()."""
    parser.add_argument("--path", default=PIECES, help="the method that is called")
    parser.add_argument("--token-file", type=pathlib.Path, help="whose first line is sent")
    parser.add_argument("--tls-ca", default="", help="speak TLS")
    parser.add_argument("--tls-cert", default="")
    parser.add_argument("--tls-key", default="")
    parser.add_argument("--from", dest="sources", default="", help="addresses, separated by commas")


def target_of(address, args):
    host, port = address.rsplit(":", 1)
    token = args.token_file.read_text().split()[0] if args.token_file else ""
    return Target(host, int(port), args.path, token, args.tls_ca, args.tls_cert, args.tls_key,
                  tuple(filter(None, args.sources.split(","))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("address", help="HOST:PORT, on loopback")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--max-bytes", type=parse_bytes, default=256 << 20)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--reconnect", action="store_true", help="when the server ends one")
    parser.add_argument("--hello", action="store_true", help="open a stream first, then flood")
    parser.add_argument("--watch", type=int, metavar="PID", help="print that process's memory, too")
    add_options(parser)
    args = parser.parse_args()
    target = target_of(args.address, args)
    watch = MemoryWatch(args.watch) if args.watch else None
    result = Flooders(args.kind, target, args.seconds, args.max_bytes, args.connections,
                      args.reconnect, args.hello, args.processes).join(
                          watch.look if watch else lambda: None)
    if watch:
        result.update(before=watch.before, peak=watch.peak, after=watch.now())
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
