"""Tests that hostile HTTP/2 clients (http2_flood.py) cost a server bounded memory and change no
bits.

For each flood of any kind, port, security and number of connections:

- PEAK: VmHWM stays at most the idle server's VmRSS + --memory-budget + 96 MiB;
- RETURN: within 10 s after the flood VmRSS is at most 32 MiB above its value before the flood;
- BITS: an honest client reads from the data port throughout. It receives rows after each flood, and
  at the end its digest equals that of `local:`.

No test asserts a speed. PENSTOCK_BIN names the folder of the programs.
"""

import json
import pathlib
import re
import shutil
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "chaos"))

from certificates import Authority  # noqa: E402
from http2_connection import Target  # noqa: E402
from http2_flood import Flooders  # noqa: E402
from http2_floods import KINDS  # noqa: E402
from http2_frames import STATS, WATCH  # noqa: E402
from memory_watch import MemoryWatch  # noqa: E402
from network import Network  # noqa: E402
from processes import TIMEOUT_S, ProcessTestCase  # noqa: E402
from servers import wait_until  # noqa: E402

MIB = 1 << 20
BUDGET = 64 * MIB
# Bytes above the idle memory and the budget. Three connections may be new at a time; gRPC may use 500
# times the 64 KiB of each one's receive buffer before the guard sees that (connection_guard.cc).
PEAK = 96 * MIB
RETURN = 32 * MIB  # Bytes above the memory before the flood.
RETURN_S = 10
# Duration of a flood, keyed by number of connections. A flood also ends after MAX_BYTES.
SECONDS = {1: 0.4, 50: 0.7}
MAX_BYTES = 192 * MIB
CUT_OFF_S = 60  # A flood that is not cut off ends after this time, or after MAX_BYTES.
EPOCH = 20_000 // 256  # Number of batches in an epoch.
BEYOND_LOOK_AHEAD = 6  # Number of batches. 1 MiB holds less than half of these.
MANY = 50  # Number of connections, which come from these addresses in turn:
SOURCES = tuple(f"127.0.0.{i}" for i in range(11, 21))
TOKEN = "0123456789abcdef-flood"
HTTP1 = [name for name, kind in KINDS.items() if not kind.speaks_http2]
HTTP2 = [name for name, kind in KINDS.items() if kind.speaks_http2]
# These are tried only on the plaintext data port. Similar floods are tried on each port.
ONCE = {"continuation-indexed-bulk", "rapid-reset-bulk", "rapid-reset-indexed",
        "rapid-reset-fragmented", "rapid-reset-priority", "reset-by-window", "reset-by-no-window",
        "reset-by-headers", "reset-by-end", "calls-indexed", "half-open",
        "half-open-unacked-indexed", "ping", "ping-ack", "settings-unread", "priority", "unknown-frames", "window-update",
        "huge-frame"}
ON_EACH_PORT = [name for name in HTTP2 if name not in ONCE]
# There is one flood for each way in which memory grows. Only these are tried with many connections,
# except on the plaintext data port. One connection shows that a port counts a kind; many show that
# the sum over connections is bounded.
WITH_MANY = ("continuation", "continuation-indexed", "rapid-reset", "rapid-reset-indexed-bulk",
             "half-open-unacked", "ping-unacked")


