"""Frames of HTTP/2 and of our service, as hand-written bytes."""

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = range(5)
PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(6, 10)
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
HAS_PRIORITY = 0x20
CANCEL = 8
MAX_FRAME = 16384  # The server announces no other SETTINGS_MAX_FRAME_SIZE.
BLOCK = 1 << 16  # Bytes of a prepared write.
PIECES = "/penstock.v1.PieceService/Pieces"
STATS = "/penstock.v1.PieceService/Stats"
WATCH = "/grpc.health.v1.Health/Watch"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">IBI", len(payload) << 8 | kind, flags, stream) + payload


def rst_stream(stream):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL))


def fill(piece, size=BLOCK):
    """Repeats `piece` up to the size of a write, at least once."""
    return piece * max(1, size // len(piece))


def literal(name, value, first=0x10):
    """Returns a header field with its name, which is never indexed. first=0x40 puts it into the
    dynamic table."""
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


def hello():
    """Returns the first message of a Pieces stream: ClientHello with a spec of one tensor."""
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
