"""A batch: a dict of tensors that knows its place in the epoch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock import _protocol as protocol

if TYPE_CHECKING:
    from penstock._layout import Layout


class Batch(dict[str, Any]):
    """One rank's rows of one step: tensors by name, each of shape [rows, ...].

    A batch is a dict, so `batch["planes"]`, `batch.items()` and `step(**batch)` work. The pytree
    functions of torch and JAX see its tensors. They return a Batch too, but one without a step.

    The tensors lie in shared memory, which is filled again once all of them are gone. Copy the
    tensors that you keep for long.

    Example:
        for batch in loader:
            print(batch.epoch, batch.position, batch["planes"].shape)
    """

    __slots__ = ("_record", "_base", "_layout", "__weakref__")

    _record: protocol.Announcement
    # The bytes of the slot, or the record ids of a batch that has left its slot.
    _base: npt.NDArray[Any]
    _layout: Layout

    def _field(self, field: int) -> int:
        try:
            return self._record[field]
        except AttributeError:
            raise AttributeError(
                "this Batch was made from tensors, so it has no place in an epoch: use the batch "
                "that the loader returned"
            ) from None

    @property
    def step(self) -> int:
        """Number of steps before this one, since the loader began or last loaded a state."""
        return self._field(protocol.STEP)

    @property
    def epoch(self) -> int:
        """The epoch of the global batch's first row."""
        return self._field(protocol.EPOCH)

    @property
    def position(self) -> int:
        """The position in the epoch of the global batch's first row."""
        return self._field(protocol.POSITION)

    @property
    def first_row(self) -> int:
        """The index in the global batch of this rank's first row."""
        return self._field(protocol.FIRST_ROW)

    @property
    def rows(self) -> int:
        """Number of rows of this rank."""
        return self._field(protocol.ROWS)

    @property
    def global_rows(self) -> int:
        """Number of rows of all ranks together."""
        return self._field(protocol.GLOBAL_ROWS)

    @property
    def last_of_epoch(self) -> bool:
        """Whether this is the last batch that begins in its epoch."""
        return bool(self._field(protocol.FLAGS) & protocol.LAST_OF_EPOCH)

    @property
    def cursor(self) -> str:
        """Where to resume after this batch: "ps1-...". The same on all ranks."""
        epoch, position = self._field(protocol.END_EPOCH), self._field(protocol.END_POSITION)
        return self._layout.cursor(epoch, position)

    @property
    def record_ids(self) -> npt.NDArray[np.int64]:
        """The numbers of the rows' records in the dataset: int64 [rows].

        Errors:
            ValueError: the loader was made without `record_ids=True`.
        """
        rows = self._field(protocol.ROWS)
        return self._layout.record_ids(self._base, rows)

    def to(self, device: Any, non_blocking: bool = False) -> Batch:
        """Returns a Batch whose torch tensors are on `device`.

        With `non_blocking=True` and a CUDA device, the copy goes through torch's pinned memory
        and runs in the background. You may drop this batch at once: torch knows when its memory
        is free again.

        Errors:
            TypeError: the loader was not made with `output="torch"`.

        Example:
            for batch in loader:
                batch = batch.to("cuda", non_blocking=True)
                loss = model(batch["planes"], batch["score"])
        """
        self._require_torch("to()")
        copies = self._layout.copies if hasattr(self, "_layout") else None
        beside = non_blocking and _is_cuda(device)
        if copies is not None and beside:
            return self.with_tensors(copies.copy(self, self._base, device))
        return self.with_tensors(
            (name, _moved(tensor, device, non_blocking, beside)) for name, tensor in self.items()
        )

    def pin_memory(self) -> Batch:
        """Returns a Batch whose torch tensors are copies in pinned memory.

        Errors:
            TypeError: the loader was not made with `output="torch"`.
        """
        self._require_torch("pin_memory()")
        return self.with_tensors((name, tensor.pin_memory()) for name, tensor in self.items())

    def _require_torch(self, method: str) -> None:
        torch = sys.modules.get("torch")
        for name, tensor in self.items():
            if torch is None or not isinstance(tensor, torch.Tensor):
                raise TypeError(
                    f"Batch.{method} needs torch tensors, but {name!r} has type "
                    f'{type(tensor).__name__}: create the loader with output="torch"'
                )

    def with_tensors(self, tensors: Any) -> Batch:
        """Returns a Batch at the same place with these tensors: a mapping, or pairs of name and
        tensor."""
        other = Batch(tensors)
        if hasattr(self, "_record"):
            other._record, other._layout = self._record, self._layout
            # Do not keep the slot itself, because `other` would hold it for as long as it lives.
            other._base = self._layout.detached_ids(self._base, self.rows)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle or copy has the tensors and the place in the epoch, but not the slot."""
        if not hasattr(self, "_record"):
            return Batch, (dict(self),)
        ids = self._layout.detached_ids(self._base, self.rows)
        return _unpickled, (dict(self), self._record, self._layout.detached(), ids)

    def __repr__(self) -> str:
        """Names, types and shapes of the tensors, without their values."""
        place = ""
        if hasattr(self, "_record"):
            place = f" at epoch {self.epoch}, position {self.position}"
        tensors = ", ".join(f"{name}: {_described(tensor)}" for name, tensor in self.items())
        return f"<penstock.Batch{place}: {{{tensors}}}>"

    def copy(self) -> Batch:
        """Returns a Batch at the same place with the same tensors, which are not copied."""
        return self.with_tensors(self)


def _unpickled(
    tensors: dict[str, Any],
    record: protocol.Announcement,
    layout: Layout,
    ids: npt.NDArray[np.int64],
) -> Batch:
    batch = Batch(tensors)
    batch._record, batch._layout, batch._base = record, layout, ids
    return batch


def _described(tensor: Any) -> str:
    shape, dtype = getattr(tensor, "shape", None), getattr(tensor, "dtype", None)
    return type(tensor).__name__ if shape is None else f"{dtype} {list(shape)}"


def _is_cuda(device: Any) -> bool:
    import torch

    return bool(torch.device(device).type == "cuda")


def _moved(tensor: Any, device: Any, non_blocking: bool, pin: bool) -> Any:
    # A copy from memory that is not pinned would wait for the device.
    source = tensor.pin_memory() if pin and tensor.device.type == "cpu" else tensor
    return source.to(device, non_blocking=non_blocking)


_registered: set[str] = set()


def register_pytrees() -> None:
    """Registers Batch with the pytrees of torch and JAX, if these are imported."""
    for module, register in (("torch", _register_torch), ("jax", _register_jax)):
        if module in sys.modules and module not in _registered:
            _registered.add(module)
            register()


def _flatten(batch: Batch) -> tuple[list[Any], tuple[str, ...]]:
    return list(batch.values()), tuple(batch)


def _unflatten(tensors: Iterable[Any], names: Iterable[str]) -> Batch:
    # Only the names are part of the structure. If it had the step too, every batch would have
    # another structure, and jit would compile for each.
    return Batch(zip(names, tensors))


def _register_torch() -> None:
    from torch.utils import _pytree

    def flatten_with_keys(batch: Batch) -> tuple[list[Any], tuple[str, ...]]:
        return [(_pytree.MappingKey(name), tensor) for name, tensor in batch.items()], tuple(batch)

    register: Callable[..., None] = _pytree.register_pytree_node
    register(
        Batch,
        _flatten,
        _unflatten,
        serialized_type_name="penstock.Batch",
        flatten_with_keys_fn=flatten_with_keys,
    )


def _register_jax() -> None:
    import jax

    def flatten_with_keys(batch: Batch) -> tuple[list[Any], tuple[str, ...]]:
        pairs = [(jax.tree_util.DictKey(name), tensor) for name, tensor in batch.items()]
        return pairs, tuple(batch)

    jax.tree_util.register_pytree_with_keys(
        Batch, flatten_with_keys, lambda names, tensors: _unflatten(tensors, names), _flatten
    )
