"""Finds the tensors of a slot, and turns them into arrays of NumPy, torch or JAX."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock import _protocol as protocol
from penstock.batch import Batch
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._pinning import RegisteredCopies

OUTPUTS = ("numpy", "torch", "jax")
LAYOUTS = (None, "NHWC", "NCHW")
_MAX_CHANNELS = 4

_DTYPES: dict[str, np.dtype[Any]] = {
    "u8": np.dtype("u1"),
    "i8": np.dtype("i1"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
    "i32": np.dtype("<i4"),
    "i64": np.dtype("<i8"),
}

Bytes = npt.NDArray[np.uint8]
Ids = npt.NDArray[np.int64]
_ndarray = np.ndarray
Finish = Callable[[Any], Any]


class TensorSpec(NamedTuple):
    """Describes a tensor of a batch. `shape` is that of one row; a batch has [rows, *shape].

    `lengths` is the name of the tensor that has the length of each row; None if all values count.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    lengths: str | None = None


class _Field(NamedTuple):
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    finish: Finish | None


class Layout:
    """Makes batches from slots that READY describes. Immutable."""

    copies: RegisteredCopies | None = None

    def __init__(self, ready: dict[str, Any], output: str, layout: str | None) -> None:
        self.rows = int(ready["rows"])
        self.order_fingerprint = str(ready["order_fingerprint"])
        self._ids_offset: int | None = ready["record_ids_offset"]
        self.tensors = _specs(ready["tensors"])
        self._fields = [
            _make_field(spec, int(tensor["offset"]), output, layout)
            for spec, tensor in zip(self.tensors, ready["tensors"])
        ]
        self._full = self._fields_of(self.rows)
        self._plain = all(field.finish is None for field in self._full)

    def _fields_of(self, rows: int) -> list[_Field]:
        return [field._replace(shape=(rows, *field.shape)) for field in self._fields]

    def make(self, base: Bytes, record: protocol.Announcement) -> Batch:
        """Returns the batch in `base`, which is the bytes of a slot or a copy of them."""
        batch = Batch()
        batch._record = record
        batch._base = base
        batch._layout = self
        rows = record[8]  # The announcement's ROWS.
        fields = self._full if rows == self.rows else self._fields_of(rows)
        if self._plain:
            for name, shape, dtype, offset, _ in fields:
                batch[name] = _ndarray(shape, dtype, base, offset)
            return batch
        for name, shape, dtype, offset, finish in fields:
            tensor = _ndarray(shape, dtype, base, offset)
            batch[name] = tensor if finish is None else finish(tensor)
        return batch

    def cursor(self, epoch: int, position: int) -> str:
        """Returns the text of a cursor of this order."""
        return f"ps1-{self.order_fingerprint}-{epoch}-{position}"

    def record_ids(self, base: Bytes | Ids, rows: int) -> Ids:
        """Returns the record ids of a batch; see Batch.record_ids."""
        if self._ids_offset is None:
            raise ValueError("batches have no record ids: give the loader record_ids=True")
        if base.dtype == np.int64:
            return base  # type: ignore[return-value]  # The batch has left its slot.
        ids: Ids = np.ndarray((rows,), _DTYPES["i64"], base, self._ids_offset)
        return ids

    def detached_ids(self, base: Bytes | Ids, rows: int) -> Ids:
        """Returns a copy of the record ids; empty if there are none."""
        if self._ids_offset is None:
            return np.empty(0, np.int64)
        ids: Ids = self.record_ids(base, rows).copy()
        return ids

    def detached(self) -> Layout:
        """Returns a layout that can be pickled, for batches that already exist."""
        other = Layout.__new__(Layout)
        other.rows, other.order_fingerprint = self.rows, self.order_fingerprint
        other.tensors, other._ids_offset = self.tensors, self._ids_offset
        return other


def _specs(tensors: list[dict[str, Any]]) -> tuple[TensorSpec, ...]:
    names = [str(tensor["name"]) for tensor in tensors]
    return tuple(
        TensorSpec(
            str(tensor["name"]),
            str(tensor["dtype"]),
            tuple(int(size) for size in tensor["shape"]),
            None if tensor["lengths"] is None else names[int(tensor["lengths"])],
        )
        for tensor in tensors
    )


def _make_field(spec: TensorSpec, offset: int, output: str, layout: str | None) -> _Field:
    dtype = np.dtype("<u2") if spec.dtype == "bf16" else _DTYPES.get(spec.dtype)
    if dtype is None:
        raise InvalidArgumentError(f"tensor {spec.name}: unknown type {spec.dtype}")
    steps = [_converter(spec, output)]
    if layout == "NCHW" and _is_image(spec):
        steps.append(_channels_first(output))
    return _Field(spec.name, spec.shape, dtype, offset, _chain([step for step in steps if step]))


def _is_image(spec: TensorSpec) -> bool:
    return spec.dtype == "u8" and len(spec.shape) == 3 and spec.shape[2] <= _MAX_CHANNELS


def _chain(steps: list[Finish]) -> Finish | None:
    if len(steps) < 2:
        return steps[0] if steps else None
    return lambda array: functools.reduce(lambda value, step: step(value), steps, array)


def _converter(spec: TensorSpec, output: str) -> Finish | None:
    """Returns a function that makes a tensor of `output` from a NumPy array; None if it is one
    already."""
    if output == "torch":
        return _torch_converter(spec.dtype == "bf16")
    bf16 = _bf16_view() if spec.dtype == "bf16" else None
    if output == "numpy":
        return bf16
    import jax

    check = functools.partial(check_for_jax, spec.name) if spec.dtype in ("i64", "f64") else None
    return _chain([step for step in (bf16, check, jax.device_put) if step])


def check_for_jax(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns the array if JAX keeps its values: it has 32 bits for each without jax_enable_x64.

    Errors:
        InvalidArgumentError: an integer does not fit 32 bits, which JAX would cut off.
    """
    import jax

    if array.dtype.itemsize < 8 or jax.config.jax_enable_x64:
        return array
    fix = 'jax.config.update("jax_enable_x64", True)'
    if array.dtype.kind == "f":
        warnings.warn(f"tensor {name}: JAX makes float32 of float64 without {fix}", RuntimeWarning,
                      stacklevel=2)
        return array
    limits = np.iinfo(np.int32)
    if array.size > 0 and not (limits.min <= array.min() and array.max() <= limits.max):
        wrong = array[(array < limits.min) | (array > limits.max)].flat[0]
        raise InvalidArgumentError(
            f"tensor {name} contains {wrong}, and JAX has only 32 bits for it: call {fix} before "
            'you make the Loader, or give output="numpy"'
        )
    return array


def _torch_converter(bf16: bool) -> Finish:
    import torch

    if not bf16:
        from_numpy: Finish = torch.from_numpy
        return from_numpy
    return lambda array: torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)


def _bf16_view() -> Finish:
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError(
            "bf16 in NumPy needs the package ml_dtypes: pip install ml_dtypes, or give "
            'output="torch" or dtype="f32"'
        ) from None
    dtype = np.dtype(ml_dtypes.bfloat16)
    return lambda array: array.view(dtype)


def _channels_first(output: str) -> Finish:
    if output == "torch":
        return lambda tensor: tensor.permute(0, 3, 1, 2)
    return lambda array: array.transpose(0, 3, 1, 2)


def row_bytes(spec: TensorSpec) -> int:
    """Returns the number of bytes of one row."""
    size = 2 if spec.dtype == "bf16" else _DTYPES[spec.dtype].itemsize
    return size * math.prod(spec.shape)
