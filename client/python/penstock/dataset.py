"""Makes datasets: `index` writes a manifest, `pack` writes shards from any iterable of dicts."""

from __future__ import annotations

import json
import logging
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import errors
from ._crc32c import frame
from ._examples import Encoder
from ._options import option, with_hints
from ._programs import program

_log = logging.getLogger("penstock")
_Path = str | os.PathLike[str]

_MOST_RECORDS = 1 << 20  # Limit of records in a shard, as in `penstock pack`.
_MOST_BYTES = 256 << 20
_GROUP_BYTES = 1 << 20  # Bytes of records that are checksummed as one group.
_GROUP_RECORDS = 8192
_NOT_FOUND = re.compile(r": No such file or directory(;|$)")
_DAMAGE = re.compile(r"(?P<shard>.*?): record (?P<record>\d+) at offset (?P<offset>\d+): ")


def index(dataset: _Path | Sequence[_Path], *, output: _Path | None = None,
          **options: Any) -> dict[str, Any]:
    """Writes a dataset's manifest, like `penstock index`, and returns facts about the dataset.

    `dataset` is a folder of shards, a shard, or a sequence of these. `output` is the manifest; by
    default it is `manifest.pb` in the given folder. `options` are those of
    `penstock index --help` with underscores: `holdout="5%"`, `format="image-folder"`,
    `verify=True`.

    Returns the fields of `penstock index --json`, among them `manifest` (its path), `records`,
    `holdout_records`, `shards`, `bytes` and `damage`.

    Raises FileNotFoundError if there is no such file, and ValueError if an option is wrong. Raises
    DataLossError, with the shard, offset and record, if a record is damaged.

        facts = penstock.index("photos", format="image-folder", holdout="10%")
        loader = penstock.Loader(facts["manifest"])
    """
    inputs = [dataset] if isinstance(dataset, (str, os.PathLike)) else list(dataset)
    arguments = ["index", *[os.fspath(path) for path in inputs], *option("output", output)]
    for name, value in options.items():
        arguments += option(name, value)
    return _run_penstock(arguments)


