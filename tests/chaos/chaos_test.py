"""Servers are killed, stopped, drained and restarted under two ranks; the stream does not change.

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

from processes import run  # noqa: E402
from ranks import NUM_RANKS, RanksTestCase, total  # noqa: E402

NUM_SERVERS = 4
OPTIONS = argparse.Namespace(kills=100, seed=None, minutes=8)


class Timeline:
    """Prints what happened when, and counts it."""

    def __init__(self):
        self.start = time.monotonic()
        self.counts = collections.Counter()

    def now(self):
        return time.monotonic() - self.start

    def note(self, what, detail=""):
        self.counts[what] += 1
        print(f"{self.now():8.3f} s  {what} {detail}".rstrip(), flush=True)


class Victim:
    """One server and what is to happen to it next; `tick()` does it when its time has come."""

    def __init__(self, number, server, timeline, random_numbers, new_port_share):
        self.number = number
        self.server = server
        self.timeline = timeline
        self.random = random_numbers
        self.then = self._starting  # What `tick()` does from `at` on; None: it serves, undisturbed.
        self.at = 0.0
        self.new_port_share = new_port_share
        server.start()

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

    def kill(self, after_stop_of):
        """Once every rank is connected; stopped first, until there are requests it has not read."""
        self.after_stop_of = after_stop_of
        self.give_up_at = time.monotonic() + 5
        self.then = self._await_ranks

    def _await_ranks(self):
        if self.server.connections() != [0] * NUM_RANKS and time.monotonic() < self.give_up_at:
            return self._later(0.02, self._await_ranks)
        self._later(0.1, self._stop_to_kill)  # They say hello and ask.

    def _stop_to_kill(self):
        self.server.stop()
        self._later(self.after_stop_of, self._kill)

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

    def _kill(self):
        unread = sum(self.server.connections())
        if unread == 0 and time.monotonic() < self.give_up_at:
            return self._later(0.01, self._kill)
        self._note("SIGKILL" if unread else "SIGKILL without requests", f"{unread} bytes unread")
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
        same = self.new_port_share <= self.random.random()
        self.server.start(self.server.address if same else "127.0.0.1:0")
        self.then = self._starting

    def _starting(self):
        before = self.server.address
        if self.server.serves():
            self._note("serves", "on the same port" if before == self.server.address
                       else f"on {self.server.address}")
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
        # A list of addresses is for servers that keep their ports.
        self.follows_files = "file:PATH" in run("penstock", "stream", "--help").stdout
        new_port_share = 0.2 if self.follows_files else 0.0
        self.victims = [Victim(n, self.make_server("--threads", 1), self.timeline, self.random,
                               new_port_share) for n in range(NUM_SERVERS)]
        self.run_until(lambda: all(victim.idle for victim in self.victims))

    def server_set(self):
        if self.follows_files:
            return f"file:{self.address_files}"
        print("servers keep their ports: this build knows no file: sets", flush=True)
        return ",".join(victim.server.address for victim in self.victims)

    def run_until(self, condition, act=lambda: None):
        while not condition():
            self.assertLess(time.monotonic(), self.deadline, f"seed {self.seed}: not done in time")
            act()
            for victim in self.victims:
                victim.tick()
            signal.sigtimedwait([], 0.002)

    def disturb(self, kills):
        """Random kills and stops of random servers until there were so many kills."""
        next_at = time.monotonic()

        def act():
            nonlocal next_at
            idle = [victim for victim in self.victims if victim.idle]
            if time.monotonic() < next_at or not idle:
                return
            victim = self.random.choice(idle)
            if self.random.random() < 0.8:
                victim.kill(after_stop_of=self.random.uniform(0.02, 0.15))
            else:
                victim.stop_for(self.random.choice([0.01, 0.1, 0.5, 1.5]) * self.random.random())
            next_at = time.monotonic() + self.random.expovariate(1 / 0.15)

        self.run_until(lambda: self.timeline.counts["SIGKILL"] >= kills, act)
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
        self.wait_for_batches(5)  # Without it.
        self.calm_down()

    def check(self, results):
        self.assert_undisturbed(results, f"seed {self.seed}")
        lost, breaks = total(results, "lost_requests"), total(results, "stream_breaks")
        print(f"{self.timeline.now():8.3f} s  {dict(self.timeline.counts)}; {lost} requests lost in "
              f"{breaks} broken streams; steps {[result['steps'] for result in results]}, longest "
              f"waits {[result['batch_wait_seconds']['max'] for result in results]} s", flush=True)
        self.assertGreaterEqual(breaks, OPTIONS.kills, "few streams were broken")
        self.assertGreaterEqual(lost, OPTIONS.kills, "few requests were in flight")

    def test_whatever_happens_to_servers_the_stream_stays_the_same(self):
        self.start_victims()
        self.start_ranks(self.server_set(), "--pace", 20_000, "--look-ahead", "16MiB")
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
