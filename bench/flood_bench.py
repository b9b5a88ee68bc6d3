"""Measures the share of its rate that an honest client keeps while others flood its server.

    python3 bench/flood_bench.py --json floods.json

A client reads as fast as it can while a flooder (tests/e2e/http2_flood.py) writes to the client's
server, and while the same flooder writes to a process that discards. The second rate is the
ceiling, because the flooder takes its share of the machine in both cases. Runs alternate; each pair gives a
ratio, and the target is a median of at least 0.5. A server that a flood brings to 4 GiB is killed,
and its rate counts as 0. The data stays in the page cache.
"""

import argparse
import contextlib
import datetime
import json
import multiprocessing
import os
import pathlib
import select
import signal
import socket
import ssl
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))

from certificates import Authority  # noqa: E402
from http2_connection import Target  # noqa: E402
from http2_flood import Flooders, parse_bytes  # noqa: E402
from http2_frames import DATA, SETTINGS, frame  # noqa: E402
from memory_watch import MemoryWatch  # noqa: E402
from sample_copies import make_copies  # noqa: E402
from servers import Server, die_with_parent, wait_until  # noqa: E402
from stall_bench import Stream  # noqa: E402
from three_digits import three_digits  # noqa: E402

KINDS = "continuation,rapid-reset,rapid-reset-indexed-bulk,half-open-unacked,ping-unacked,reconnect"
SECURITIES = ("plain", "tls", "mtls")  # With mtls, flooders open a stream before they flood.
TOKEN = "0123456789abcdef-flood"
SOURCES = tuple(f"127.0.0.{i}" for i in range(11, 21))


class Security:
    """Arguments of the server, its clients and the flooders."""

    def __init__(self, folder, name):
        tokens = folder / "tokens"
        tokens.write_text(TOKEN + "\n")
        tokens.chmod(0o600)
        self.name, self.server, self.client, self.target = name, [], [], {}
        self.tls = None
        if name != "plain":
            self._speak_tls(Authority(folder, "ca"), mutual=name == "mtls")
        self.server += ["--token-file", tokens]
        self.client += ["--token-file", tokens]

    def _speak_tls(self, ca, mutual):
        cert, key = ca.issue("server")
        self.server += ["--tls-cert", cert, "--tls-key", key]
        self.client += ["--tls", "--tls-ca", ca.pem]
        self.target["tls_ca"] = str(ca.pem)
        self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.tls.load_cert_chain(cert, key)
        self.tls.set_alpn_protocols(["h2"])
        if mutual:
            self._be_mutual(ca)

    def _be_mutual(self, ca):
        cert, key = ca.issue("client", "DNS:client")
        self.server += ["--tls-client-ca", ca.pem]
        self.client += ["--tls-cert", cert, "--tls-key", key]
        self.target.update(tls_cert=str(cert), tls_key=str(key), token=TOKEN)
        self.tls.load_verify_locations(ca.pem)
        self.tls.verify_mode = ssl.CERT_REQUIRED