@with_hints
def pack(records: Iterable[Mapping[str, Any]], output: _Path, *, name: str | None = None,
         records_per_shard: int = 0, compression: str | None = None, seed: int | None = None,
         types: Mapping[str, str] | None = None, classes: Sequence[str] | None = None,
         force: bool = False) -> dict[str, Any]:
    """Writes dicts as TFRecord shards of tf.train.Example: `output/name-00000-of-00004.tfrecord`.

    `records` may be any iterable: a generator, a Hugging Face dataset, the rows of a Parquet file.
    It is read once, and only a few records are in memory at a time. Each dict is a record:

    | value | is stored as |
    |---|---|
    | bytes, str (as UTF-8), or a list of them | bytes |
    | array of uint8 of any shape, such as an image | one bytes value |
    | int, bool, or a list or an array of them | int64 values in row-major order |
    | float, or a list or an array of any floats | float32 values in row-major order |
    | None, an empty list or array | no feature |

    The first value of a key decides its type: bytes, int64 or float. `types={"price": "float"}`
    decides beforehand. A float key accepts integers if float32 holds them exactly.

    - `name` begins the names of the shards. Default: the name of the folder.
    - `records_per_shard=0` makes shards of at most 2^20 records and about 256 MiB.
    - `compression` is "gzip", "zstd" or None.
    - `seed` shuffles all records, like `penstock pack --seed`. A Loader shuffles too, so few need
      it.
    - `classes` are the names of labels 0, 1, ..., which are written to `classes.txt`.
    - `force` replaces shards of this name, and removes a `manifest.pb` in `output`, which no
      longer fits.

    With `compression` or `seed`, all records are first written to a temporary file in `output`.

    The shards get their names only when all are complete. If anything fails, no shard is left.

    Returns `records`, `bytes` and `shards` (the paths).

    Raises TypeError or ValueError if a value cannot be stored; the message has the record, counted
    from 0, and the key. Raises FileExistsError if shards of this name exist. Exceptions of
    `records` pass through.

        rows = ({"text": line, "length": len(line)} for line in open("lines.txt"))
        penstock.pack(rows, "lines")
    """
    folder = pathlib.Path(output)
    name = name or folder.resolve().name or "records"
    if compression not in (None, "none", "gzip", "zstd"):
        raise ValueError(f"compression {compression!r} must be None, 'gzip' or 'zstd'")
    if "/" in name or name.startswith("."):
        raise ValueError(f"name {name!r} must be a file's name, without a slash or a leading dot")
    if records_per_shard < 0:
        raise ValueError(f"records_per_shard is {records_per_shard}; it must be 0 or more")
    names = _class_names(classes)
    folder.mkdir(parents=True, exist_ok=True)
    existing = _shards_of(folder, name)
    if existing and not force:
        raise FileExistsError(f"{existing[0]} exists; force=True replaces the shards of this name, "
                              "name= chooses another")
    again = compression not in (None, "none") or seed is not None
    with _Staging(folder, name) as staging:
        # One file for `penstock pack`, or the shards themselves.
        writer = _ShardWriter(staging, _NO_LIMIT if again else
                              (records_per_shard or _MOST_RECORDS,
                               _NO_LIMIT[1] if records_per_shard else _MOST_BYTES))
        with writer:
            encoder = Encoder(types)
            for record in records:
                _check_record(record, encoder.records, records)
                writer.add(encoder.encode(record))
        if encoder.records == 0:
            raise ValueError("there are no records to pack")
        files = writer.files
        if again:
            files = _pack_again(files[0], name, records_per_shard, compression, seed)
        if existing:
            (folder / "manifest.pb").unlink(missing_ok=True)  # It describes the old shards.
        paths = _place(files, folder, name, existing)
    if names is not None:
        _write_atomically(folder / "classes.txt", names)
    return {"records": encoder.records, "bytes": sum(path.stat().st_size for path in paths),
            "shards": list(map(str, paths))}


_NO_LIMIT = (1 << 63, 1 << 63)


# Methods of tables that give their rows as dicts: pyarrow, polars, pandas.
_ROWS = {"to_pylist": "to_pylist()", "iter_rows": "iter_rows(named=True)",
         "to_dict": 'to_dict("records")'}


def _check_record(record: object, number: int, records: object) -> None:
    if isinstance(record, Mapping):
        return
    kind, advice = type(records).__name__, ""
    if isinstance(records, (str, bytes, os.PathLike)):
        advice = "; to pack files, see `penstock pack --help`"
    elif isinstance(records, Mapping):
        advice = f": give an iterable of one dict for each record, not one {kind}"
    for method, rows in _ROWS.items():
        if not advice and hasattr(records, method):
            advice = f": give the rows of the {kind}, its {rows}"
    raise TypeError(f"record {number}: must be a dict, not a value of type "
                    f"{type(record).__name__}{advice}")


class _Staging:
    """A hidden folder beside the new shards, which readers of the dataset ignore."""

    def __init__(self, folder: pathlib.Path, name: str) -> None:
        self._folder, self._name = folder, name

    def __enter__(self) -> pathlib.Path:
        self._path = pathlib.Path(tempfile.mkdtemp(".partial", f".{self._name}-", self._folder))
        return self._path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path, ignore_errors=True)


