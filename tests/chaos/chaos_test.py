"""Kills, stops, drains and restarts servers under two ranks; the stream does not change.

    python3 tests/chaos/chaos_test.py --kills 1000 --seed 7
"""

import argparse
import collections
import pathlib
import random
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))

from ranks import NUM_RANKS, RanksTestCase, total  # noqa: E402

NUM_SERVERS = 4
# Share of restarts that use a new port. The ranks follow a folder of addresses.
NEW_PORT_SHARE = 0.2
# Names of the events that are counted.
STOPPED, RUNNING = "SIGKILL with requests unread", "SIGKILL of a running server"
STARTED, SAME_PORT, NEW_PORT = "start", "restart on the same port", "restart on a new port"
OPTIONS = argparse.Namespace(kills=200, seed=None, minutes=8)


class Timeline:
    """Prints and counts events with their times."""

    def __init__(self):
        self.start = time.monotonic()
        self.counts = collections.Counter()

    def now(self):
        return time.monotonic() - self.start

    def note(self, what, detail=""):
        self.counts[what] += 1
        print(f"{self.now():8.3f} s  {what} {detail}".rstrip(), flush=True)


class Victim:
    """One server and the next thing to do to it, which `tick()` does when its time has come.
    `new_address()` returns an address that nothing else uses."""

    def __init__(self, number, server, timeline, random_numbers, new_address):
        self.number = number
        self.server = server
        self.timeline = timeline
        self.random = random_numbers
        # The action that `tick()` takes from `at` on; None if the server runs undisturbed.
        self.then = self._starting
        self.at = 0.0
        self.before = None  # The server's address before the restart.
        self.new_address = new_address
        server.start(new_address())

    @property
    def idle(self):
        return self.then is None

    def tick(self):
        if self.then is not None and time.monotonic() >= self.at:
            self.then()

    def stop_for(self, seconds):
        self._note("SIGSTOP", f"for {1000 * seconds:.0f} ms")
        self.server.stop()
        self._later(seconds, self._cont)

    def kill(self, after, stopped):
        """Kills the server once every rank is connected. With `stopped`, waits until there are
        requests that it has not read; otherwise kills it at any moment."""
        self.kill_after = after
        self.give_up_at = time.monotonic() + 5
        self.then = self._await_ranks
        self.kill_how = self._stop_to_kill if stopped else self._kill_running

    def _await_ranks(self):
        if self.server.connections() != [0] * NUM_RANKS and time.monotonic() < self.give_up_at:
            return self._later(0.02, self._await_ranks)
        self._later(0.1, self.kill_how)  # In this time the ranks say hello and request rows.

    def _stop_to_kill(self):
        self.server.stop()
        self._later(self.kill_after, self._kill_stopped)

    def _kill_running(self):
        self._later(self.kill_after, lambda: self._kill(RUNNING))

    def drain(self, away_for=0.0):
        self._note("SIGTERM")
        self.server.drain()
        self.away_for = away_for
        self._later(0, self._drained)

    def _note(self, what, detail=""):
        self.timeline.note(what, f"server {self.number} {detail}")

    def _later(self, seconds, then):
        self.at = time.monotonic() + seconds
        self.then = then

    def _cont(self):
        self.server.cont()
        self.then = None

    def _kill_stopped(self):
        unread = sum(self.server.connections())
        if unread == 0 and time.monotonic() < self.give_up_at:
            return self._later(0.01, self._kill_stopped)
        self._kill(STOPPED if unread else "SIGKILL without requests", f"{unread} bytes unread")

    def _kill(self, what, detail=""):
        self._note(what, detail)
        self.server.kill()
        self._later(self.random.uniform(0, 0.3), self._restart)

    def _drained(self):
        if self.server.poll() is None:
            return
        if self.server.returncode != 0:
            raise AssertionError(f"a drained server ended with {self.server.returncode}")
        self._note("drained")
        self._later(self.away_for, self._restart)

    def _restart(self):
        self.before = self.server.address
        same = NEW_PORT_SHARE <= self.random.random()
        self.server.start(self.before if same else self.new_address())
        self.then = self._starting

    def _starting(self):
        if not self.server.serves():
            return
        again = SAME_PORT if self.server.address == self.before else NEW_PORT
        self._note(again if self.before else STARTED, self.server.address)
        self.then = None


