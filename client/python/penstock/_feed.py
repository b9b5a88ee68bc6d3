"""The process `penstock feed`: starts it, communicates with it, ends it and explains its death."""

from __future__ import annotations

import array
import collections
import contextlib
import fcntl
import logging
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Sequence

from penstock._programs import program
from penstock.errors import Error, FeedError, InvalidArgumentError

logger = logging.getLogger("penstock")

_MAX_LOG_BYTES = 1 << 20
_LAST_LINES = 8
_SOCKET_BYTES = 1 << 20
_RECEIVE_BYTES = 1 << 20
_END_SECONDS = 2.0
_USAGE_ERROR = 2  # The exit code for wrong options.
_WARNING = "warning: "  # Begins lines that an operator should see.
_PREFIX = "penstock: "  # Begins the line with the cause of the feed's end.
_POLL_MS = 100  # The longest delay in noticing a signal or a line of the feed.


class FeedLog:
    """Passes the feed's standard error on to the logger "penstock".

    The lines go to a file in memory. A pipe would block the feed if nobody read it, and a reading
    thread would compete for the interpreter.
    """

    def __init__(self) -> None:
        self.fd = os.memfd_create("penstock-feed-log", os.MFD_CLOEXEC)
        # Append, so that truncating needs no agreement with the feed.
        fcntl.fcntl(self.fd, fcntl.F_SETFL, os.O_APPEND)
        self.last_lines: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
        self._offset = 0
        self._rest = b""

    def forward(self, *, final: bool = False, quiet: bool = False) -> None:
        """Logs the new lines. With `final`, also logs an unfinished line.

        With `quiet`, only remembers them, because an exception will contain them.
        """
        if self.fd < 0:
            return
        while data := os.pread(self.fd, 1 << 16, self._offset):
            self._offset += len(data)
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._take(lines, quiet)
        if final and self._rest:
            self._take([self._rest], quiet)
            self._rest = b""
        if self._offset > _MAX_LOG_BYTES:
            os.ftruncate(self.fd, 0)
            self._offset = 0

    def _take(self, lines: list[bytes], quiet: bool) -> None:
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip()
            if text:
                self.last_lines.append(text)
            if text and not quiet:
                warning = text.startswith(_WARNING)
                logger.log(logging.WARNING if warning else logging.INFO, "%s",
                           text.removeprefix(_WARNING))

    def close(self, quiet: bool = False) -> None:
        """Logs the rest, and frees the memory."""
        try:
            self.forward(final=True, quiet=quiet)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Frees the memory without logging."""
        fd, self.fd = self.fd, -1  # A signal handler that raises must not close it a second time.
        if fd >= 0:
            os.close(fd)


class Feed:
    """A running `penstock feed` and the socket to it.

    It runs in a session of its own, and ends when the socket is shut down or this process ends.
    """

    def __init__(self, arguments: Sequence[str], pass_fds: Sequence[int] = ()) -> None:
        self.owner = os.getpid()
        self.path = program("penstock")
        with contextlib.ExitStack() as undo:
            self.log = FeedLog()
            undo.callback(self.log.close)
            self.socket, child = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            undo.callback(self.socket.close)
            with child:
                for end in (self.socket, child):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BYTES)
                self.process = self._spawn(arguments, child.fileno(), pass_fds)
            undo.pop_all()
        self._poll = select.poll()
        self._poll.register(self.socket, select.POLLIN)
        self._next_log = time.monotonic() + _POLL_MS / 1000

    def _spawn(
        self, arguments: Sequence[str], control: int, pass_fds: Sequence[int]
    ) -> subprocess.Popen[bytes]:
        path = self.path
        command = [path, "feed", *arguments]
        command += ["--control-fd", str(control), "--parent-pid", str(self.owner)]
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self.log.fd,
                stderr=self.log.fd,
                pass_fds=(control, *pass_fds),
                start_new_session=True,
            )
        except PermissionError as error:
            raise PermissionError(error.errno, why_not_executable(path, error), path) from None
        except OSError as error:
            raise FeedError(f"{path} cannot be started: {error.strerror}") from error

    def send(self, data: bytes, fd: int | None = None) -> None:
        """Sends `data`; waits if there is no room.

        FeedError: the feed has ended, and all that it said has been received. If it has ended
        otherwise, receive() will tell so.
        """
        rights = [] if fd is None else [_rights(fd)]
        try:
            while data:
                sent = self.socket.sendmsg([data], rights, socket.MSG_NOSIGNAL)
                data, rights = data[sent:], []
        except OSError:
            if not self._has_unread():
                raise self.death() from None

    def _has_unread(self) -> bool:
        with contextlib.suppress(OSError):
            return bool(self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        return False

    def receive(self) -> bytes:
        """Returns what has arrived; b"" if nothing has. FeedError: the feed has ended."""
        try:
            data = self.socket.recv(_RECEIVE_BYTES, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return b""
        except OSError:
            data = b""
        if not data:
            raise self.death()
        return data

    def wait(self, milliseconds: int = _POLL_MS) -> bool:
        """Waits for at most a limited time until receive() has something. Forwards the feed's
        lines meanwhile."""
        arrived = bool(self._poll.poll(min(milliseconds, _POLL_MS)))
        if not arrived or time.monotonic() >= self._next_log:
            self.forward_log()
        return arrived

    def forward_log(self) -> None:
        """Logs new lines."""
        self._next_log = time.monotonic() + _POLL_MS / 1000
        self.log.forward()

    @property
    def log_due(self) -> bool:
        """Whether this has not looked for new lines for a while."""
        return time.monotonic() >= self._next_log

    def death(self) -> Error:
        """Returns the exception for a feed that ended although nobody closed it."""
        returncode = self._returncode()
        self.log.forward(final=True, quiet=returncode == _USAGE_ERROR)
        lines = list(self.log.last_lines)
        told = [line for line in lines if line.startswith(_PREFIX)]
        if returncode == _USAGE_ERROR and told:
            return InvalidArgumentError(told[-1].removeprefix(_PREFIX))
        text = f"penstock feed (process {self.process.pid}) {describe_end(returncode)}"
        if lines:
            text += ". Its last lines:\n  " + "\n  ".join(lines)
        return FeedError(text, returncode)

    def _returncode(self) -> int | None:
        """Returns the exit code of the process, which is about to end; None if other code has
        taken it."""
        if self.process.returncode is not None:
            return self.process.returncode
        deadline = time.monotonic() + _END_SECONDS
        while time.monotonic() < deadline:
            try:
                ended = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            except ChildProcessError:
                return None
            if ended is not None:
                return self.process.wait()
            time.sleep(0.005)
        return None

    @property
    def dead(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def shut(self) -> None:
        """Tells the feed to end, and ends the wait of a reading thread."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self, quiet: bool = False) -> None:
        """Ends the feed, by force if it does not end by itself. May be called again.

        `quiet`: its last lines are not logged.
        """
        if os.getpid() != self.owner:
            return self.abandon()
        try:
            self.shut()
            self.socket.close()
            self.process.wait(_END_SECONDS)
        # Catches Ctrl-C too, because nobody would kill the feed later.
        except BaseException as error:
            self.process.kill()
            self.process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
        finally:
            self.log.close(quiet)

    def abandon(self) -> None:
        """For a forked child: closes this process's references to what belongs to the parent."""
        self.socket.close()
        self.log.abandon()
        # The feed is no child of this process, so nobody should wait for it, or warn that it runs.
        self.process.returncode = 0


def _rights(fd: int) -> tuple[int, int, array.array[int]]:
    return socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd])


def why_not_executable(path: str, error: OSError) -> str:
    """Explains why the system refused to run a program."""
    with contextlib.suppress(OSError):
        if os.statvfs(path).f_flag & os.ST_NOEXEC:
            return (
                "the file system of this program is mounted noexec: copy the programs to another "
                "one, and set PENSTOCK_BIN to their folder"
            )
    return f"this program may not be executed ({error.strerror})"


def describe_end(returncode: int | None) -> str:
    """Describes how a process ended, and what that often means."""
    if returncode is None:
        return (
            "ended with an unknown exit code, because other code in this process waits for all "
            "children or ignores SIGCHLD"
        )
    if returncode >= 0:
        return f"ended with exit code {returncode}"
    number = -returncode
    try:
        name = f" ({signal.Signals(number).name})"
    except ValueError:
        name = ""
    hint = ""
    if number == signal.SIGKILL:
        hint = (
            ". If nobody sent it, the kernel ran out of memory (see dmesg, or the limit of the "
            "container): lower look_ahead or memory_budget"
        )
    return f"was ended by signal {number}{name}{hint}"
