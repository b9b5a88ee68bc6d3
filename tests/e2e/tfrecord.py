"""The parts of TFRecord and tf.train.Example that are needed to write good and damaged shards."""

import struct


def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def crc(data):
    """Returns the CRC-32C, not masked."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def _masked_crc(data):
    value = crc(data)
    return (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def frame(payload):
    length = struct.pack("<Q", len(payload))
    return (length + struct.pack("<I", _masked_crc(length)) + payload +
            struct.pack("<I", _masked_crc(payload)))


def _varint(value):
    out = b""
    value &= (1 << 64) - 1
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def _field(number, payload):
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _feature(values):
    if isinstance(values[0], bytes):
        return _field(1, b"".join(_field(1, value) for value in values))
    if isinstance(values[0], float):
        return _field(2, _field(1, struct.pack(f"<{len(values)}f", *values)))
    return _field(3, _field(1, b"".join(map(_varint, values))))


def example(**features):
    """bytes become a BytesList, ints an Int64List, floats a FloatList. The items of a list have one
    type."""
    entries = b""
    for name, value in features.items():
        feature = _feature(value if isinstance(value, list) else [value])
        entries += _field(1, _field(1, name.encode()) + _field(2, feature))
    return _field(1, entries)


def chess_record(number, d_bytes=194):
    return example(d=(bytes([number % 256]) * d_bytes), s=number)
