"""A hostile HTTP/2 client, for tests of our own servers: on loopback and in network namespaces.

    python3 tests/e2e/http2_flood.py rapid-reset 127.0.0.1:7070 --seconds 2 --max-bytes 64MiB

It writes HTTP/2 frames by hand, because libraries refuse to send most of these. http2_floods.py
lists the floods. Each run is bounded in time and in bytes, and refuses addresses outside
127.0.0.0/8 and the namespaces of tests/chaos/network.py. It prints JSON: bytes and calls sent, and
how the server ended connections.
"""

import argparse
import collections
import ctypes
import json
import multiprocessing
import pathlib
import select
import signal
import ssl
import sys
import time

from http2_connection import Connection, Ended, Target
from http2_floods import KINDS, once
from http2_frames import PIECES
from memory_watch import MemoryWatch
from servers import die_with_parent


def _reason(error):
    if isinstance(error, Ended):
        return str(error)
    return "reset" if isinstance(error, (ConnectionError, ssl.SSLError)) else "no answer"


class Flood:
    """Floods from this process over `connections`, for `seconds` or until `max_bytes` are sent.
    With `reconnect` it replaces connections that the server ends."""

    def __init__(self, kind, target, seconds, max_bytes, connections=1, reconnect=False,
                 says_hello=False):
        target.check()
        self._kind, self._target = KINDS[kind], target
        self._seconds, self._left = seconds, max_bytes
        self._reconnect = reconnect or self._kind.script is once
        self._says_hello = says_hello
        self._context = target.context()
        # Numbers of connections that are not connected.
        self._free = collections.deque(range(connections))
        self._of_fd = {}
        self._poll = select.poll()
        self._retry_at = 0.0
        self.result = {"kind": kind, "connections": connections, "bytes": 0, "calls": 0,
                       "greeted": 0, "ends": {}, "first_end_s": None, "first_end_bytes": None}

    def stop(self):
        """Makes run() return soon. A signal handler may call it."""
        self._left = 0

    def run(self):
        began = time.monotonic()
        self._until = began + self._seconds
        while (now := time.monotonic()) < self._until and self._left > 0:
            if self._free and now >= self._retry_at:
                self._connect()
            elif not self._of_fd and not self._free:
                break
            self._turn(now)
        for connection, _ in list(self._of_fd.values()):
            self._finish(connection, None)
        self.result["seconds"] = time.monotonic() - began
        return self.result

    def _connect(self):
        number = self._free.popleft()
        sources = self._target.sources
        source = sources[number % len(sources)] if sources else ""
        try:
            connection = Connection(self._target, self._kind, source, self._context,
                                    self._says_hello)
        except OSError as error:
            self._count_end(_reason(error))
            if self._reconnect:
                self._free.append(number)
                # Wait after a refusal, instead of retrying in a busy loop.
                self._retry_at = time.monotonic() + 0.002
            return
        self._of_fd[connection.socket.fileno()] = connection, number
        self._poll.register(connection.socket, select.POLLIN)

    def _turn(self, now):
        for fd, (connection, _) in self._of_fd.items():
            self._poll.modify(fd, connection.events(now))
        for fd, _ in self._poll.poll(1 if self._of_fd else 2):
            connection, number = self._of_fd[fd]
            before = connection.sent
            try:
                if not connection.pump(now, self._left):
                    self._finish(connection, None)
                    self._free.append(number)
            except (OSError, Ended) as error:
                self._finish(connection, connection.last_word() or _reason(error))
                if self._reconnect:
                    self._free.append(number)
                    self._retry_at = 0.0 if connection.greeted else now + 0.002
            self._left -= connection.sent - before

    def _finish(self, connection, end):
        """Removes a connection and counts its results. `end` is the reason why the server ended it,
        or None if the server did not."""
        del self._of_fd[connection.socket.fileno()]
        self._poll.unregister(connection.socket)
        if end is not None:
            self._count_end(end)
            if self.result["first_end_s"] is None:
                self.result["first_end_s"] = time.monotonic() - connection.began
                self.result["first_end_bytes"] = connection.sent
        self.result["bytes"] += connection.sent
        self.result["calls"] += connection.calls
        self.result["greeted"] += connection.greeted
        connection.close()

    def _count_end(self, end):
        ends = self.result["ends"]
        ends[end] = ends.get(end, 0) + 1


