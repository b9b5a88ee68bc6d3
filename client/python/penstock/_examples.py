"""Encodes dicts as tf.train.Example messages, without protobuf."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

# Kinds of features, with their field number in tf.train.Feature.
KINDS = {"bytes": 1, "float": 2, "int64": 3}
_TAGS = {kind: bytes((number << 3 | 2,)) for kind, number in KINDS.items()}
_LARGEST_EXACT = 1 << 24  # Integers up to this are exact as float32.
_VARINTS_AT_ONCE = 65536
_SHIFTS = np.arange(0, 64, 7).astype(np.uint64)  # Shifts for the ten groups of seven bits.
# Types of ml_dtypes, whose kind in NumPy is V.
_OTHER_FLOATS = ("bfloat16", "float8", "float6", "float4")

# A kind, and the content of its BytesList, FloatList or Int64List. The content is empty if there
# are no values.
_Value = tuple[str, bytes]


class _Unsuitable(Exception):
    """A value cannot be stored. Encoder adds its record and key."""

    def __init__(self, error: type[Exception], why: str) -> None:
        super().__init__(why)
        self.error = error


def _encoded_varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


_SMALL_VARINTS = [_encoded_varint(number) for number in range(1 << 14)]
_pack_float = struct.Struct("<f").pack


def varint(number: int) -> bytes:
    """Returns protobuf's encoding of an integer from 0 to 2^64 - 1."""
    return _SMALL_VARINTS[number] if number < 1 << 14 else _encoded_varint(number)


def _varints(numbers: npt.NDArray[np.int64]) -> bytes:
    """Returns the encodings of all numbers, one after the other; negative numbers have ten bytes.
    """
    unsigned = numbers.view(np.uint64)
    if unsigned.max(initial=0) < 128:
        return unsigned.astype(np.uint8).tobytes()
    parts = []
    for begin in range(0, len(unsigned), _VARINTS_AT_ONCE):
        rest = unsigned[begin:begin + _VARINTS_AT_ONCE, None] >> _SHIFTS
        follows = np.zeros(rest.shape, bool)
        follows[:, :-1] = rest[:, 1:] != 0
        used = rest != 0
        used[:, 0] = True
        parts.append(((rest & np.uint64(127)) | (follows * np.uint64(128)))[used].astype(np.uint8))
    return b"".join(part.tobytes() for part in parts)


def _field(number: int, content: bytes) -> bytes:
    return bytes((number << 3 | 2,)) + varint(len(content)) + content


def _bytes_list(values: Iterable[bytes]) -> _Value:
    return "bytes", b"".join([b"\n" + varint(len(value)) + value for value in values])


def _packed(kind: str, content: bytes) -> _Value:
    """Returns the content of a FloatList or an Int64List, which are packed."""
    return kind, b"\n" + varint(len(content)) + content if content else b""


def _floats(array: npt.NDArray[Any]) -> _Value:
    with np.errstate(over="ignore"):
        single = array.astype("<f4")
    lost = np.isinf(single) & ~np.isinf(array)
    if lost.any():
        raise _too_large(array[lost][0])
    return _packed("float", single.tobytes())


def _too_large(value: Any) -> _Unsuitable:
    return _Unsuitable(ValueError, f"{value} does not fit into float32, the type that "
                                   "tf.train.Example stores")


def _integers(array: npt.NDArray[Any]) -> _Value:
    if array.dtype.kind == "u" and array.max(initial=0) > np.iinfo(np.int64).max:
        raise _Unsuitable(ValueError, f"{array.max()} does not fit into int64")
    return _packed("int64", _varints(array.astype(np.int64)))


def _of_array(array: npt.NDArray[Any]) -> _Value:
    if array.dtype == np.uint8 and array.ndim > 0:
        return _bytes_list([array.tobytes()])
    return _of_flat(array.ravel())


def _of_flat(flat: npt.NDArray[Any]) -> _Value:
    kind = flat.dtype.kind
    if kind in "biu":
        return _integers(flat)
    if kind == "f" or flat.dtype.name.startswith(_OTHER_FLOATS):
        return _floats(flat)
    if kind in "SUTO":
        return _of_list(flat.tolist())
    raise _Unsuitable(TypeError, f"cannot store an array of {flat.dtype}")


