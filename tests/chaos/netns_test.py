"""Runs servers and ranks in network namespaces, with delay, loss and partitions that heal.

Servers are also stopped, killed and started again there.

    python3 tests/chaos/netns_test.py --seed 7      (as root)
"""

import argparse
import collections
import json
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))

from network import Network  # noqa: E402
from processes import BIN  # noqa: E402
from ranks import NUM_RANKS, RanksTestCase, total  # noqa: E402
from servers import wait_until  # noqa: E402

NUM_SERVERS = 3
SKIPPED = 77  # ctest reports this code as skipped.
OPTIONS = argparse.Namespace(seed=None)


class NetnsTest(RanksTestCase):
    def setUp(self):
        super().setUp()
        self.seed = OPTIONS.seed if OPTIONS.seed is not None else random.SystemRandom().getrandbits(32)
        print(f"seed {self.seed}", flush=True)
        self.began = time.monotonic()
        self.network = Network(NUM_SERVERS + NUM_RANKS, self.seed)
        self.addCleanup(self.network.close)
        self.server_nodes = self.network.nodes[:NUM_SERVERS]
        self.rank_nodes = self.network.nodes[NUM_SERVERS:]

    def note(self, text):
        print(f"{time.monotonic() - self.began:8.3f} s  {text}", flush=True)

    def start(self):
        self.servers = []
        for node in self.server_nodes:
            server = self.make_server("--threads", 1, "--insecure", prefix=node.prefix)
            server.start(f"{node.address}:7070")
            self.servers.append(server.wait_serving())
        for node in self.server_nodes:
            node.delay_s, node.loss = 0.005, 0.01
        self.start_ranks(",".join(server.address for server in self.servers), "--pace", 4_000, "--dtype",
                         "packed", "--look-ahead", "1MiB",
                         prefixes=[node.prefix for node in self.rank_nodes])

    def stay(self, seconds):
        signal.sigtimedwait([], seconds)

    def short_partition(self):
        self.note("server 0 cannot be reached for 1 s")
        self.server_nodes[0].partition()
        self.stay(1)
        self.server_nodes[0].heal()
        self.wait_for_batches(20)

    def long_partition(self):
        """Cuts off a server for longer than clients wait for a silent one. The others serve
        meanwhile."""
        self.note("server 1 cannot be reached for 14 s")
        self.server_nodes[1].partition()
        until = time.monotonic() + 14
        self.wait_for_batches(20)
        self.stay(max(0, until - time.monotonic()))
        self.server_nodes[1].heal()
        self.wait_until_it_serves(1)

    def rows_sent(self, number):
        """Returns the rows sent to the server's current clients, asked from its own side of the
        network."""
        done = subprocess.run(
            [*self.server_nodes[number].prefix, BIN / "penstock", "top", "--servers",
             self.servers[number].address, "--once", "--json", "-", "--interval", "100ms"],
            stdout=subprocess.PIPE, timeout=60)
        [server] = json.loads(done.stdout)["servers"]
        return {client["peer"]: client["rows"] for client in server.get("clients", [])}

    def wait_until_it_serves(self, number):
        """Waits for rows, not only packets, because greetings and pings pass as well."""
        before = self.rows_sent(number)
        wait_until(lambda: any(rows > before.get(peer, 0)
                               for peer, rows in self.rows_sent(number).items()),
                   f"server {number} to serve again")

    def one_way_partition(self):
        self.note("nobody hears server 2 for 2 s")
        self.server_nodes[2].is_heard = False
        self.stay(2)
        self.server_nodes[2].heal()
        self.wait_for_batches(20)

    def cut_off_all(self):
        self.note("no server can be reached for 2 s")
        for node in self.server_nodes:
            node.partition()
        self.stay(2)
        for node in self.server_nodes:
            node.heal()
        self.wait_for_batches(20)

    def stop(self):
        self.note("server 0 is stopped for 2 s")
        self.servers[0].stop()
        self.wait_for_batches(20)
        self.stay(2)
        self.servers[0].cont()
        self.wait_until_it_serves(0)

    def kill_and_restart(self):
        self.note("server 1 is killed and comes back after 1 s")
        self.servers[1].kill()
        self.wait_for_batches(20)
        self.stay(1)
        self.servers[1].start(self.servers[1].address)
        self.wait_until_it_serves(1)

    def kill_unseen(self):
        """Restarts a server while no packet can announce that the old connections are gone. The new
        process resets them when it gets a packet."""
        self.note("server 2 is killed and restarted while it cannot be reached")
        self.server_nodes[2].partition()
        self.servers[2].kill()
        self.servers[2].start(self.servers[2].address)
        self.servers[2].wait_serving()
        self.wait_for_batches(20)
        self.server_nodes[2].heal()
        self.wait_until_it_serves(2)

    def test_delay_loss_partitions_stops_and_kills_change_nothing(self):
        self.start()
        self.wait_for_batches(100)
        for disturb in (self.short_partition, self.long_partition, self.one_way_partition,
                        self.cut_off_all, self.stop, self.kill_and_restart, self.kill_unseen):
            disturb()
        self.note("interrupting the ranks")
        results = self.finish_ranks()
        self.assert_undisturbed(results, f"seed {self.seed}")
        packets = sum((node.counts for node in self.network.nodes), start=collections.Counter())
        self.note(f"packets {dict(packets)}; {total(results, 'lost_requests')} requests lost in "
                  f"{total(results, 'stream_breaks')} broken streams; longest waits "
                  f"{[result['batch_wait_seconds']['max'] for result in results]} s")
        self.assertGreater(packets["lost"], 50)
        self.assertGreater(packets["cut"], 0)
        # At least one rank sees the long partition and each kill.
        self.assertGreaterEqual(total(results, "stream_breaks"), 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="default: a new one, printed")
    parser.parse_known_args(namespace=OPTIONS)
    if missing := Network.missing():
        print(f"SKIPPED: {missing}")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
