"""Functions that run on batches when they are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from penstock._random import RowRandom
from penstock.batch import Batch
from penstock.verdict import Verdict

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
            if result is None:
                name = getattr(function, "__qualname__", repr(function))
                raise TypeError(f"{name}() of map() returned None: return the batch or a mapping")
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
        """Like len() of the Loader."""
        return len(self.loader)

    def __repr__(self) -> str:
        count = len(self._functions)
        return f"<penstock.MappedLoader of {count} function{'s'[:count != 1]} on {self.loader!r}>"

    @property
    def epoch(self) -> int:
        """Like Loader.epoch."""
        return self.loader.epoch

    @property
    def remaining(self) -> int:
        """Like Loader.remaining."""
        return self.loader.remaining

    def stats(self) -> dict[str, Any]:
        """Like Loader.stats()."""
        return self.loader.stats()

    def verdict(self) -> Verdict:
        """Like Loader.verdict(). The functions count as the time of your own code."""
        return self.loader.verdict()

    def close(self) -> None:
        """Like Loader.close()."""
        self.loader.close()

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
        self.close()

    def __getitem__(self, index: object) -> NoReturn:
        self.loader.__getitem__(index)

    def __reduce__(self) -> NoReturn:
        self.loader.__reduce__()