def _is_bytes(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype == np.uint8 and value.ndim > 0
    return isinstance(value, (bytes, str, bytearray, memoryview))


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return value.tobytes() if isinstance(value, np.ndarray) else bytes(value)


def _of_list(values: Any) -> _Value:
    texts = sum(map(_is_bytes, values))
    if texts == len(values):
        return _bytes_list(map(_as_bytes, values))
    if texts > 0:
        raise _Unsuitable(TypeError, "cannot store a list that mixes bytes or str with other "
                                     "values")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise _Unsuitable(ValueError, f"cannot store this list: {error}") from error
    if array.dtype.kind not in "biuf" and not array.dtype.name.startswith(_OTHER_FLOATS):
        odd = next((v for v in values if not isinstance(v, (int, float, np.generic))), values)
        raise _Unsuitable(TypeError, f"cannot store a list with {_described(odd)}")
    return _of_flat(array.ravel())


def _described(value: Any) -> str:
    if isinstance(value, int):
        return "an integer beyond int64"
    return f"a value of type {type(value).__module__}.{type(value).__qualname__}".replace(
        "builtins.", "")


def _of_int(value: int) -> _Value:
    if not -(1 << 63) <= value < 1 << 63:
        raise _Unsuitable(ValueError, f"{value} does not fit into int64")
    content = varint(value & 0xFFFF_FFFF_FFFF_FFFF)
    return "int64", b"\n" + varint(len(content)) + content


def _of_float(value: float) -> _Value:
    try:
        return "float", b"\n\x04" + _pack_float(value)
    except OverflowError:
        raise _too_large(value) from None


def _as_array(value: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(value)
    except Exception as error:  # Tensors on a GPU and types that NumPy lacks raise here.
        raise _Unsuitable(TypeError, f"cannot store {_described(value)}: {error}") from error


def _of_other(value: Any) -> _Value:
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if isinstance(value, (bytearray, memoryview, np.bytes_)):
        return _bytes_list([bytes(value)])
    if isinstance(value, (str, int, float)):  # Includes subclasses, such as enum.IntEnum.
        base = next(kind for kind in (str, int, float) if isinstance(value, kind))
        return _BY_TYPE[base](base(value))
    if isinstance(value, (tuple, range)):
        return _of_list(list(value))
    if isinstance(value, np.generic) or hasattr(value, "__array__"):
        return _of_array(_as_array(value))
    advice = "; give bytes, str, numbers, or arrays or lists of them"
    if hasattr(value, "__array_interface__"):
        advice = "; encode it first, as PNG or JPEG bytes, or give np.asarray(...) of it"
    raise _Unsuitable(TypeError, f"cannot store {_described(value)}{advice}")


_BY_TYPE: dict[type, Callable[[Any], _Value]] = {
    bytes: lambda value: ("bytes", b"\n" + varint(len(value)) + value),
    str: lambda value: _bytes_list([value.encode()]),
    bool: _of_int,
    int: _of_int,
    float: _of_float,
    list: _of_list,
}


class _Column:
    """A key: its encoded name, and its kind once a record has shown it."""

    def __init__(self, key: str, kind: str | None) -> None:
        self.key = key
        self.kind = kind
        self.since = -1  # The number of the record that decided the kind; -1 if the caller did.
        self.name = _field(1, key.encode()) + b"\x12"  # Ends with the tag of the value.

    def entry(self, kind: str, content: bytes) -> bytes:
        """Returns an entry of Features' map."""
        feature = _TAGS[kind] + varint(len(content)) + content
        entry = self.name + varint(len(feature)) + feature
        return b"\n" + varint(len(entry)) + entry


class Encoder:
    """Encodes records, and keeps every key to the kind of its first value.

    `kinds` decides the kind of some keys beforehand: "bytes", "float" or "int64".
    """

    def __init__(self, kinds: Mapping[str, str] | None = None) -> None:
        for key, kind in (kinds or {}).items():
            if kind not in KINDS:
                raise ValueError(f"types[{key!r}] is {kind!r}; it must be bytes, float or int64")
        self._columns = {key: _Column(key, kind) for key, kind in (kinds or {}).items()}
        self.records = 0

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """Returns the serialized tf.train.Example of the next record.

        Messages of TypeError and ValueError have the record, counted from 0, and the key.
        """
        entries = b"".join(self._entries(record))
        if not entries:
            raise ValueError(f"record {self.records} has no values")
        self.records += 1
        return _field(1, entries)

    def _entries(self, record: Mapping[str, Any]) -> Iterable[bytes]:
        for key, value in record.items():
            if value is None:
                continue
            try:
                entry = self._entry(key, value)
            except _Unsuitable as error:
                self._fail(error.error, key, str(error), error)
            except UnicodeEncodeError as error:
                self._fail(ValueError, key, f"not valid Unicode text: {error}", error)
            if entry:
                yield entry

    def _entry(self, key: str, value: Any) -> bytes:
        column = self._columns.get(key)
        if column is None:
            if not isinstance(key, str):
                raise _Unsuitable(TypeError, "a key must be a str")
            column = self._columns[key] = _Column(key, None)
        kind, content = _BY_TYPE.get(type(value), _of_other)(value)
        if not content:
            return b""
        if column.kind is None:
            column.kind, column.since = kind, self.records
        elif column.kind != kind:
            content = self._converted(column, kind, value)
        return column.entry(column.kind, content)

    def _converted(self, column: _Column, kind: str, value: Any) -> bytes:
        if (column.kind, kind) != ("float", "int64"):
            origin = ("types requires" if column.since < 0 else f"record {column.since} has")
            advice = (f"; convert it, or give pack(types={{{column.key!r}: 'float'}})"
                      if (column.kind, kind) == ("int64", "float") else "; convert it")
            raise _Unsuitable(TypeError, f"has type {kind}, but {origin} {column.kind}{advice}")
        integers = np.asarray(value).ravel()
        if integers.max() > _LARGEST_EXACT or integers.min() < -_LARGEST_EXACT:
            raise _Unsuitable(ValueError, "float32, the type of this key, cannot hold this integer "
                                          "exactly")
        return _floats(integers)[1]

    def _fail(self, error: type[Exception], key: Any, why: str, cause: Exception) -> NoReturn:
        raise error(f"record {self.records}, key {key!r}: {why}") from cause
