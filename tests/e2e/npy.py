"""Reads .npy files without NumPy: numpy.org/doc/stable/reference/generated/numpy.lib.format.html."""

import ast
import dataclasses
import math
import pathlib
import struct


@dataclasses.dataclass
class Array:
    dtype: str  # As numpy.dtype.str has it: "<f4", "|u1".
    shape: list
    bytes: bytes

    def row(self, i):
        size = int(self.dtype[2:]) * math.prod(self.shape[1:])
        return self.bytes[i * size:(i + 1) * size]


def read_npy(path):
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10:10 + length].decode())
    assert not header["fortran_order"], header
    return Array(header["descr"], list(header["shape"]), data[10 + length:])
