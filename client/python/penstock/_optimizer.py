"""An optimizer of torch whose step() first reduces the gradients over all ranks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

# Returns the reduced values of a flat tensor, in its own type and on its own device.
Reduce = Callable[[torch.Tensor], torch.Tensor]

# Bytes of gradients that are sent together, as in DistributedDataParallel.
_BUCKET_BYTES = 25 << 20


def optimizer_of_ranks(optimizer: torch.optim.Optimizer, reduce: Reduce) -> Any:
    """Returns the optimizer with a step() that first calls `reduce` on the gradients.

    The class of the result is a subclass of the optimizer's class. The result shares the
    optimizer's state and parameter groups.
    """
    kind = type(optimizer)
    result: Any = object.__new__(type(kind.__name__, (_OptimizerOfRanks, kind), {}))
    # A scheduler leaves a step() in the optimizer, which would hide ours.
    result.__dict__.update((key, value) for key, value in optimizer.__dict__.items()
                           if key != "step")
    result._reduce_flat = reduce
    result._synchronized = result._skip = False
    result._inner = optimizer
    return result


class _OptimizerOfRanks(torch.optim.Optimizer):
    """A mixin that optimizer_of_ranks() adds to the class of the optimizer."""

    _reduce_flat: Reduce
    _inner: Any  # The given optimizer, to which a scheduler may belong.
    _synchronized: bool
    _skip: bool

    def synchronize(self) -> None:
        """Reduces the gradients now, for code that clips or inspects them before step()."""
        gradients = [_gradient_of(parameter) for group in self.param_groups
                     for parameter in group["params"] if parameter.requires_grad]
        with torch.no_grad():
            for bucket in _buckets(gradients):
                self._reduce_bucket(bucket)
        self._synchronized = True

    def _reduce_bucket(self, bucket: list[torch.Tensor]) -> None:
        total: Any = self._reduce_flat(torch.cat([gradient.reshape(-1) for gradient in bucket]))
        for gradient, part in zip(bucket, total.split([g.numel() for g in bucket])):
            gradient.copy_(part.view_as(gradient))

    @contextlib.contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """In this block step() does not reduce the gradients, because synchronize() has been
        called."""
        self._skip = True
        try:
            yield
        finally:
            self._skip = False

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Reduces the gradients, unless synchronize() has done so, and makes the step."""
        if closure is not None:
            raise ValueError("step() supports no closure, because gradients are reduced before the "
                             "step")
        if not self._skip and not self._synchronized:
            self.synchronize()
        self._synchronized = False
        # Otherwise the optimizer's scheduler warns that no step was made.
        self._inner._opt_called = True
        return super().step()

    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        self._synchronized = False
        super().zero_grad(*args, **kwargs)


def _gradient_of(parameter: torch.Tensor) -> torch.Tensor:
    # A step may use other parameters on other ranks, but all ranks take part in each exchange.
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    if parameter.grad.is_sparse:
        parameter.grad = parameter.grad.to_dense()
    return parameter.grad


def _buckets(gradients: Iterable[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """Groups neighbours of one type and device, in the given order, up to a maximum size."""
    bucket: list[torch.Tensor] = []
    total = 0
    for gradient in gradients:
        same = bool(bucket) and (bucket[0].dtype, bucket[0].device) == (gradient.dtype,
                                                                       gradient.device)
        gradient_bytes = gradient.numel() * gradient.element_size()
        if bucket and (not same or total + gradient_bytes > _BUCKET_BYTES):
            yield bucket
            bucket, total = [], 0
        bucket.append(gradient)
        total += gradient_bytes
    if bucket:
        yield bucket
