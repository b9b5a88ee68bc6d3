"""Functions that run on batches when they are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from penstock._random import RowRandom
from penstock.batch import Batch

if TYPE_CHECKING:
    from penstock.loader import Loader, State

Function = Callable[[Batch, RowRandom], Any]


class MappedLoader:
    """A loader that runs functions on its batches. Made by Loader.map().

    It reads from the Loader from which it was made, and both share one place in the order. If a
    function raises, its batch counts as handed out, just as if the body of a `for` raises. To take
    the batch again, load the state that `state_dict()` returned before.

    Threads: as for Loader.

    Example:
        scaled = loader.map(lambda batch, rng: {**batch, "x": batch["x"] / 255})
        for batch in scaled:
            step(batch["x"])
        checkpoint["loader"] = scaled.state_dict()
    """

    def __init__(self, loader: Loader, functions: tuple[Function, ...]) -> None:
        self.loader = loader
        self._functions = functions

    def __iter__(self) -> Iterator[Any]:
        """Returns the results up to the end of the current epoch.

        Errors: those of a Loader's `for`, and what the functions raise.
        """
        return map(self._apply, iter(self.loader))

    def _apply(self, batch: Batch) -> Any:
        result: Any = batch
        for stage, function in enumerate(self._functions):
            result = function(result, RowRandom.of_batch(self.loader.seed, batch, stage))
            if isinstance(result, Mapping) and not isinstance(result, Batch):
                result = batch.with_tensors(result)
        return result

    def map(self, function: Function) -> MappedLoader:
        """Returns a loader with one more function, which has random draws of its own.

        Example:
            for batch in loader.map(crop).map(flip): ...
        """
        return MappedLoader(self.loader, (*self._functions, function))

    def __len__(self) -> int:
        return len(self.loader)

    def state_dict(self, after: Batch | None = None) -> State:
        """Like Loader.state_dict()."""
        return self.loader.state_dict(after)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Like Loader.load_state_dict(), with the same errors."""
        self.loader.load_state_dict(state)

    def __getattr__(self, name: str) -> Any:
        if name == "loader":  # A copy is being made.
            raise AttributeError(name)
        return getattr(self.loader, name)

    def __enter__(self) -> MappedLoader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.loader.close()

    def __reduce__(self) -> NoReturn:
        self.loader.__reduce__()