class Discarder:
    """A process that greets like a server and discards everything it receives."""

    def __init__(self, tls):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = "%s:%d" % self._listener.getsockname()
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=self._run, args=(tls,), daemon=True)
        self._process.start()

    def end(self):
        self._process.kill()
        self._process.join()
        self._listener.close()

    def _run(self, tls):
        die_with_parent()
        poll, of_fd, buffer = select.poll(), {}, bytearray(1 << 18)
        poll.register(self._listener, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self._listener.fileno():
                    if (connection := self._accept(tls)) is not None:
                        of_fd[connection.fileno()] = connection
                        poll.register(connection, select.POLLIN)
                elif not self._discard(of_fd[fd], buffer):
                    poll.unregister(fd)
                    of_fd.pop(fd).close()

    def _accept(self, tls):
        # The DATA frame on stream 1 looks like the answer to a Hello.
        greeting = frame(SETTINGS, 0, 0) + frame(DATA, 0, 1)
        connection, _ = self._listener.accept()
        connection.settimeout(10)
        try:
            if tls is not None:
                connection = tls.wrap_socket(connection, server_side=True)
            connection.sendall(greeting)
        except OSError:
            connection.close()
            return None
        connection.setblocking(False)
        return connection

    @staticmethod
    def _discard(connection, buffer):
        """Returns False if nothing more will come."""
        try:
            while count := connection.recv_into(buffer):
                if count < len(buffer):
                    pending = isinstance(connection, ssl.SSLSocket) and connection.pending()
                    if not pending:
                        return True
            return False
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        except OSError:
            return False


class Killed(Exception):
    """The server exceeded the memory limit, or the stream failed."""


def flooders(args, security, address, kind, connections):
    host, port = address.rsplit(":", 1)
    sources = SOURCES if connections > 1 else ()
    target = Target(host, int(port), sources=sources, **security.target)
    return Flooders(kind, target, args.seconds + 120, args.max_bytes, connections, reconnect=True,
                    says_hello=security.name == "mtls")


def read_for(args, stream, server):
    """Ends the stream after args.seconds. Returns its rows/s from the first batch on, its report
    and the server's peak memory."""
    watch = MemoryWatch(server.pid)

    def has(seconds):
        watch.look()
        if watch.exceeded or stream.process.poll() is not None:
            raise Killed
        return time.monotonic() - since >= seconds
    since = time.monotonic()
    wait_until(lambda: has(0) and stream.batches() > 0, "the first batch")
    since = time.monotonic()
    wait_until(lambda: has(args.seconds), "the time to pass")
    stream.process.send_signal(signal.SIGINT)
    out, err = stream.process.communicate()
    if stream.process.returncode != 128 + signal.SIGINT:
        raise RuntimeError(err)
    found = json.loads(out)
    return found["rows"] / (found["seconds"] - found["first_batch_seconds"]), found, watch.peak


def check(folder, data, args, found):
    local = Stream(folder, data, "local:", *of_stream(args), "--steps", found["steps"]).finish()
    if local["digest"] != found["digest"]:
        raise RuntimeError("the stream is not that of a run without servers")


def of_stream(args):
    return ["--global-batch-size", args.batch, "--dtype", args.dtype,
            *(["--digest"] if args.check else [])]


def measure(args, folder, data, security, kind, connections, at_server):
    server = Server(data, folder / "address", folder / "log", "--memory-budget", "64MiB",
                    *security.server)
    discarder = Discarder(security.tls)
    with contextlib.ExitStack() as at_end:
        at_end.callback(discarder.end)
        at_end.callback(server.end)
        server.start()
        server.wait_serving()
        flood = flooders(args, security, server.address if at_server else discarder.address, kind,
                         connections)
        stream = Stream(folder, data, server.address, *of_stream(args), *security.client,
                        "--server-timeout", "100s")
        at_end.callback(stream.process.kill)
        try:
            rate, found, peak = read_for(args, stream, server)
        except Killed:
            rate, found, peak = 0.0, None, 4 << 30
        flood.stop()
        sent = flood.join()
    if args.check and found is not None:
        check(folder, data, args, found)
    return {"rate": rate, "peak_bytes": peak, "flood_bytes": sent["bytes"],
            "flood_calls": sent["calls"], "ends": sent["ends"]}


def measure_pairs(args, folder, data, security, kind, connections):
    case = {"kind": kind, "security": security.name, "connections": connections, "pairs": []}
    for i in range(args.repetitions):
        pair = {}
        for at_server in (i % 2 == 0, i % 2 != 0):  # The order alternates.
            pair["server" if at_server else "discarded"] = measure(
                args, folder, data, security, kind, connections, at_server)
        pair["ratio"] = pair["server"]["rate"] / pair["discarded"]["rate"]
        case["pairs"].append(pair)
    case["ratio"] = statistics.median(pair["ratio"] for pair in case["pairs"])
    return case


def print_row(case):
    def cell(values, scale=1.0):
        values = [value / scale for value in values]
        least, median, most = map(three_digits, (min(values), statistics.median(values), max(values)))
        return f"{median} ({least} – {most})"
    pairs = case["pairs"]
    print(f"| {case['kind']} | {case['security']} | {case['connections']} | "
          f"{cell([pair['discarded']['rate'] for pair in pairs], 1e3)} | "
          f"{cell([pair['server']['rate'] for pair in pairs], 1e3)} | "
          f"{cell([pair['ratio'] for pair in pairs])} | "
          f"{max(pair['server']['peak_bytes'] for pair in pairs) / 2**20:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default=KINDS, help="kinds of floods, see http2_floods.py")
    parser.add_argument("--securities", default=",".join(SECURITIES))
    parser.add_argument("--connections", default="1,50", help="numbers of flooding connections")
    parser.add_argument("--seconds", type=float, default=3, help="length of each run")
    parser.add_argument("--max-bytes", type=parse_bytes, default=64 << 30,
                        help="bytes after which a flood ends")
    parser.add_argument("--repetitions", type=int, default=5, help="pairs of each case")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--dtype", default="i8")
    parser.add_argument("--copies", type=int, default=25,
                        help="copies of the sample, 20,000 records each")
    parser.add_argument("--check", action="store_true",
                        help="compare each stream with one without servers (slower, because rows are "
                             "hashed)")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    report = {"date": datetime.datetime.now().isoformat(timespec="seconds"),
              "command": " ".join(sys.argv), "load": os.getloadavg(), "cases": []}
    print("| flood | security | connections | k rows/s beside a flood that is discarded | k rows/s "
          "of the flooded server | ratio | server's peak, MiB |\n|" + "---|" * 7)
    with tempfile.TemporaryDirectory(prefix="penstock-flood-") as name:
        folder = pathlib.Path(name)
        make_copies(folder / "data", args.copies)
        for security_name in args.securities.split(","):
            security = Security(folder, security_name)
            for kind in args.kinds.split(","):
                for connections in map(int, args.connections.split(",")):
                    case = measure_pairs(args, folder, folder / "data", security, kind, connections)
                    print_row(case)
                    report["cases"].append(case)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
