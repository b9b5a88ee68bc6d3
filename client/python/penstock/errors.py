"""Exceptions of Penstock.

Each is also the built-in exception that fits, so you can catch either:

    try:
        loader = penstock.Loader("data")
    except FileNotFoundError as error:      # or penstock.NotFoundError
        print(error)

The text is the message of the C++ library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Error(Exception):
    """Base class of all exceptions of this package."""


class InvalidArgumentError(Error, ValueError):
    """An option, a dataset or a spec is wrong, or they do not fit together."""


class NotFoundError(Error, FileNotFoundError):
    """A file, a folder or a tensor does not exist."""


class AccessDeniedError(Error, PermissionError):
    """A file may not be read, or servers refuse the credentials."""


class FailedPreconditionError(Error, RuntimeError):
    """A shard changed since it was indexed, or servers disagree with each other."""


class ResourceExhaustedError(Error, MemoryError):
    """Memory, threads or descriptors ran out."""


class AbortedError(Error, RuntimeError):
    """A part of the data makes servers crash."""


class UnavailableError(Error, ConnectionError):
    """No server was reachable for `server_timeout`. The message names each server and the cause.

    The loader's state is the one after the last batch. To try again:

        loader.load_state_dict(loader.state_dict())
    """


class DataLossError(Error):
    """A record is damaged. `shard`, `offset` and `record` locate it; they are None if unknown.

    `shard` is the path of the file. `offset` is the offset of the chunk in the file, in bytes.
    `record` is the number of the record within the chunk.
    """

    def __init__(
        self,
        message: str,
        shard: str | None = None,
        offset: int | None = None,
        record: int | None = None,
    ) -> None:
        super().__init__(message)
        self.shard = shard
        self.offset = offset
        self.record = record

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.shard, self.offset, self.record)


class SlotsHeldError(Error, RuntimeError):
    """With `copy="never"`: you hold so many batches that there is no free slot for the next one.

    Nothing is lost. Drop a batch, and ask again.
    """


class FeedError(Error, RuntimeError):
    """The process `penstock feed` did not start, has ended, or has sent something unexpected.

    `returncode` is its exit code, or -N if signal N ended it; None if it is unknown.
    """

    def __init__(self, message: str, returncode: int | None = None) -> None:
        super().__init__(message)
        self.returncode = returncode

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.returncode)


_BY_CODE: dict[str, type[Error]] = {
    "INVALID_ARGUMENT": InvalidArgumentError,
    "OUT_OF_RANGE": InvalidArgumentError,
    "NOT_FOUND": NotFoundError,
    "PERMISSION_DENIED": AccessDeniedError,
    "UNAUTHENTICATED": AccessDeniedError,
    "FAILED_PRECONDITION": FailedPreconditionError,
    "RESOURCE_EXHAUSTED": ResourceExhaustedError,
    "ABORTED": AbortedError,
    "UNAVAILABLE": UnavailableError,
}


def from_status(error: Mapping[str, Any]) -> Error:
    """Returns the exception for a status with `code` (such as "NOT_FOUND") and `message`.

    If the code is "DATA_LOSS", also uses `shard`, `offset` and `record`.
    """
    code, message = str(error.get("code", "UNKNOWN")), str(error.get("message", ""))
    if code == "DATA_LOSS":
        return DataLossError(message, error.get("shard"), error.get("offset"), error.get("record"))
    kind = _BY_CODE.get(code)
    return kind(message) if kind else Error(f"{message} ({code})")
