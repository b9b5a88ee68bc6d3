"""Penstock's batches as global arrays of JAX, for several processes that train together.

    jax.distributed.initialize()
    loader = penstock.Loader("data", global_batch_size=4096, **penstock.jax.ranks())
    sharding = penstock.jax.sharding_of_rows()
    for batch in loader:
        state = train_step(state, penstock.jax.global_arrays(batch, sharding))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from ._layout import check_for_jax
from .batch import Batch, register_pytrees

register_pytrees()

_jax: Any = jax  # Typed as Any, because parts of it have no types.


def ranks() -> dict[str, int]:
    """Returns the options `rank` and `world_size` of a Loader, taken from jax.distributed.

    A process that has not called jax.distributed.initialize() is rank 0 of 1.

        loader = penstock.Loader("data", **penstock.jax.ranks())
    """
    return {"rank": jax.process_index(), "world_size": jax.process_count()}


def sharding_of_rows(axis: str = "data") -> jax.sharding.NamedSharding:
    """Spreads the first dimension over all devices of all processes, in the order of processes.

    The rows of a process then lie on its own devices, and no rows are transferred. `axis` is the
    name of the mesh's only axis.

        step = jax.jit(train_step, in_shardings=(None, sharding_of_rows()))
    """
    devices = sorted(jax.devices(), key=lambda device: (device.process_index, device.id))
    mesh = jax.sharding.Mesh(np.array(devices), (axis,))
    return jax.sharding.NamedSharding(mesh, _jax.sharding.PartitionSpec(axis))


def global_arrays(batch: Mapping[str, Any],
                  sharding: jax.sharding.Sharding | None = None) -> dict[str, jax.Array]:
    """Returns the arrays of the global batch. Each process contributes its rows.

    `batch` is this process's batch of numpy or JAX arrays [rows, ...]. The results have the shapes
    [global rows, ...] and are spread by `sharding`; default: sharding_of_rows().

    On CPUs the arrays may share the batch's memory. They hold its slot until they are gone.

        state = step(state, penstock.jax.global_arrays(batch))

    JAX has 64-bit numbers only with jax_enable_x64. Without it, raises ValueError if an integer
    does not fit 32 bits.

    Raises ValueError if the devices do not divide the rows. Choose a global_batch_size that they
    divide, and do not use remainder="short".
    """
    chosen = sharding or sharding_of_rows()
    rows = batch.global_rows if isinstance(batch, Batch) else None
    return {name: _global_array(check_for_jax(name, np.asarray(array)), chosen, rows)
            for name, array in batch.items()}


def _global_array(local: npt.NDArray[Any], sharding: jax.sharding.Sharding,
                  rows: int | None) -> jax.Array:
    shape = None if rows is None else (rows, *local.shape[1:])
    array_of_all: jax.Array = _jax.make_array_from_process_local_data(sharding, local, shape)
    return array_of_all