class _ShardWriter:
    """Writes records to files of at most `limits` records. A file exceeds the limit of bytes by at
    most one record."""

    def __init__(self, folder: pathlib.Path, limits: tuple[int, int]) -> None:
        self.files: list[pathlib.Path] = []
        self._folder, self._limits = folder, limits
        self._group: list[bytes] = []
        self._group_bytes = self._shard_records = self._shard_bytes = 0
        self._file: Any = None

    def __enter__(self) -> _ShardWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._flush()
        self._close()

    def add(self, record: bytes) -> None:
        self._group.append(record)
        self._group_bytes += len(record) + 16
        self._shard_records += 1
        self._shard_bytes += len(record) + 16
        full = self._shard_records >= self._limits[0] or self._shard_bytes >= self._limits[1]
        if full or self._group_bytes >= _GROUP_BYTES or len(self._group) >= _GROUP_RECORDS:
            self._flush()
        if full:
            self._close()

    def _flush(self) -> None:
        if not self._group:
            return
        if self._file is None:
            self.files.append(self._folder / f"{len(self.files):05d}.tfrecord")
            self._file = open(self.files[-1], "xb", buffering=0)
        rest = memoryview(frame(self._group))
        while rest:
            rest = rest[self._file.write(rest):]
        self._group.clear()
        self._group_bytes = 0

    def _close(self) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
        self._file = None
        self._shard_records = self._shard_bytes = 0


def _shards_of(folder: pathlib.Path, name: str) -> list[pathlib.Path]:
    pattern = re.compile(re.escape(name) + r"-\d+-of-\d+\.tfrecord")
    return sorted(path for path in folder.iterdir() if pattern.fullmatch(path.name))


def _place(files: list[pathlib.Path], folder: pathlib.Path, name: str,
           replaced: list[pathlib.Path]) -> list[pathlib.Path]:
    paths = [folder / f"{name}-{i:05d}-of-{len(files):05d}.tfrecord" for i in range(len(files))]
    for file, path in zip(files, paths):
        os.replace(file, path)
    for path in set(replaced) - set(paths):
        path.unlink()
    _sync_folder(folder)
    return paths


def _pack_again(file: pathlib.Path, name: str, records_per_shard: int, compression: str | None,
                seed: int | None) -> list[pathlib.Path]:
    """Packs a file with `penstock pack` in a folder beside it. Returns the shards."""
    facts = _run_penstock(["pack", "--from", "tfrecord", str(file), "-o",
                           str(file.parent / "packed"), "--name", name, "--records-per-shard",
                           str(records_per_shard), *option("compression", compression),
                           *option("seed", seed)])
    return list(map(pathlib.Path, facts["shards"]))


def _class_names(classes: Sequence[str] | None) -> str | None:
    if classes is None:
        return None
    if isinstance(classes, str) or not all(isinstance(name, str) for name in classes):
        raise TypeError("classes must be a sequence of str, the name of label 0 first")
    if any("\n" in name or "\r" in name for name in classes):
        raise ValueError("classes: a name contains a line break")
    return "".join(f"{name}\n" for name in classes)


def _write_atomically(path: pathlib.Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _sync_folder(folder: pathlib.Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _run_penstock(arguments: Sequence[str]) -> dict[str, Any]:
    """Runs the program. Returns its JSON output."""
    result = subprocess.run([program("penstock"), *arguments, "--json=-"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    lines = result.stderr.decode(errors="replace").splitlines()
    facts: dict[str, Any] = json.loads(result.stdout) if result.stdout.strip() else {}
    if result.returncode != 0:
        raise _error_of(result.returncode, lines, facts)
    for line in lines:
        _log.info("%s", line)
    return facts


def _error_of(code: int, lines: list[str], facts: Mapping[str, Any]) -> Exception:
    said = [line.removeprefix("penstock: ") for line in lines if line.startswith("penstock: ")]
    message = said[-1] if said else "\n".join(lines) or f"penstock ended with {code}"
    damage = _DAMAGE.match(message)
    if damage is not None:
        return errors.DataLossError(message, damage["shard"], int(damage["offset"]),
                                    int(damage["record"]))
    for first in facts.get("damage", []):
        return errors.DataLossError(f"{first['file']}: {first['reason']}; {message}",
                                    first["file"], first.get("offset"), first.get("record"))
    if _NOT_FOUND.search(message) and code != 2:
        return errors.NotFoundError(message)
    return errors.InvalidArgumentError(message) if code == 2 else errors.Error(message)
