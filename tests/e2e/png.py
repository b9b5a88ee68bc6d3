"""Writes PNG files for tests, without a library."""

import struct
import zlib


def _chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width, height, pixel):
    """Returns an RGB image; `pixel(x, y)` returns three bytes."""
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width))
                    for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) +
            _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b""))


def picture(number):
    """Returns a different picture for each number, with sides from 30 to 60 pixels."""
    width, height = 30 + number * 7 % 31, 30 + number * 13 % 31
    return png(width, height, lambda x, y: ((5 * x + number) % 256, (7 * y + 3 * number) % 256,
                                            (x * y + 11 * number) % 256))
