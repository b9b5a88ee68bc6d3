"""A penstock-server as a process that can be killed, stopped, drained and started again."""

import ctypes
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("PENSTOCK_BIN", REPOSITORY / "build/release/bin"))
# Time limit for processes that hang. No test takes so long, however busy the machine is.
TIMEOUT_S = 600
# A prefix of a command. timeout(1) sends each signal that it gets to its child, and then to its
# group, which includes the child.
BY_TIMEOUT = ("timeout", TIMEOUT_S, "setpriv", "--pdeathsig", "KILL")


def die_with_parent():
    """For preexec_fn: no process outlives the test, however the test ends."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # Tests may run under nohup.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def obey_permissions():
    """For preexec_fn: even root may then read only what a file's mode allows (capabilities(7))."""
    die_with_parent()
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        # PR_CAPBSET_DROP. Users other than root may not drop them, and need not.
        ctypes.CDLL(None).prctl(24, capability)


def pause():
    """Waits between two checks of another process."""
    select.select([], [], [], 0.01)


def wait_until(condition, what, timeout=TIMEOUT_S):
    """Returns the condition's first true value; fails naming `what` after the timeout."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout} s for {what}")
        pause()
    return value


def reserve_port():
    """Returns a socket that reserves a port of 127.0.0.1. While it is open, the kernel does not
    give the port to programs that ask for a free one. A program may be told to listen there, any
    number of times."""
    reserved = socket.socket()
    # Two sockets may have the same port if both set this option and at most one listens.
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


def has_signal(child, kind, number):
    """Returns whether a set of the process has the signal. SigCgt is the set of handled signals,
    and ShdPnd that of pending ones."""
    status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
    return int(re.search(rf"{kind}:\s*(\w+)", status)[1], 16) >> (number - 1) & 1


def wait_until_handled(child, number):
    """Waits until the process `child` handles the signal, which would have ended it before."""
    wait_until(lambda: has_signal(child, "SigCgt", number), f"a handler of {number.name}")


class Server:
    """A penstock-server. `start()` may be called again once the process has ended.

    `prefix` is a command that executes another one, such as `nsenter`. Attributes that this class
    lacks (pid, poll, wait, send_signal, returncode) are those of the process.
    """

    def __init__(self, data, address_file, log_path, *args, prefix=()):
        self.address = None
        self.address_file = pathlib.Path(address_file)
        self.log_path = str(log_path)
        self.process = None
        self._before = None
        self._command = [*map(str, prefix), str(BIN / "penstock-server"), "--data-root", str(data),
                         "--address-file", str(address_file), *map(str, args)]

    def __getattr__(self, name):
        return getattr(self.process, name)

    def start(self, listen="127.0.0.1:0"):
        """Starts the server without waiting until it serves."""
        self._before = self._stamp()
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen([*self._command, "--listen", listen], stdout=log,
                                            stderr=log, preexec_fn=die_with_parent)

    def serves(self):
        """Returns whether it has served since `start()`. If so, `address` is its address."""
        if self.process.poll() is not None:
            raise AssertionError("penstock-server ended:\n" + self.log())
        stamp = self._stamp()
        if stamp is None or stamp == self._before:
            return False
        self.address = self.address_file.read_text().strip()
        return True

    def wait_serving(self):
        wait_until(self.serves, f"a server to start; {self.log_path}")
        return self

    def kill(self):
        self.process.kill()
        self.process.wait(TIMEOUT_S)

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def cont(self):
        self.process.send_signal(signal.SIGCONT)

    def drain(self):
        """Makes the server end with its last stream."""
        self.process.send_signal(signal.SIGTERM)

    def end(self):
        """Ends the server in any state, at the end of a test."""
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def connections(self):
        """Returns, for each TCP connection, the bytes that the client sent and the server has not
        read."""
        port = int(self.address.rsplit(":", 1)[1])
        rows = []
        for table in ("tcp", "tcp6"):  # gRPC's sockets are IPv6 sockets, also for 127.0.0.1.
            text = pathlib.Path(f"/proc/{self.process.pid}/net/{table}").read_text()
            rows += [line.split() for line in text.splitlines()[1:]]
        return [int(row[4].split(":")[1], 16) for row in rows
                if row[3] == "01" and int(row[1].split(":")[1], 16) == port]  # ESTABLISHED

    def log(self):
        return pathlib.Path(self.log_path).read_text()

    def _stamp(self):
        """Returns a value that changes whenever the address file is written, even with the same
        address."""
        try:
            stat = self.address_file.stat()
        except FileNotFoundError:
            return None
        return stat.st_ino, stat.st_mtime_ns