class ChaosTest(RanksTestCase):
    def setUp(self):
        super().setUp()
        self.seed = OPTIONS.seed if OPTIONS.seed is not None else random.SystemRandom().getrandbits(32)
        print(f"seed {self.seed}", flush=True)
        self.random = random.Random(self.seed)
        self.timeline = Timeline()
        self.deadline = time.monotonic() + 60 * OPTIONS.minutes * max(1, OPTIONS.kills / 100)

    def start_victims(self):
        self.victims = [Victim(n, self.make_server("--threads", 1), self.timeline, self.random,
                               self.reserve_address) for n in range(NUM_SERVERS)]
        self.run_until(lambda: all(victim.idle for victim in self.victims))

    def run_until(self, condition, act=lambda: None):
        while not condition():
            self.assertLess(time.monotonic(), self.deadline, f"seed {self.seed}: not done in time")
            act()
            for victim in self.victims:
                victim.tick()
            signal.sigtimedwait([], 0.002)

    def disturb(self, kills):
        """Kills and stops random servers at random times until there were `kills` kills. Half of
        the kills hit a running server, half a server with requests that it has not read."""
        next_at = time.monotonic()
        counts = self.timeline.counts

        def act():
            nonlocal next_at
            idle = [victim for victim in self.victims if victim.idle]
            if time.monotonic() < next_at or not idle:
                return
            victim = self.random.choice(idle)
            if self.random.random() < 0.8:
                victim.kill(self.random.uniform(0.02, 0.15), counts[STOPPED] <= counts[RUNNING])
            else:
                victim.stop_for(self.random.choice([0.01, 0.1, 0.5, 1.5]) * self.random.random())
            next_at = time.monotonic() + self.random.expovariate(1 / 0.15)

        self.run_until(lambda: min(counts[STOPPED], counts[RUNNING]) >= kills // 2, act)
        self.calm_down()

    def calm_down(self):
        self.run_until(lambda: all(victim.idle for victim in self.victims))

    def rolling_restart(self):
        self.timeline.note("rolling restart")
        for victim in self.victims:
            victim.drain()
            self.calm_down()
        self.wait_for_batches(5)

    def drain_one(self):
        self.timeline.note("drain")
        victim = self.random.choice(self.victims)
        victim.drain(away_for=1.5)
        self.run_until(lambda: victim.server.poll() is not None or victim.idle)
        self.wait_for_batches(5)  # The ranks get these batches without the server.
        self.calm_down()

    def check(self, results):
        self.assert_undisturbed(results, f"seed {self.seed}")
        lost, breaks = total(results, "lost_requests"), total(results, "stream_breaks")
        print(f"{self.timeline.now():8.3f} s  {dict(self.timeline.counts)}; {lost} requests lost in "
              f"{breaks} broken streams; steps {[result['steps'] for result in results]}, longest "
              f"waits {[result['batch_wait_seconds']['max'] for result in results]} s", flush=True)
        self.check_counts(self.timeline.counts)
        self.assertGreaterEqual(breaks, OPTIONS.kills, "few streams were broken")
        self.assertGreaterEqual(lost, OPTIONS.kills, "few requests were in flight")

    def check_counts(self, counts):
        """Checks that all kinds of events happened. Otherwise a test that leaves servers alone
        would pass."""
        few = OPTIONS.kills // 20
        for what, at_least in ((STOPPED, OPTIONS.kills // 2), (RUNNING, OPTIONS.kills // 2),
                               ("SIGSTOP", few), (NEW_PORT, few), (SAME_PORT, OPTIONS.kills // 2)):
            self.assertGreaterEqual(counts[what], at_least, what)
        drains = NUM_SERVERS + 1
        self.assertEqual((counts["SIGTERM"], counts["drained"]), (drains, drains))
        ends = drains + sum(n for what, n in counts.items() if what.startswith("SIGKILL"))
        self.assertEqual(counts[SAME_PORT] + counts[NEW_PORT], ends)

    def test_whatever_happens_to_servers_the_stream_stays_the_same(self):
        self.start_victims()
        self.start_ranks(f"file:{self.address_files}", "--pace", 20_000, "--look-ahead", "16MiB")
        self.disturb(OPTIONS.kills // 3)
        self.rolling_restart()
        self.disturb(2 * OPTIONS.kills // 3)
        self.drain_one()
        self.disturb(OPTIONS.kills)
        self.check(self.finish_ranks())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=OPTIONS.kills)
    parser.add_argument("--seed", type=int, help="default: a new one, printed")
    parser.parse_known_args(namespace=OPTIONS)
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
