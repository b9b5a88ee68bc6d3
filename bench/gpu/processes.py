"""Runs programs that may hang or be cut off. Their output reaches the log as it comes."""
import contextlib
import dataclasses
import json
import os
import pathlib
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
_ending = threading.Event()  # From then on, a program that is started is killed at once.


def _signal(process, number):
    """Sends a signal to the program and to those of its children that have no process group of their
    own."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def _session(leader):
    """Returns the processes of a session. Zombies are left out, because they have ended."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()  # The name may contain spaces.
        except OSError:  # It has just ended.
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def _kill(process):
    """Kills the program and everything that it started. The ranks of penstock launch have process groups
    of their own, but are in its session. Does not wait for a process that hangs in a driver, because
    even SIGKILL does not end it."""
    killed = set()
    # A process may start another one while this looks for them.
    while new := set(_session(process.pid)) - killed:
        killed |= new
        for pid in new:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _stop(process):
    """Ends the program and everything that it started; SIGTERM comes first."""
    _signal(process, signal.SIGTERM)
    for _ in range(2):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDS_WITHIN)
        _kill(process)  # Its children may have outlived it.


def stop_all():
    """Kills every program that is running, and everything that they started. Another thread that waited
    for one of them may start the next, so none can run any more."""
    _ending.set()
    for process in list(_running):
        _kill(process)


def _start(command, env=None, **streams):
    """Starts the program in a session of its own."""
    process = subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL, start_new_session=True,
                               env={**os.environ, **(env or {})}, **streams)
    _running.add(process)
    if _ending.is_set():
        _kill(process)
    return process


@contextlib.contextmanager
def background(command, output):
    """Yields the process of a program that runs until the block ends. `output` is its file."""
    process = _start(command, stdout=output, stderr=output)
    try:
        yield process
    finally:
        _kill(process)
        process.wait()
        _running.discard(process)


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
    if log:
        log.write(f"$ {' '.join(map(str, command))}\n")
    begin = time.monotonic()
    process = _start(command, env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
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


def json_of(file):
    """Returns the contents of a program's JSON file. None: the program ended before the file was whole."""
    try:
        return json.loads(pathlib.Path(file).read_text())
    except (OSError, ValueError):
        return None


def last_words(output, most=600):
    """Returns the end of a program's output, as one line."""
    return " ".join(output.split())[-most:]