class FloodTestCase(ProcessTestCase):
    budget = BUDGET

    def setUp(self):
        super().setUp()
        self.tokens = self.write("tokens", f"{TOKEN}\n")
        self.client_args = ["--token-file", self.tokens]
        self.target = {}

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def speak_tls(self, hosts="IP:127.0.0.1", mutual=False):
        """Returns a server's arguments, and sets those of the honest client and the flooders."""
        ca = Authority(self.folder, "ca")
        cert, key = ca.issue("server", hosts)
        self.client_args += ["--tls", "--tls-ca", ca.pem]
        self.target = {"tls_ca": str(ca.pem)}
        if not mutual:
            return ["--tls-cert", cert, "--tls-key", key]
        own_cert, own_key = ca.issue("client", "DNS:client")
        self.client_args += ["--tls-cert", own_cert, "--tls-key", own_key]
        self.target.update(tls_cert=str(own_cert), tls_key=str(own_key))
        return ["--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ca.pem]

    def start(self, *args, listen="127.0.0.1:0", server_prefix=(), client_prefix=()):
        """Starts a server, and an honest client that has read an epoch and goes on reading."""
        self.server = self.make_server("--memory-budget", self.budget, "--token-file", self.tokens,
                                       *args, prefix=server_prefix)
        self.server.start(listen)
        self.server.wait_serving()
        self.most = MemoryWatch(self.server.pid).before + self.budget + PEAK
        self.waits = self.folder / "waits"
        self.honest = self.spawn(
            "penstock", *self.stream_args(self.server.address, *self.client_args, "--pace", 20_000,
                                          "--look-ahead", "1MiB", "--waits", self.waits,
                                          "--server-timeout", "300s", epochs=0), prefix=client_prefix)
        self.wait_for_batches(EPOCH)  # After an epoch the server has the sample in memory.

    def batches(self):
        self.assertIsNone(self.server.poll(), "the server ended")
        self.assertIsNone(self.honest.poll(), "the honest client ended")
        return self.waits.read_bytes().count(b"\n") if self.waits.exists() else 0

    def wait_for_batches(self, more):
        goal = self.batches() + more
        wait_until(lambda: self.batches() >= goal, f"{more} batches of the honest client")

    def address_of(self, port):
        """Returns the address of the health or the metrics port from the server's log."""
        return wait_until(lambda: re.search(rf"{port} address=\"?([0-9.:]+)", self.server.log()),
                          f"the address of the {port} port")[1]

    def flood(self, kind, address, connections=1, says_hello=False, targets=None, **target):
        """Floods, then checks the server's memory and the honest client."""
        host, port = address.rsplit(":", 1)
        targets = targets or [Target(host, int(port), sources=SOURCES if connections > 1 else (),
                                     **target)]
        watch = self.watch()
        found = Flooders(kind, targets, SECONDS[connections], MAX_BYTES, connections,
                         reconnect=True, says_hello=says_hello).join(watch.look)
        self.check_memory(watch, f"{kind}, {connections} connections", found)

    def watch(self):
        """Returns a watch that kills the server if it takes far too much memory."""
        return MemoryWatch(self.server.pid, limit=self.most + 512 * MIB)

    def check_memory(self, watch, what, found):
        """Checks PEAK, RETURN, and that the honest client receives rows."""
        what = f"{what}: {watch.before / MIB:.0f} MiB before, {found['bytes']} bytes, " \
               f"{found['calls']} calls, ended {found['ends']}"

        def is_back():
            watch.look()  # The server may still have some of the flood to read.
            self.assertLessEqual(watch.peak, self.most, what)
            return watch.now() <= watch.before + RETURN
        wait_until(is_back, f"memory to come back; {what}; {watch.now() / MIB:.0f} MiB", RETURN_S)
        self.wait_for_batches(BEYOND_LOOK_AHEAD)
        print(f"{what}; {watch.peak / MIB:.0f} MiB at most, {watch.now() / MIB:.0f} MiB afterwards",
              flush=True)

    def flood_with_all(self, kinds, address, says_hello=False, with_many=None, **target):
        """Floods with each kind. `with_many` are the kinds that are also tried with many
        connections; None means all of them."""
        for kind in kinds:
            self.flood(kind, address, 1, says_hello, **target)
            if with_many is None or kind in with_many:
                self.flood(kind, address, MANY, says_hello, **target)

    def check_bits(self):
        """Ends the honest client and compares its digest."""
        self.honest.send_signal(signal.SIGINT)
        out, err = self.honest.communicate(timeout=TIMEOUT_S)
        self.assertEqual(self.honest.returncode, 128 + signal.SIGINT, err)
        across = json.loads(out)
        quiet = self.stream("local:", "--steps", across["steps"], epochs=0)
        self.assertEqual(across["digest"], quiet["digest"])


class LoopbackFloodTest(FloodTestCase):
    def test_flooders_refuse_addresses_outside_the_tests(self):
        for host in ("10.0.0.1", "192.0.2.1", "8.8.8.8"):
            with self.assertRaises(ValueError):
                Flooders("ping", Target(host, 80), seconds=0.1, max_bytes=1)

    def test_plaintext_floods_of_the_data_port(self):
        self.start()
        self.flood_with_all(HTTP2, self.server.address)
        self.flood_with_all(["half-messages"], self.server.address, path=STATS)
        self.check_bits()

    def test_tls_floods_of_the_data_port(self):
        self.start(*self.speak_tls())
        self.flood_with_all(ON_EACH_PORT, self.server.address, with_many=WITH_MANY, **self.target)
        self.check_bits()

    def test_floods_of_clients_with_certificate_token_and_an_open_stream(self):
        self.start(*self.speak_tls(mutual=True))
        self.flood_with_all(ON_EACH_PORT, self.server.address, says_hello=True, token=TOKEN,
                            with_many=WITH_MANY, **self.target)
        self.check_bits()

    def test_a_client_with_a_certificate_that_floods_is_cut_off(self):
        self.start(*self.speak_tls(mutual=True))
        host, port = self.server.address.rsplit(":", 1)
        target = Target(host, int(port), token=TOKEN, **self.target)
        for kind in ("continuation", "continuation-indexed", "rapid-reset",
                     "rapid-reset-indexed-bulk", "half-open-unacked"):
            watch = self.watch()
            found = Flooders(kind, target, CUT_OFF_S, MAX_BYTES, says_hello=True).join(watch.look)
            self.check_memory(watch, kind, found)
            self.assertTrue(found["ends"], f"{kind}: {found}")
        self.check_bits()

    def test_floods_of_the_health_port(self):
        self.start("--health-listen", "127.0.0.1:0")
        self.flood_with_all(ON_EACH_PORT, self.address_of("health"), with_many=WITH_MANY,
                            path=WATCH)
        self.check_bits()

    def test_floods_of_the_metrics_port(self):
        self.start("--metrics-port", 0)
        self.flood_with_all([*HTTP1, "continuation", "rapid-reset", "slow"],
                            self.address_of("metrics"))
        self.check_bits()


class FullBudgetFloodTest(FloodTestCase):
    """The server's data do not fit into its budget, so there is no spare memory for floods."""

    budget = 16 * MIB
    copies = 12  # Number of copies of the sample, of 2 MiB each.

    def setUp(self):
        super().setUp()
        for shard in sorted(self.data.glob("*.tfrecord")):
            for copy in range(1, self.copies):
                shutil.copy(shard, shard.with_name(f"{copy}-{shard.name}"))
        self.check_run("penstock", "index", self.data, "--holdout", "5%", "-o", self.manifest)

    def memory(self):
        return MemoryWatch(self.server.pid).before

    def flood(self, *args, **options):
        # Each flood starts from the memory before the first one, because leftovers of two floods
        # may add up.
        wait_until(lambda: self.memory() <= self.full + RETURN // 2, "memory to come back", RETURN_S)
        super().flood(*args, **options)

    def test_floods_of_a_server_whose_budget_is_full(self):
        self.start()
        idle = self.most - self.budget - PEAK
        self.full = wait_until(
            lambda: (now := self.memory()) > idle + self.budget * 3 // 4 and now,
            "the budget to be full")
        for connections in (1, MANY):
            for kind in ("continuation-indexed", "rapid-reset-indexed-bulk", "half-open-unacked",
                         "half-open-unacked-indexed"):
                self.flood(kind, self.server.address, connections)
        self.check_bits()


@unittest.skipIf(MISSING := Network.missing(), MISSING)
class NamespaceFloodTest(FloodTestCase):
    """Floods from three addresses, none of them the server's."""

    def setUp(self):
        super().setUp()
        self.network = Network(num_nodes=5, seed=7)
        self.addCleanup(self.network.close)

    def flood_from_all(self, kind, address, **target):
        host, port = address.rsplit(":", 1)
        self.flood(kind, address, MANY, targets=[
            Target(host, int(port), netns=node.namespace, **target)
            for node in self.network.nodes[2:]])

    def test_floods_from_several_addresses(self):
        serving, honest = self.network.nodes[:2]
        self.start(*self.speak_tls(f"IP:{serving.address}"), "--health-listen",
                   f"{serving.address}:7071", listen=f"{serving.address}:7070",
                   server_prefix=serving.prefix, client_prefix=honest.prefix)
        for kind in WITH_MANY:
            self.flood_from_all(kind, self.server.address, **self.target)
            self.flood_from_all(kind, f"{serving.address}:7071", path=WATCH)
        self.check_bits()


if __name__ == "__main__":
    unittest.main(verbosity=2)
