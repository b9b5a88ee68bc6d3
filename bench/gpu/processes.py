"""Runs programs that may hang or be cut off. Their output reaches the log as it comes."""
import dataclasses
import os
import signal
import subprocess
import threading
import time

ENDS_WITHIN = 5  # Time from SIGTERM to SIGKILL in seconds.
KEPT = 1 << 20  # Number of bytes of output that are kept in memory.


@dataclasses.dataclass(frozen=True)
class Ended:
    """A program that has ended: its exit code, which is negative for a signal and None if the program
    did not end in time; the end of what it wrote to both streams; and how many seconds it ran."""
    code: int | None
    output: str
    seconds: float


_running = set()


def _signal(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def _stop(process):
    """Ends the program and everything that it started. Does not wait for a process that hangs in a
    driver, because even SIGKILL does not end it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(process, number)
        try:
            process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            pass
    _signal(process, signal.SIGKILL)  # Its children may have outlived it.


def stop_all():
    """Ends every program that run() is waiting for."""
    for process in list(_running):
        _signal(process, signal.SIGKILL)


class _Reader(threading.Thread):
    """Copies a program's output into the log and keeps its end."""

    def __init__(self, stream, log):
        super().__init__(daemon=True)
        self.stream, self.log, self.kept = stream, log, b""
        self.start()

    def run(self):
        while block := self.stream.read1(1 << 16):
            self.kept = (self.kept + block)[-KEPT:]
            if self.log:
                self.log.write(block.decode(errors="replace"))
        self.stream.close()


def run(command, seconds, log=None, env=None):
    """Runs the command for at most `seconds`; returns how it ended."""
    command = [*map(str, command)]
    if log:
        log.write(f"$ {' '.join(command)}\n")
    begin = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, **(env or {})})
    _running.add(process)
    reader = _Reader(process.stdout, log)
    try:
        code = process.wait(max(seconds, 1))
    except subprocess.TimeoutExpired:
        code = None
        _stop(process)
    finally:
        _running.discard(process)
    reader.join(2)  # A process that outlives the program may keep its output open.
    ended = Ended(code, reader.kept.decode(errors="replace"), time.monotonic() - begin)
    if log:
        log.write(f"({'no end' if code is None else f'exit {code}'} after {ended.seconds:.1f} s)\n")
    return ended


def last_words(output, most=600):
    """Returns the end of a program's output, as one line."""
    return " ".join(output.split())[-most:]
