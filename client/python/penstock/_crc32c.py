"""CRC-32C of many records at once, with NumPy.

TFRecord files store two checksums with each record, and Python has no fast CRC-32C. A CRC without
its initial value is linear: the CRC of a text is the XOR of the CRCs of its parts, each computed
with zeros in place of the others. So this module cuts records into blocks, looks up all blocks
side by side, and combines the results.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_U32 = npt.NDArray[np.uint32]

_BLOCK = 16  # Number of bytes that are looked up at once, two at a time.
_BLOCK_BITS = 4  # _BLOCK is 2 to this power.
_MOST_HALVINGS = 4  # A row has at most _BLOCK << 4 bytes.
_PART = 1 << 20  # Bytes of records that are looked up in one pass: as much as caches hold.
_ONES = np.uint32(0xFFFFFFFF)


def _after_zero_byte(crc: _U32) -> _U32:
    after: _U32 = _byte_table()[crc & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return after


@functools.cache
def _byte_table() -> _U32:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & np.uint32(1), (table >> np.uint32(1)) ^ np.uint32(0x82F63B78),
                         table >> np.uint32(1)).astype(np.uint32)
    return table


@functools.cache
def _block_table() -> _U32:
    """Returns [8, 65536]: the CRC of the two bytes at 2k of a block whose other bytes are 0."""
    bytes_at = np.empty((_BLOCK, 256), np.uint32)
    bytes_at[-1] = _byte_table()
    for place in range(_BLOCK - 2, -1, -1):
        bytes_at[place] = _after_zero_byte(bytes_at[place + 1])
    low, high = bytes_at[0::2, None, :], bytes_at[1::2, :, None]
    return (low ^ high).reshape(_BLOCK // 2, 65536)


@functools.cache
def _shift_table(bits: int) -> _U32:
    """Returns [2, 65536]: a CRC after 2^bits more zero bytes, by its low and its high half."""
    if bits > 0:
        return _shift(_shift_table(bits - 1), bits - 1)
    halves = np.arange(65536, dtype=np.uint32)
    return _after_zero_byte(np.stack([halves, halves << np.uint32(16)]))


def _shift(crc: _U32, bits: int) -> _U32:
    table = _shift_table(bits)
    after: _U32 = table[0].take(crc & np.uint32(0xFFFF)) ^ table[1].take(crc >> np.uint32(16))
    return after


def _shift_each(crc: _U32, counts: npt.NDArray[np.int64], first_bits: int) -> _U32:
    """Shifts crc[i] by counts[i] times 2^first_bits bytes."""
    crc = crc.copy()
    for bit in range(int(counts.max(initial=0)).bit_length()):
        chosen = np.flatnonzero((counts >> bit) & 1)
        crc[chosen] = _shift(crc[chosen], first_bits + bit)
    return crc


def _rows_of(data: bytes, halvings: int) -> _U32:
    """Returns the CRCs of the rows of _BLOCK << halvings bytes, with initial value 0 and without
    the final XOR."""
    table = _block_table()
    words = np.frombuffer(data, "<u2").reshape(-1, _BLOCK // 2)
    crc = np.empty(len(words), np.uint32)
    step = _PART // _BLOCK
    for begin in range(0, len(words), step):
        columns = np.ascontiguousarray(words[begin:begin + step].T)
        part = table[0].take(columns[0])
        for place in range(1, _BLOCK // 2):
            part ^= table[place].take(columns[place])
        crc[begin:begin + step] = part
    for halving in range(halvings):
        pairs = crc.reshape(-1, 2)
        crc = _shift(pairs[:, 0], _BLOCK_BITS + halving) ^ pairs[:, 1]
    return crc


def _padded(records: Sequence[bytes], lengths: npt.NDArray[np.int64], row: int) -> Iterator[bytes]:
    zeros = bytes(row)
    for record, pad in zip(records, (-lengths % row).tolist()):
        yield zeros[:pad]
        yield record


def crc32c(records: Sequence[bytes]) -> _U32:
    """Returns the CRC-32C of each record, uint32 [len(records)].

    Zeros in front of a record change nothing, because the register starts at 0. The real initial
    value, all ones, is added at the end: its effect depends only on the length.
    """
    lengths: npt.NDArray[Any] = np.fromiter(map(len, records), np.int64, len(records))
    if len(records) == 0:
        return np.empty(0, np.uint32)
    halvings = min(_MOST_HALVINGS, max(0, (int(lengths.mean()) // _BLOCK).bit_length() - 1))
    row = _BLOCK << halvings
    crc = np.zeros(len(records), np.uint32)
    rows = -(-lengths // row)
    ends = np.cumsum(rows)
    if ends[-1] > 0:
        parts = _rows_of(b"".join(_padded(records, lengths, row)), halvings)
        behind = np.repeat(ends, rows) - 1 - np.arange(ends[-1])
        parts = _shift_each(parts, behind, _BLOCK_BITS + halvings)
        some = np.flatnonzero(rows)
        crc[some] = np.bitwise_xor.reduceat(parts, (ends - rows)[some])
    start = _shift_each(np.full(len(records), _ONES), lengths, 0)
    crc ^= start ^ _ONES
    return crc


def masked_crc32c(records: Sequence[bytes]) -> _U32:
    """Returns TFRecord's form of the CRC-32C of each record, uint32 [len(records)]."""
    crc = crc32c(records)
    rotated = (crc >> np.uint32(15)) | (crc << np.uint32(17))
    masked: _U32 = rotated + np.uint32(0xA282EAD8)
    return masked


def frame(records: Sequence[bytes]) -> bytes:
    """Returns the records as they are in a TFRecord file: length, its CRC, record, its CRC."""
    lengths = np.fromiter(map(len, records), "<u8", len(records)).tobytes()
    headers = [lengths[at:at + 8] for at in range(0, len(lengths), 8)]
    header_crcs = masked_crc32c(headers).astype("<u4").tobytes()
    record_crcs = masked_crc32c(records).astype("<u4").tobytes()
    return b"".join(
        part for i, record in enumerate(records)
        for part in (headers[i], header_crcs[4 * i:4 * i + 4], record,
                     record_crcs[4 * i:4 * i + 4]))
