"""Penstock in a DataLoader of PyTorch.

You need this only if other code requires a DataLoader: a Loader itself is an iterable of batches.

    dataset = penstock.torch.IterableDataset("data", global_batch_size=4096)
    for batch in torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=0):
        step(batch["planes"], batch["score"])
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import torch.utils.data

from .batch import Batch, register_pytrees
from .loader import Loader, MappedLoader

register_pytrees()

_ADVICE = ("A penstock dataset cannot be read in a worker process of a DataLoader: its batches lie "
           "in memory of the process that made it, and each worker would read the whole epoch. Use "
           "DataLoader(dataset, batch_size=None, num_workers=0). This costs no speed: penstock "
           "decodes in a process of its own, on all cores.")


class IterableDataset(torch.utils.data.IterableDataset[Batch]):
    """The batches of a Loader as a dataset: `DataLoader(dataset, batch_size=None)`.

    `dataset` and the options are those of penstock.Loader, with output="torch". `dataset` may also
    be a Loader, or the result of its map(). An item is a Batch: a dict of tensors [rows, ...]. One
    pass of the DataLoader reads to the end of the epoch, and the next pass reads the next epoch.

    `state_dict()` and `load_state_dict()` are the Loader's. torchdata's StatefulDataLoader and
    Lightning call them.

    Raises the exceptions of Loader. In a worker process, raises RuntimeError with advice.

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
        return iter(self.loader)

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
