"""Penstock in a DataLoader of PyTorch.

You need this only if other code requires a DataLoader: a Loader itself is an iterable of batches.

    dataset = penstock.torch.IterableDataset("data", global_batch_size=4096)
    for batch in torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=0):
        step(batch["planes"], batch["score"])
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any, NoReturn

import torch.utils.data

from .batch import Batch, register_pytrees
from .loader import Loader, MappedLoader

register_pytrees()

_ADVICE = ("A penstock dataset cannot be read in a worker process of a DataLoader: its batches lie "
           "in memory of the process that made it, and each worker would read the whole epoch. Use "
           "DataLoader(dataset, batch_size=None, num_workers=0). This costs no speed: penstock "
           "decodes in a process of its own, on all cores.")
# Classes of accelerate and transformers that give each rank a part of what a dataset yields.
_SPLITTERS = {"DataLoaderDispatcher", "IterableDatasetShard"}


class IterableDataset(torch.utils.data.IterableDataset[Batch]):
    """The batches of a Loader as a dataset: `DataLoader(dataset, batch_size=None)`.

    `dataset` and the options are those of penstock.Loader, with output="torch". `dataset` may also
    be a Loader, or the result of its map(). An item is a Batch: a dict of tensors [rows, ...]. One
    pass of the DataLoader reads to the end of the epoch, and the next pass reads the next epoch.

    `state_dict()` and `load_state_dict()` are the Loader's. torchdata's StatefulDataLoader and
    Lightning call them.

    Raises the exceptions of Loader. In a worker process, raises RuntimeError with advice. So does a
    DataLoader with a batch_size, which would stack whole batches, and code that would split the
    part of a rank among all ranks again, such as accelerate's `prepare(DataLoader(...))`.

        from torchdata.stateful_dataloader import StatefulDataLoader

        loader = StatefulDataLoader(IterableDataset("data"), batch_size=None)
    """

    loader: Loader | MappedLoader

    def __init__(self, dataset: str | os.PathLike[str] | Loader | MappedLoader,
                 **options: Any) -> None:
        super().__init__()
        if isinstance(dataset, (Loader, MappedLoader)):
            if options:
                raise TypeError("give the options to the Loader")
            self.loader = dataset
        else:
            self.loader = Loader(dataset, **{"output": "torch", **options})

    def __iter__(self) -> Iterator[Batch]:
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError(_ADVICE)
        for reader in _readers():
            self._check_reader(reader)
        return iter(self.loader)

    def _check_reader(self, reader: object) -> None:
        if isinstance(reader, torch.utils.data.DataLoader):
            if reader.dataset is self and reader.batch_size is not None:
                raise RuntimeError(
                    f"DataLoader(dataset, batch_size={reader.batch_size}) would stack whole "
                    "batches: use DataLoader(dataset, batch_size=None). The rows of a batch are "
                    "global_batch_size divided by the number of ranks")
        splits = _SPLITTERS & {base.__name__ for base in type(reader).__mro__}
        if splits and self.loader.world_size > 1:
            raise RuntimeError(
                f"{splits.pop()} would split this rank's part among all ranks again, so rows would "
                "be lost: do not pass the DataLoader through accelerator.prepare(). Read the "
                "penstock.Loader itself: each rank gets its part, and batch.to(device) moves it. "
                "If a Trainer prepares it, let get_train_dataloader() return the Loader")

    def __len__(self) -> int:
        """Number of steps of an epoch."""
        return len(self.loader)

    def state_dict(self, after: Batch | None = None) -> dict[str, Any]:
        """Returns where to resume: after the last batch that was handed out, or after `after`."""
        return self.loader.state_dict(after)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues at `state`; another world size is fine."""
        self.loader.load_state_dict(state)

    def close(self) -> None:
        """Closes the Loader."""
        self.loader.close()

    def __reduce__(self) -> NoReturn:
        raise RuntimeError(_ADVICE)  # Spawned workers get the dataset by pickle.


def _readers() -> Iterator[object]:
    """Returns the objects whose methods are being called, from the innermost one on."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if "self" in frame.f_code.co_varnames[:1]:
            yield frame.f_locals.get("self")
        frame = frame.f_back
