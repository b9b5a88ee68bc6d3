"""Reads .npy and .npz files without NumPy: numpy.org/doc/stable/reference/generated/numpy.lib.format.html."""

import ast
import dataclasses
import math
import pathlib
import struct
import zipfile


@dataclasses.dataclass
class Array:
    dtype: str  # The type, as in numpy.dtype.str: "<f4", "|u1".
    shape: list
    bytes: bytes

    def values(self):
        """Returns all values, flat."""
        code = {"<f4": "f", "<i8": "q"}[self.dtype]
        return struct.unpack(f"<{math.prod(self.shape)}{code}", self.bytes)

    def row(self, i):
        size = int(self.dtype[2:]) * math.prod(self.shape[1:])
        return self.bytes[i * size:(i + 1) * size]


def read_npy(path):
    return _array(pathlib.Path(path).read_bytes())


def read_npz(path):
    """Returns the arrays by name. Checks the members' checksums."""
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): _array(archive.read(name)) for name in archive.namelist()}


def _array(data):
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10:10 + length].decode())
    assert not header["fortran_order"], header
    return Array(header["descr"], list(header["shape"]), data[10 + length:])