def _enter(netns):
    with open(netns) as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), f"setns {netns}")


def _run_one(pipe, target, args):
    die_with_parent()
    if target.netns:
        _enter(target.netns)
    kind, *rest = args
    flood = Flood(kind, target, *rest)
    signal.signal(signal.SIGTERM, lambda *_: flood.stop())
    pipe.send(flood.run())


class Flooders:
    """Processes that flood. They end by themselves; join() returns the sum of their results."""

    def __init__(self, kind, targets, seconds, max_bytes, connections=1, reconnect=False,
                 says_hello=False, processes=None):
        """Starts processes. `targets` is one target, or a list that the processes take in turn."""
        targets = targets if isinstance(targets, list) else [targets]
        for target in targets:
            target.check()
        processes = min(connections, processes or max(len(targets), 2))
        # fork is not used, because it would copy locks that other threads of this process hold.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["http2_flood"])
        self._running = []
        for i in range(processes):
            ours, theirs = context.Pipe(duplex=False)
            share = len(range(i, connections, processes))
            args = (kind, seconds, max_bytes // processes, share, reconnect, says_hello)
            process = context.Process(target=_run_one, daemon=True,
                                      args=(theirs, targets[i % len(targets)], args))
            process.start()
            theirs.close()
            self._running.append((process, ours))

    def stop(self):
        """Ends them early. Call join() afterwards."""
        for process, _ in self._running:
            process.terminate()

    def join(self, look=lambda: None):
        """Calls `look` every 5 ms until all have ended."""
        results = [found for process, pipe in self._running
                   if (found := self._result(process, pipe, look)) is not None]
        look()
        return _sum(results)

    @staticmethod
    def _result(process, pipe, look):
        """Returns the process's result, or None if it was killed."""
        try:
            while not pipe.poll(0.005):
                look()
            return pipe.recv()
        except EOFError:
            return None
        finally:
            pipe.close()
            process.join()


def _sum(results):
    if not results:
        return {"killed": True, "bytes": 0, "calls": 0, "ends": {}}
    whole = dict(results[0])
    for name in ("connections", "bytes", "calls", "greeted"):
        whole[name] = sum(result[name] for result in results)
    whole["ends"] = dict(sum((collections.Counter(result["ends"]) for result in results),
                             start=collections.Counter()))
    firsts = [(result["first_end_s"], result["first_end_bytes"]) for result in results
              if result["first_end_s"] is not None]
    whole["first_end_s"], whole["first_end_bytes"] = min(firsts, default=(None, None))
    whole["seconds"] = max(result["seconds"] for result in results)
    return whole


def parse_bytes(text):
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    for unit, size in units.items():
        if text.endswith(unit):
            return int(float(text[:-3]) * size)
    return int(text)


def add_options(parser):
    """Adds the options of a target, for target_of()."""
    parser.add_argument("--path", default=PIECES, help="the method that is called")
    parser.add_argument("--token-file", type=pathlib.Path, help="whose first line is sent")
    parser.add_argument("--tls-ca", default="", help="speak TLS")
    parser.add_argument("--tls-cert", default="")
    parser.add_argument("--tls-key", default="")
    parser.add_argument("--from", dest="sources", default="", help="addresses, separated by commas")


def target_of(address, args):
    host, port = address.rsplit(":", 1)
    token = args.token_file.read_text().split()[0] if args.token_file else ""
    return Target(host, int(port), args.path, token, args.tls_ca, args.tls_cert, args.tls_key,
                  tuple(filter(None, args.sources.split(","))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("address", help="HOST:PORT, on loopback")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--max-bytes", type=parse_bytes, default=256 << 20)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--reconnect", action="store_true", help="when the server ends one")
    parser.add_argument("--hello", action="store_true", help="open a stream first, then flood")
    parser.add_argument("--watch", type=int, metavar="PID", help="print that process's memory, too")
    add_options(parser)
    args = parser.parse_args()
    target = target_of(args.address, args)
    watch = MemoryWatch(args.watch) if args.watch else None
    result = Flooders(args.kind, target, args.seconds, args.max_bytes, args.connections,
                      args.reconnect, args.hello, args.processes).join(
                          watch.look if watch else lambda: None)
    if watch:
        result.update(before=watch.before, peak=watch.peak, after=watch.now())
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
