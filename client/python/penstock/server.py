"""Runs a penstock-server in the background, for notebooks, tests and single machines."""

from __future__ import annotations

import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from types import TracebackType
from typing import IO, Any

from . import errors
from ._options import option
from ._programs import program

_log = logging.getLogger("penstock.server")
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING,
           "error": logging.ERROR}
_OWN_OPTIONS = {"data_root", "address_file", "log_format"}
# Number of lines that are kept for the error message of a server that does not start.
_LAST_LINES = 20

# Runs as a process of its own, and becomes the server. The alternative, a function that runs
# between fork and exec (preexec_fn), may hang if the trainer has threads. The parent may be gone
# before prctl is called.
_END_WITH_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
if os.getppid() != int(sys.argv[1]):
    sys.exit(0)
os.execv(sys.argv[2], sys.argv[2:])
"""


class Server:
    """Serves a folder of shards to the Loaders of this machine, until you close it.

        with penstock.Server("data") as server:
            loader = penstock.Loader("data", servers=server.address)

    `data` is the folder; nothing outside it is served. `listen` is HOST:PORT; with port 0 the
    server takes a free port. The other options are those of `penstock-server --help` with
    underscores: `memory_budget="4GiB"`, `threads=4`, `token_file="tokens"`.

    The server ends with `close()`, with the `with` block, or with this process, however the
    process ends. It runs in a session of its own, so Ctrl-C does not reach it. Its log goes to the
    logger `penstock.server`.

    Raises NotFoundError (a FileNotFoundError) if there is no such folder, InvalidArgumentError (a
    ValueError) if an option is wrong, and UnavailableError if the server does not serve within
    `start_timeout` seconds.

    Thread-safe. After a fork, the child's Server does nothing, because it belongs to the parent.
    """

    def __init__(self, data: str | os.PathLike[str], *, listen: str = "127.0.0.1:0",
                 start_timeout: float = 60, **options: Any) -> None:
        for name in _OWN_OPTIONS & options.keys():
            raise TypeError(f"Server() takes no {name}: it sets that option itself")
        settings = {"data_root": os.path.abspath(data), "listen": listen, "grace": "5s", **options}
        with tempfile.TemporaryDirectory(prefix="penstock-server-") as folder:
            address_file = pathlib.Path(folder, "address")
            settings |= {"address_file": address_file, "log_format": "json"}
            arguments = [word for pair in settings.items() for word in option(*pair)]
            self._reader = _Reader([program("penstock-server"), *arguments])
            self._finalizer = weakref.finalize(self, _end, self._reader, os.getpid())
            try:
                self.address: str = self._wait_for(address_file, start_timeout)
            except BaseException:
                self.close()
                raise

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._reader.process.pid

    def close(self) -> None:
        """Ends the server. It first answers what clients have asked, for at most `grace` (5 s)."""
        self._finalizer()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        ended = self._reader.process.poll() is not None
        return f"<penstock.Server {'ended' if ended else 'at ' + self.address}>"

    def _wait_for(self, address_file: pathlib.Path, timeout: float) -> str:
        """Returns the address once the server serves."""
        deadline = time.monotonic() + timeout
        while True:
            if address_file.exists():
                self._reader.serves = True
                return address_file.read_text().strip()
            code = self._reader.process.poll()
            if code is not None:
                raise _error_of(code, self._reader.last_lines())
            if time.monotonic() > deadline:
                raise errors.UnavailableError(
                    f"penstock-server does not serve after {timeout} s; its last lines:\n"
                    + "\n".join(self._reader.last_lines()))
            time.sleep(0.005)


class _Reader:
    """Starts the process, and logs its output on a thread that lives as long as the process.

    The kernel ends the process when the thread that started it ends. So this is not the caller's
    thread, which may be short-lived.
    """

    def __init__(self, command: list[str]) -> None:
        self.process: subprocess.Popen[bytes]
        self.serves = self.closing = False
        self._command = command
        self._lines: list[str] = []
        self._error: BaseException | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock.Server", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._error is not None:
            raise self._error

    def last_lines(self) -> list[str]:
        """Returns the last lines that the server wrote."""
        if self.process.poll() is not None:
            self._thread.join(timeout=5)
        return self._lines[-_LAST_LINES:]

    def join(self) -> None:
        self._thread.join(timeout=5)

    def _run(self) -> None:
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-IS", "-c", _END_WITH_PARENT, str(os.getpid()), *self._command],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                start_new_session=True)
        except BaseException as error:
            self._error = error
            return
        finally:
            self._started.set()
        assert self.process.stderr is not None
        self._log(self.process.stderr)
        code = self.process.wait()  # The server ends with this thread.
        if self.serves and not self.closing:
            _log.error("penstock-server ended with %d; its last lines:\n%s", code,
                       "\n".join(self._lines))

    def _log(self, pipe: IO[bytes]) -> None:
        with pipe:
            for raw in pipe:
                level, text = _parse(raw.decode(errors="replace").rstrip("\n"))
                self._lines = [*self._lines[-_LAST_LINES:], text]
                _log.log(level, "%s", text)


def _parse(line: str) -> tuple[int, str]:
    """Returns the level and the text of a line of the log.

    Lines that are not JSON come from a server that ends. The exception or the log then has them.
    """
    try:
        fields = json.loads(line)
        level = _LEVELS.get(fields.pop("level"), logging.INFO)
        event = fields.pop("event")
    except (ValueError, AttributeError, KeyError):
        return logging.INFO, line
    for field in ("time", "ts"):  # logging has its own time.
        fields.pop(field, None)
    return level, " ".join([event, *(f"{name}={value}" for name, value in fields.items())])


def _error_of(code: int, lines: list[str]) -> Exception:
    said = [line for line in lines if line.startswith("penstock-server: ")]
    message = said[-1] if said else "\n".join(
        [f"penstock-server ended with {code} before it served", *lines])
    if code == 2:
        return errors.InvalidArgumentError(message)
    if "No such file or directory" in message:
        return errors.NotFoundError(message)
    return errors.UnavailableError(message)


def _end(reader: _Reader, owner: int) -> None:
    """Called once: by close(), by the garbage collector, or when the interpreter exits."""
    if os.getpid() != owner:  # A forked child, whose parent still needs the server.
        return
    process = reader.process
    if process.poll() is None:
        reader.closing = True
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    reader.join()
