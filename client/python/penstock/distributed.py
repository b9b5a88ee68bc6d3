"""Horovod's functions on torch.distributed: in a script for Horovod you change one import.

    import penstock.distributed as hvd

    hvd.init()
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

Start it with `penstock launch -np 2 -H localhost:2 python train.py`, with torchrun, mpirun or srun.
Ranks communicate with gloo on CPUs, and with NCCL if `torch.cuda.is_available()`. If
torch.distributed is already initialised, that is used.

Every rank must call the same functions in the same order. Names of operations are accepted and
ignored, because the order matches the operations of all ranks.

Errors: before init(), functions that need the other ranks raise ValueError. If another rank ends,
they raise what torch.distributed raises: RuntimeError, or torch.distributed.DistBackendError.
Threads: call them from one thread.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from ._optimizer import optimizer_of_ranks
from ._ranks import find_ranks

_T = TypeVar("_T")
_dist: Any = dist  # Typed as Any, because parts of it have no types.
_started_here = False


class ReduceOp:
    """How values of several ranks are combined."""

    def __init__(self, name: str, op: Any) -> None:
        self._name, self.op = name, op

    def __repr__(self) -> str:
        return f"penstock.distributed.{self._name}"


# The sum is divided afterwards, because gloo has no average.
Average = ReduceOp("Average", dist.ReduceOp.SUM)
Sum = ReduceOp("Sum", dist.ReduceOp.SUM)
Min = ReduceOp("Min", dist.ReduceOp.MIN)
Max = ReduceOp("Max", dist.ReduceOp.MAX)
Product = ReduceOp("Product", dist.ReduceOp.PRODUCT)


class _NoCompression:
    """Sends gradients as they are."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.dtype]:
        return tensor, tensor.dtype

    @staticmethod
    def decompress(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return tensor.to(dtype)


class _HalfCompression(_NoCompression):
    """Sends gradients as float16."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.dtype]:
        if not tensor.is_floating_point():
            return tensor, tensor.dtype
        return tensor.to(torch.float16), tensor.dtype


class Compression:
    """Compression of gradients while they are sent."""

    none = _NoCompression
    fp16 = _HalfCompression


def init() -> None:
    """Joins the other ranks, which the launcher's variables name. One process alone is one rank.

        hvd.init()
        print(f"rank {hvd.rank()} of {hvd.size()}")

    Call it once, before anything else. Ranks meet at MASTER_ADDR and MASTER_PORT, which
    `penstock launch` and torchrun set, or else at PENSTOCK_RENDEZVOUS (HOST:PORT).

    Raises InvalidArgumentError (a ValueError) if the variables contradict each other. Raises
    RuntimeError if there are several ranks but no address at which they meet.
    """
    global _started_here
    if dist.is_initialized():
        return
    ranks = find_ranks()
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    if backend == "nccl":
        torch.cuda.set_device(local_rank() % torch.cuda.device_count())
    if ranks.world_size == 1:
        dist.init_process_group(backend, store=_dist.HashStore(), rank=0, world_size=1)
    else:
        dist.init_process_group(backend, init_method=_meeting_place(), rank=ranks.rank,
                                world_size=ranks.world_size)
    _started_here = True
    atexit.register(shutdown)


def _meeting_place() -> str:
    if os.environ.get("MASTER_ADDR") and os.environ.get("MASTER_PORT"):
        # Do not use tcp://, because torchrun's agent may already have the store at that port.
        return "env://"
    told = os.environ.get("PENSTOCK_RENDEZVOUS", "")
    if told and not told.startswith("unix-abstract:"):
        return f"tcp://{told}"
    raise RuntimeError("several ranks need a rendezvous address: start them with penstock launch "
                       "or torchrun, or set MASTER_ADDR and MASTER_PORT")


def shutdown() -> None:
    """Leaves the other ranks, if init() joined them. Also called at exit."""
    global _started_here
    if _started_here and dist.is_initialized():
        dist.destroy_process_group()
    _started_here = False


def is_initialized() -> bool:
    """Returns whether the ranks have met."""
    return dist.is_available() and dist.is_initialized()


def _check_initialized() -> None:
    if not is_initialized():
        raise ValueError("penstock.distributed is not initialised: call init() first")


def rank() -> int:
    """Returns the number of this rank, counted from 0."""
    _check_initialized()
    return dist.get_rank()


def size() -> int:
    """Returns the number of ranks."""
    _check_initialized()
    return dist.get_world_size()


def local_rank() -> int:
    """Returns the number of this rank among those of its machine. Use it to choose the GPU.

        torch.cuda.set_device(hvd.local_rank())
    """
    for name in ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID",
                 "HOROVOD_LOCAL_RANK"):
        if os.environ.get(name):
            return int(os.environ[name])
    ranks = find_ranks()
    return ranks.rank % ranks.local_size


def local_size() -> int:
    """Returns the number of ranks on this machine."""
    return find_ranks().local_size


def cross_rank() -> int:
    """Returns the number of this machine, if all machines have the same number of ranks."""
    return rank() // local_size()


def cross_size() -> int:
    """Returns the number of machines, if all have the same number of ranks."""
    return -(-size() // local_size())


def gloo_built() -> bool:
    """Returns whether this torch has gloo."""
    return dist.is_gloo_available()


def nccl_built() -> bool:
    """Returns whether this torch has NCCL."""
    return dist.is_nccl_available()


def mpi_built() -> bool:
    """Returns False, because ranks do not use MPI to communicate."""
    return False


def mpi_threads_supported() -> bool:
    """Returns False, because ranks do not use MPI to communicate."""
    return False


def _device() -> torch.device:
    """Returns the device on which tensors must be to be sent."""
    return torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")


def _chosen_op(average: bool | None, op: ReduceOp | None) -> ReduceOp:
    if average is not None and op is not None:
        raise ValueError("give op or average, not both")
    return op or (Sum if average is False else Average)


def _finish(total: torch.Tensor, op: ReduceOp) -> torch.Tensor:
    if op is not Average:
        return total
    if total.is_floating_point() or total.is_complex():
        return total.div_(size())
    return total.div_(size(), rounding_mode="trunc")  # As in Horovod, integers stay integers.


def _reduce(tensor: torch.Tensor, op: ReduceOp) -> torch.Tensor:
    """Returns the result in memory of its own, on the tensor's device."""
    moved = tensor.detach().to(_device(), copy=True).contiguous()
    dist.all_reduce(moved, op=op.op)
    return _finish(moved, op).to(tensor.device)


def allreduce(tensor: torch.Tensor, average: bool | None = None, name: str | None = None,
              compression: type[_NoCompression] = Compression.none,
              op: ReduceOp | None = None) -> torch.Tensor:
    """Returns the mean over all ranks, or the result of `op`, in a new tensor of the same shape.

    Averages of integers are truncated. The result has no gradient.

        loss = hvd.allreduce(loss)
    """
    _check_initialized()
    chosen = _chosen_op(average, op)
    small, dtype = compression.compress(tensor)
    return compression.decompress(_reduce(small, chosen), dtype)


def allreduce_(tensor: torch.Tensor, average: bool | None = None, name: str | None = None,
               op: ReduceOp | None = None) -> torch.Tensor:
    """Like allreduce(), but writes into the tensor itself, and returns it.

        hvd.allreduce_(correct, op=hvd.Sum)
    """
    result = allreduce(tensor, average, name, op=op)
    with torch.no_grad():
        return tensor.copy_(result)


def grouped_allreduce(tensors: Iterable[torch.Tensor], average: bool | None = None,
                      name: str | None = None,
                      compression: type[_NoCompression] = Compression.none,
                      op: ReduceOp | None = None) -> list[torch.Tensor]:
    """Returns allreduce() of each of the tensors.

        loss, accuracy = hvd.grouped_allreduce([loss, accuracy])
    """
    return [allreduce(tensor, average, name, compression, op) for tensor in tensors]


def allgather(tensor: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """Returns the tensors of all ranks, joined along their first dimension in the order of ranks.

    The first dimension may differ between ranks. The other dimensions and the type may not.

        predictions = hvd.allgather(predictions)  # [rows of all ranks, classes]

    Raises ValueError on every rank if shapes or types do not fit.
    """
    _check_initialized()
    if tensor.dim() == 0:
        tensor = tensor.reshape(1)
    shapes: list[Any] = allgather_object((tuple(tensor.shape), tensor.dtype))
    if any((shape[1:], dtype) != (shapes[0][0][1:], shapes[0][1]) for shape, dtype in shapes):
        raise ValueError(f"allgather: ranks have shapes and types that do not fit: {shapes}")
    most = max(shape[0] for shape, _ in shapes)
    padded = torch.zeros((most, *tensor.shape[1:]), dtype=tensor.dtype, device=_device())
    padded[:tensor.shape[0]] = tensor.detach()
    parts = [torch.empty_like(padded) for _ in shapes]
    dist.all_gather(parts, padded)
    rows = [part[:shape[0]] for part, (shape, _) in zip(parts, shapes)]
    return torch.cat(rows).to(tensor.device)


def allgather_object(value: _T, name: str | None = None) -> list[_T]:
    """Returns the objects of all ranks, which must be picklable, in the order of ranks.

        hosts = hvd.allgather_object(socket.gethostname())
    """
    _check_initialized()
    values: list[Any] = [None] * size()
    dist.all_gather_object(values, value)
    return values


def broadcast(tensor: torch.Tensor, root_rank: int, name: str | None = None) -> torch.Tensor:
    """Returns the tensor of one rank as a new tensor; all ranks give a tensor of the same shape.

        noise = hvd.broadcast(torch.randn(8), root_rank=0)
    """
    _check_initialized()
    moved = tensor.detach().to(_device(), copy=True).contiguous()
    dist.broadcast(moved, src=root_rank)
    return moved.to(tensor.device)


def broadcast_(tensor: torch.Tensor, root_rank: int, name: str | None = None) -> torch.Tensor:
    """Like broadcast(), but writes into the tensor itself, and returns it.

        hvd.broadcast_(model.positions, root_rank=0)
    """
    result = broadcast(tensor, root_rank)
    with torch.no_grad():
        return tensor.copy_(result)


def broadcast_object(value: _T | None, root_rank: int = 0, name: str | None = None) -> _T:
    """Returns the object of one rank, which must be picklable; others may give None.

        checkpoint = hvd.broadcast_object(torch.load(path) if hvd.rank() == 0 else None)
    """
    _check_initialized()
    values: list[Any] = [value if rank() == root_rank else None]
    dist.broadcast_object_list(values, src=root_rank)
    result: _T = values[0]
    return result


def broadcast_parameters(params: Mapping[str, Any] | Iterable[tuple[str, Any]],
                         root_rank: int) -> None:
    """Sets the tensors of all ranks to those of one rank.

    `params` is `model.state_dict()` or `model.named_parameters()`. Values that are not tensors
    stay as they are.

        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    """
    items = params.items() if isinstance(params, Mapping) else params
    for _, value in items:
        if isinstance(value, torch.Tensor):
            broadcast_(value, root_rank)


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int) -> None:
    """Sets the optimizer's state on all ranks to that of one rank, including learning rates and
    momenta.

        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    """
    _check_initialized()
    state = broadcast_object(_on_cpu(optimizer.state_dict()) if rank() == root_rank else None,
                             root_rank)
    if rank() != root_rank:
        optimizer.load_state_dict(state)


def _on_cpu(value: Any) -> Any:
    """Returns the value with its tensors on the CPU, where every rank can unpickle them."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {key: _on_cpu(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_on_cpu, value))
    return value


def barrier() -> None:
    """Waits until all ranks are here.

        if hvd.rank() == 0:
            penstock.index("data")
        hvd.barrier()  # Now all ranks can read the manifest.
    """
    _check_initialized()
    dist.barrier()


def join(device: int = -1) -> int:
    """Not supported: with Penstock no rank runs out of batches before the others."""
    raise NotImplementedError(
        "join() is for ranks with unequal numbers of steps. A Loader gives every rank the same "
        "number: remove the call. For ranks that read by other means, see "
        "torch.distributed.algorithms.join")


def DistributedOptimizer(  # noqa: N802: Horovod's name.
        optimizer: torch.optim.Optimizer,
        named_parameters: Iterable[tuple[str, torch.nn.Parameter]] | None = None,
        compression: type[_NoCompression] = Compression.none,
        backward_passes_per_step: int = 1, op: ReduceOp = Average,
        gradient_predivide_factor: float = 1.0, num_groups: int = 0, groups: Any = None,
        sparse_as_dense: bool = False, process_set: Any = None) -> Any:
    """Returns the optimizer with a step() that first averages the gradients over all ranks.

    The class of the result is a subclass of the optimizer's class. The result shares the
    optimizer's state and parameter groups, and also has synchronize() and skip_synchronize().

    `named_parameters` is checked but not needed. With `backward_passes_per_step` N, call step()
    after N calls of backward(); gradients are then the mean of N. `num_groups`, `groups`,
    `gradient_predivide_factor` and `sparse_as_dense` have no effect: in Horovod they change how
    gradients are reduced, but not the result.

        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
        loss.backward()
        optimizer.step()

    Raises ValueError if a name occurs twice, if `op` is neither Average nor Sum, or if a
    `process_set` is given.
    """
    if op not in (Average, Sum):
        raise ValueError(f"DistributedOptimizer: op must be Average or Sum, not {op}")
    if process_set is not None:
        raise ValueError("process_set is not supported: use a group of torch.distributed")
    names = [name for name, _ in named_parameters or ()]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"named_parameters has {twice!r} twice")

    def reduce(flat: torch.Tensor) -> torch.Tensor:
        small, dtype = compression.compress(flat)
        total = compression.decompress(_reduce(small, op), dtype)
        average_of_passes = op is Average and backward_passes_per_step > 1
        return total.div_(backward_passes_per_step) if average_of_passes else total

    return optimizer_of_ranks(optimizer, reduce)
