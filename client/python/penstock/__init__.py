"""Penstock: batches for training, in an order that survives failures and changes of world size.

    import penstock

    with penstock.Loader("data", global_batch_size=512, seed=7) as loader:
        for batch in loader:
            print(batch.step, {name: array.shape for name, array in batch.items()})

Loader reads batches. Server serves data in the background. index() and pack() make datasets.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from penstock._version import __version__

if TYPE_CHECKING:
    from penstock._layout import TensorSpec
    from penstock._random import RowRandom
    from penstock.batch import Batch
    from penstock.dataset import index, pack
    from penstock.errors import (
        AbortedError,
        AccessDeniedError,
        DataLossError,
        Error,
        FailedPreconditionError,
        FeedError,
        InvalidArgumentError,
        NotFoundError,
        ResourceExhaustedError,
        SlotsHeldError,
        UnavailableError,
    )
    from penstock.loader import EvaluationLoader, Loader, evaluate_loader
    from penstock.mapped import MappedLoader
    from penstock.prometheus import metrics
    from penstock.server import Server
    from penstock.verdict import Verdict

__all__ = [
    "AbortedError",
    "AccessDeniedError",
    "Batch",
    "DataLossError",
    "Error",
    "EvaluationLoader",
    "FailedPreconditionError",
    "FeedError",
    "InvalidArgumentError",
    "Loader",
    "MappedLoader",
    "NotFoundError",
    "ResourceExhaustedError",
    "RowRandom",
    "Server",
    "SlotsHeldError",
    "TensorSpec",
    "UnavailableError",
    "Verdict",
    "__version__",
    "evaluate_loader",
    "index",
    "metrics",
    "pack",
]

# Modules are imported when one of their names is used. So the commands `penstock` and
# `penstock-server` start without NumPy, and a trainer does not load the server's module.
_MODULES = {
    "_layout": ["TensorSpec"],
    "_random": ["RowRandom"],
    "batch": ["Batch"],
    "dataset": ["index", "pack"],
    "errors": [name for name in __all__ if name.endswith("Error")],
    "loader": ["EvaluationLoader", "Loader", "evaluate_loader"],
    "mapped": ["MappedLoader"],
    "prometheus": ["metrics"],
    "server": ["Server"],
    "verdict": ["Verdict"],
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"penstock.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
