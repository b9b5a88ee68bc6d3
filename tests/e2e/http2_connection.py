"""One connection of a hostile HTTP/2 client, and its target."""

import collections
import dataclasses
import ipaddress
import select
import socket
import ssl
import struct
import time

from http2_frames import (ACK, BLOCK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PIECES, PING,
                          PREFACE, SETTINGS, WINDOW_UPDATE, frame, hello, literal)

NETWORKS = [ipaddress.ip_network(text) for text in ("127.0.0.0/8", "10.77.0.0/24")]


@dataclasses.dataclass
class Target:
    """The address and the method to flood, and the credentials. Picklable."""
    host: str
    port: int
    path: str = PIECES
    token: str = ""
    tls_ca: str = ""  # A file of CAs; if it is set, the connection uses TLS.
    tls_cert: str = ""
    tls_key: str = ""
    sources: tuple = ()  # Addresses to connect from, in turn.
    # A file for setns(2). If it is set, the flood comes from that network namespace.
    netns: str = ""

    def check(self):
        address = ipaddress.ip_address(self.host)
        if not any(address in network for network in NETWORKS):
            raise ValueError(f"{self.host} is neither loopback nor in a namespace of the tests")

    def fields(self, path=""):
        """Returns the header fields of a call, as (name, value)."""
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


class Ended(Exception):
    """The server ended the connection."""


class Connection:
    """One connection from its greeting to its end. Not thread-safe."""

    def __init__(self, target, kind, source, context, says_hello):
        self.target, self.kind = target, kind
        self.sent = self.calls = self.answered = 0
        self.greeted, self.goaway = False, ""
        self.window = 65535  # Number of DATA bytes that the server still accepts on the connection.
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
            self.pump(self.began, 1)  # This sends the ClientHello, for which the server waits.

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
                if name == 4:  # Entry 4 is INITIAL_WINDOW_SIZE, for streams that are not open yet.
                    self.windows.default_factory = lambda size=value: size
        elif kind == HEADERS and flags & END_STREAM:
            self.answered += 1
        elif kind == GOAWAY:
            _, code = struct.unpack_from(">II", payload)
            self.goaway = f"goaway {code} {payload[8:80].decode(errors='replace')}".strip()

    def events(self, now):
        """Returns the events for poll(2)."""
        reads = select.POLLIN if self.kind.reads or not self.greeted else 0
        return reads | (select.POLLOUT if not self._shakes_hands and now >= self._resume_at else 0)

    def pump(self, now, budget):
        """Sends what the socket accepts, at most about `budget` bytes, and reads what has come.
        Returns False once the script has ended."""
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
        """Returns the GOAWAY of a connection that has ended; empty if there was none."""
        try:
            self._drain()
        except (OSError, Ended):
            pass
        return self.goaway

    def close(self):
        if self.kind.aborts:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
