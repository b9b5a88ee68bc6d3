"""Loader: batches for one rank of a training."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn

from penstock import batch as batches
from penstock import verdict as verdicts
from penstock._feed import Feed
from penstock._layout import LAYOUTS, OUTPUTS, Layout, TensorSpec
from penstock._options import PathLike, feed_arguments, in_keywords, with_hints
from penstock._ranks import Ranks, check_torch_ranks, find_ranks
from penstock._stream import COPIES, BatchStream, EndOfStream
from penstock.batch import Batch
from penstock.errors import InvalidArgumentError
from penstock.mapped import Function, MappedLoader

__all__ = ["EvaluationLoader", "Loader", "MappedLoader", "evaluate_loader"]

Output = Literal["numpy", "torch", "jax"]
State = dict[str, Any]

_STATE_VERSION = 1


class Loader:
    """Batches for one rank of a training. Dataset, seed and step alone determine their order.

    One `for` reads until the end of the epoch, and the next `for` reads the next epoch. If you
    leave a `for` early, the next one continues after the last batch that you got.

    The constructor checks all options and reads the dataset's description. Fetching begins when
    you ask for the first batch. A separate process, `penstock feed`, fetches and decodes batches
    into memory that it shares with this one.

    Example:
        with penstock.Loader("data", global_batch_size=4096, seed=7, output="torch") as loader:
            for epoch in range(3):
                for batch in loader:                       # "planes": uint8 [4096, 8, 24]
                    step(batch["planes"], batch["score"])
                torch.save({"loader": loader.state_dict()}, "checkpoint.pt")

    Args:
        dataset: a folder of shards, a manifest, or "server:PATH" for the manifest at PATH below
            the servers' data root.
        servers: "local:" decodes on this machine. Otherwise "HOST:PORT", "dns:///HOST:PORT" or
            "file:PATH", or a list of these.
        spec: a built-in decode spec ("chess", "images-train", "images-eval"), the path of a file,
            or the text of a spec, which has a "{". None: made from the data.
        global_batch_size: rows of a step over all ranks.
        seed: the seed of the order.
        split: "train", "holdout" or "all".
        dtype: the type of expanded bits, such as chess planes: "i8", "bf16", "f32", "f64" or
            "packed". "bf16" and "f64" apply to floats too; integers keep their type. "packed" sends
            the records' own bits, an eighth of the bytes, under the names of the features. "auto"
            chooses "packed" if the spec expands bits.
        shuffle: False reads every epoch in the order of the files.
        remainder: what happens to an epoch's rows after the last full step: "drop", "short" (a
            shorter step) or "carry" (they begin the next epoch's first step).
        epochs: number of epochs; None: no end.
        max_steps: number of steps; None: no limit.
        rank, world_size: this rank, and the number of ranks. None: from torch.distributed if it
            is initialised, else from the launcher's variables (torchrun, mpirun, srun, ...).
        local_size: number of ranks on this machine, which share its cores and memory with
            "local:". None: from the launcher.
        lanes, window_chunks, strip_rows: parameters of the shuffle; None: the defaults.
        look_ahead: memory for batches, in bytes or as text such as "256MiB". None: 64 MiB, or four
            batches if they take more. It counts in the memory of both processes.
        server_timeout: seconds without any server until an UnavailableError.
        on_error: "fail" on damaged or undecodable records, or "replace" them.
        checksums: whether servers send a checksum with every part, which is then verified.
        record_ids: whether `Batch.record_ids` is filled.
        data_root: the folder of the shards for "local:"; None: the manifest's own.
        tls, tls_ca, tls_cert, tls_key, tls_server_name, token_file: TLS and token for servers.
        connections: connections to each server; None: one, and a second one when it is saturated.
        shm: whether shared memory of servers on this machine is used.
        threads, memory_budget: for "local:". None: all cores and a quarter of the memory, divided
            by `local_size`.
        metrics_port: serves Prometheus metrics on this port of 127.0.0.1; 0: a free port. The
            second rank of a machine takes the next port, and so on. None: none. See metrics().
        metrics_listen: the same, on "HOST:PORT".
        output: the type of tensors: "numpy", "torch" or "jax" arrays. Converting copies nothing.
            JAX has 64-bit numbers only with jax_enable_x64. Without it, an integer that does not
            fit 32 bits raises a ValueError.
        layout: "NCHW" gives views [N, C, H, W] of images, which are uint8 [N, H, W, C].
        copy: what to do if you hold so many batches that few slots are left. "auto" hands out
            copies and warns once, "never" raises SlotsHeldError, and "always" copies every batch.
        pin: "register" registers the memory with CUDA, so that `Batch.to("cuda",
            non_blocking=True)` copies straight from it. Then copy only with `Batch.to`: after
            `batch["x"].to("cuda", non_blocking=True)` nothing keeps the memory until the copy has
            ended. None: the copy goes through torch's own pinned memory.

    Threads: one thread at a time reads and loads states. Any thread may call stats(), verdict(),
    state_dict() and close(), also while another one waits in `next`.

    Errors:
        FileNotFoundError: there is no dataset, spec or file of credentials of that name.
        ValueError: an option is wrong, or does not fit the data; the message names it.
        DataLossError: the manifest or a shard is damaged.
        UnavailableError: no server could be reached.
        FeedError: `penstock feed` cannot be started.
    """

    @with_hints
    def __init__(
        self,
        dataset: PathLike,
        *,
        servers: str | Sequence[str] = "local:",
        spec: PathLike | None = None,
        global_batch_size: int = 256,
        seed: int = 0,
        split: str = "train",
        dtype: str = "i8",
        shuffle: bool = True,
        remainder: str = "drop",
        epochs: int | None = None,
        max_steps: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        local_size: int | None = None,
        lanes: int | None = None,
        window_chunks: int | None = None,
        strip_rows: int | None = None,
        look_ahead: int | str | None = None,
        server_timeout: float | str | None = None,
        on_error: str = "fail",
        checksums: bool = False,
        record_ids: bool = False,
        data_root: PathLike | None = None,
        tls: bool = False,
        tls_ca: PathLike | None = None,
        tls_cert: PathLike | None = None,
        tls_key: PathLike | None = None,
        tls_server_name: str | None = None,
        token_file: PathLike | None = None,
        connections: int | None = None,
        shm: bool = True,
        threads: int | None = None,
        memory_budget: int | str | None = None,
        metrics_port: int | None = None,
        metrics_listen: str | None = None,
        output: Output = "numpy",
        layout: Literal["NHWC", "NCHW"] | None = None,
        copy: Literal["auto", "never", "always"] = "auto",
        pin: Literal["register"] | None = None,
    ) -> None:
        options = {name: value for name, value in locals().items() if name not in _NOT_OF_FEED}
        _check_choice("output", output, OUTPUTS)
        _check_choice("layout", layout, LAYOUTS)
        _check_choice("copy", copy, COPIES)
        _check_choice("pin", pin, (None, "register"))
        if pin == "register" and output != "torch":
            raise InvalidArgumentError('pin="register" is for output="torch"')
        ranks = find_ranks(rank, world_size)
        options |= {"rank": ranks.rank, "world_size": ranks.world_size}
        options["local_size"] = local_size or ranks.local_size
        options |= _own_ports(ranks.rank % options["local_size"], metrics_port, metrics_listen)
        self._dataset = os.fspath(dataset)
        self._seed = seed
        self._ranks: Ranks = ranks
        self._drops = remainder == "drop"
        self._epochs, self._max_steps = epochs or None, max_steps or None
        try:
            self._stream = BatchStream(
                _Spawner(self._dataset, options),
                lambda ready: Layout(ready, output, layout),
                copy,
                pin,
            )
        except InvalidArgumentError as error:
            raise in_keywords(error) from None
        # Ends the feed when the Loader is collected; _stream does so at the interpreter's exit.
        self._finalizer = weakref.finalize(self, self._stream.close)
        self._finalizer.atexit = False
        batches.register_pytrees()

    # The data that the Loader reads.

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """Name, dtype and shape of a row of each tensor, in the order of a batch."""
        return self._stream.layout.tensors

    @property
    def spec(self) -> str:
        """The decode spec, as text."""
        return str(self._stream.ready["spec"])

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes of a folder of images, by number. Empty for other data."""
        return tuple(self._stream.ready["classes"])

    @property
    def records(self) -> int:
        """Number of records of the split, over all ranks."""
        return int(self._stream.ready["records"])

    @property
    def steps_per_epoch(self) -> int:
        """Number of steps of a complete epoch, the same on all ranks."""
        return int(self._stream.ready["steps_per_epoch"])

    def __len__(self) -> int:
        """Number of steps of a complete epoch, also if the next `for` begins in its middle."""
        return self.steps_per_epoch

    @property
    def remaining(self) -> int:
        """Number of steps of the next `for`: fewer than `len` after a resume in mid-epoch.

        Example:
            for batch in tqdm(loader, total=loader.remaining): ...
        """
        _, position, ended = self._stream.place()
        rows = 0 if ended else self.records - position
        steps = self._steps_of(rows) or self.steps_per_epoch
        if self._epochs is not None and self.epoch >= self._epochs:
            return 0
        if self._max_steps is None:
            return steps
        return min(steps, self._max_steps - self._stream.next_step)

    def _steps_of(self, rows: int) -> int:
        """Number of steps that the rows at the end of an epoch make."""
        size = self.global_batch_size
        return (rows if self._drops else rows + size - 1) // size

    @property
    def global_batch_size(self) -> int:
        """Rows of a step, over all ranks."""
        return int(self._stream.ready["global_batch_size"])

    @property
    def batch_size(self) -> int:
        """The largest number of rows in a batch of this rank."""
        return self._stream.layout.rows

    @property
    def rank(self) -> int:
        """This rank."""
        return self._ranks.rank

    @property
    def world_size(self) -> int:
        """Number of ranks."""
        return self._ranks.world_size

    @property
    def seed(self) -> int:
        """The seed of the order."""
        return self._seed

    @property
    def order_fingerprint(self) -> str:
        """16 hex digits, which are equal if and only if the order is: the same content, split,
        seed, shuffle, lanes, window_chunks and strip_rows."""
        return self._stream.layout.order_fingerprint

    @property
    def epoch(self) -> int:
        """The epoch of the next batch.

        Example:
            for epoch in range(loader.epoch, 10):     # also after load_state_dict()
                for batch in loader: ...
        """
        epoch, position, ended = self._stream.place()
        return epoch + (ended or self._steps_of(self.records - position) == 0)

    @property
    def metrics_address(self) -> str | None:
        """HOST:PORT where the metrics are served; None without metrics_port and metrics_listen."""
        return str(self._stream.ready["metrics"]) or None

    # Reading.

    def __iter__(self) -> Iterator[Batch]:
        """Returns the batches up to the end of the current epoch.

        Errors of `next`, in addition to those of the constructor:
            DataLossError: a damaged record, with `on_error="fail"`.
            SlotsHeldError: with `copy="never"`, too many batches are held.
            FeedError: the feed was killed. `state_dict()` and `load_state_dict()` still work; the
                latter starts another feed.
            RuntimeError: the Loader is closed, this is a forked child, or the Loader was made
                before torch.distributed was initialised with another rank or world size.
        """
        check_torch_ranks(self._ranks)
        batches.register_pytrees()
        return _Epoch(self)

    def map(self, function: Function) -> MappedLoader:
        """Returns a loader of `function(batch, rng)`, which runs here when a batch is taken.

        `rng` draws for each row by (seed, epoch, position in the epoch), so the results do not
        depend on the world size; see RowRandom. If the function returns a mapping, you get a Batch
        with it, at the place of the original batch. Other results you get as they are.

        Example:
            def flip(batch, rng):
                turned = rng.integers(0, 2) == 1
                images = batch["image"].copy()
                images[turned] = images[turned, :, ::-1]
                return {**batch, "image": images}

            for batch in loader.map(flip): ...
        """
        return MappedLoader(self, (function,))

    # State.

    def state_dict(self, after: Batch | None = None) -> State:
        """Returns where to resume: {"version": 1, "cursor": "ps1-..."}. The same on all ranks.

        The place is after the last batch that was handed out, or after the batch `after`. Give
        `after` if something fetches ahead of your training.

        This also works after the feed has died, and after close().
        """
        if after is None:
            return {"version": _STATE_VERSION, "cursor": self._stream.cursor()}
        return {"version": _STATE_VERSION, "cursor": after.cursor}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues at `state`, with any world size and global batch size.

        Errors:
            ValueError: it is not a state of a Loader, or it belongs to another order: another
                dataset, split, seed, shuffle, lanes, window_chunks or strip_rows.
        """
        self._stream.seek(self._cursor_of(state))

    def _cursor_of(self, state: Mapping[str, Any]) -> str:
        version, cursor = state.get("version"), str(state.get("cursor"))
        match = re.fullmatch(r"ps1-([0-9a-f]{16})-[0-9]+-[0-9]+", cursor)
        if version != _STATE_VERSION or match is None:
            raise InvalidArgumentError(
                f"not a Loader state of this version (version {version!r}, cursor {cursor!r}); "
                "pass the result of state_dict()"
            )
        if match[1] != self.order_fingerprint:
            raise InvalidArgumentError(
                f"the state belongs to order {match[1]}, but this loader has order "
                f"{self.order_fingerprint}: use the same dataset, split, seed, shuffle, lanes, "
                "window_chunks and strip_rows. If penstock index --update has changed the data, give "
                "the manifest that it kept, MANIFEST.FINGERPRINT"
            )
        return cursor

    # Reporting.

    def stats(self) -> dict[str, Any]:
        """Returns counters. "feed" has those of the feed, named as in `penstock stream --json`.

        batches, rows, bytes: handed out since the Loader was made.
        wait_seconds, waits: how long, and how often, `next` blocked.
        first_batch_seconds: how long it blocked for the first batch of each start.
        elapsed_seconds: time since the first batch.
        slots, held: number of batches that fit into the memory, and that you hold.
        replaced: with `on_error="replace"`, damaged records that others replace, and rows of
            records that cannot be decoded. "feed" has both: replaced_records, undecodable_rows.

        The feed has one second to answer. Without an answer, "feed" has its last counters.
        """
        waits, feed = self._stream.waits, self._stream.feed_stats()
        return {
            **self._stream.taken(),
            "wait_seconds": waits.seconds,
            "waits": waits.count,
            "first_batch_seconds": waits.first_seconds,
            "elapsed_seconds": waits.elapsed,
            "slots": self._stream.num_slots,
            "held": self._stream.num_held(),
            "replaced": feed.get("replaced_records", 0) + feed.get("undecodable_rows", 0),
            "feed": feed,
        }

    def verdict(self) -> verdicts.Verdict:
        """Returns whether training waits for its input. See Verdict for what this covers.

        Example:
            print(loader.verdict())
            # compute-bound: first batch 0.4 s, then 0.2 % of 61 s waiting for batches
        """
        servers = self._stream.feed_stats().get("servers", [])
        return verdicts.judge(self._stream.waits, servers)

    # Ending.

    def close(self) -> None:
        """Ends the feed. Batches that you hold stay valid. You may call this again."""
        self._finalizer()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<penstock.{type(self).__name__} of {self._dataset!r}: rank {self.rank} of "
            f"{self.world_size}, {self.steps_per_epoch} steps of {self.global_batch_size}>"
        )

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError(
            "a Loader has no row or batch by number: read it with `for batch in loader`, without a "
            "DataLoader or a sampler around it. If other code requires a DataLoader, use "
            "DataLoader(penstock.torch.IterableDataset(loader), batch_size=None, num_workers=0)"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Loader cannot be pickled because it owns a process and memory: create it in the "
            "process that reads it. In a DataLoader use num_workers=0; the feed already decodes in "
            "parallel. To save its place, pickle state_dict()"
        )


_NOT_OF_FEED = ("self", "dataset", "output", "layout", "copy", "pin")


def _own_ports(local_rank: int, port: int | None, listen: str | None) -> dict[str, Any]:
    """Returns the options of metrics for one of the ranks of this machine."""
    own: dict[str, Any] = {"metrics_port": port, "metrics_listen": listen}
    if port:
        own["metrics_port"] = port + local_rank
    if listen is not None:
        host, colon, number = listen.rpartition(":")
        if number.isdecimal() and int(number) > 0:
            own["metrics_listen"] = f"{host}{colon}{int(number) + local_rank}"
    return own


def _check_choice(keyword: str, value: Any, choices: Sequence[Any]) -> None:
    if value not in choices:
        accepted = ", ".join(repr(choice) for choice in choices)
        raise InvalidArgumentError(f"{keyword}: {value!r} must be one of {accepted}")


class _Spawner:
    """Starts feeds with the same options."""

    def __init__(self, dataset: PathLike, options: dict[str, Any]) -> None:
        self._dataset = dataset
        self._options = options
        spec = options["spec"]
        self._spec = spec if isinstance(spec, str) and "{" in spec else None
        feed_arguments(dataset, options)  # Raises if a value has a wrong type.

    def __call__(self) -> Feed:
        if self._spec is None:
            return Feed(feed_arguments(self._dataset, self._options))
        fd = os.memfd_create("penstock-spec", os.MFD_CLOEXEC)
        with open(fd, "wb") as file:
            file.write(self._spec.encode())
            file.flush()
            # The feed opens the file anew, and so reads from the beginning.
            options = {**self._options, "spec": f"/proc/self/fd/{fd}"}
            return Feed(feed_arguments(self._dataset, options), [fd])


class _Epoch(Iterator[Batch]):
    """The batches up to the end of an epoch."""

    __slots__ = ("_loader", "_take", "_done")

    def __init__(self, loader: Loader) -> None:
        self._loader = loader  # Keeps the Loader alive while it is read.
        self._take = loader._stream.take
        self._done = False

    def __next__(self) -> Batch:
        if self._done:
            raise StopIteration
        try:
            batch = self._take()
        except EndOfStream:
            self._done = True
            raise StopIteration from None
        if batch._record[3]:  # _record[3] is FLAGS; the only flag is LAST_OF_EPOCH.
            self._done = True
        return batch


class EvaluationLoader(Loader):
    """A Loader whose every `for` reads a split from its beginning. Made by evaluate_loader()."""

    def __iter__(self) -> Iterator[Batch]:
        """Returns the batches of the whole split."""
        if not self._stream.untouched:
            self._stream.seek("")
        return super().__iter__()


def evaluate_loader(
    dataset: PathLike, *, split: str = "holdout", shuffle: bool = False, **options: Any
) -> EvaluationLoader:
    """Returns a loader for evaluation: each `for` reads every record of a split exactly once.

    The last step may be shorter, so that no record is left out. With several ranks, each record is
    read by one of them, and all have the same number of steps. A rank's last batch may have no
    rows.

    Args:
        dataset, split, shuffle, options: as for Loader. `epochs` and `remainder` are not options.

    Errors: as for Loader.

    Example:
        validation = penstock.evaluate_loader("data", global_batch_size=1024)
        for epoch in range(3):
            train(loader)
            correct = sum(count_correct(model, batch) for batch in validation)
    """
    for keyword in ("epochs", "remainder"):
        if keyword in options:
            raise TypeError(f"evaluate_loader() has no {keyword}: it reads each record once")
    return EvaluationLoader(
        dataset, split=split, shuffle=shuffle, epochs=1, remainder="short", **options
    )
