"""Tests SIGKILL of a rank while a training starts or runs: the others end, name it, and lose
little."""

import time
import unittest

from processes import pause
from rank_runs import RanksTestCase, numbers
from servers import wait_until

BOUND_S = 60  # docs/guides/ranks_ending.md promises 10 s, on a machine without load.


class RanksKilledTest(RanksTestCase):
    def kill_and_wait(self, ranks, killed, says):
        ranks[killed].process.kill()
        for number, rank in enumerate(ranks):
            if number == killed:
                continue
            self.assertEqual(rank.wait(), 1, rank.err)
            self.assertRegex(rank.err, says)
            self.assertIn(f"rank {number}: ", rank.err)

    def assert_others_end(self, ranks, killed, says):
        begin = time.monotonic()
        self.kill_and_wait(ranks, killed, says)
        self.assertLess(time.monotonic() - begin, BOUND_S)

    def test_some_time_after_the_start(self):
        """Kills a rank at a moment when the progress of each rank is unknown. If the killed rank
        had not joined, it is missing, perhaps with others; if it had, it died. A rank that joins
        when rank 0 has ended reaches nobody."""
        for killed, after_s in [(2, 0.0), (2, 0.06), (1, 0.12), (2, 0.2), (1, 0.35)]:
            ranks = self.start_ranks(4, "--rendezvous-timeout", "5s", steps=10**6)
            time.sleep(after_s)  # Any time is good.
            missing = rf"ranks? (\d+, )*{killed}(, \d+)* of 4 did not join"
            died = rf"rank {killed} \(pid \d+ on .*\) died"
            self.assert_others_end(ranks, killed, f"{missing}|{died}|rank 0 was not reached")
            self.assertRegex(ranks[0].err, f"{missing}|{died}")

    def test_rank_0_some_time_after_the_start(self):
        for after_s in [0.05, 0.2]:
            ranks = self.start_ranks(2, "--rendezvous-timeout", "5s", steps=10**6)
            time.sleep(after_s)  # Any time is good.
            self.assert_others_end(ranks, 0, r"rank 0 (was not reached|.*died)")

    def test_while_it_steps_evaluates_and_saves(self):
        """Kills a rank in each of the states in which ranks spend nearly all of the time. A saved
        training continues with equal bits."""
        folder, events = self.folder / "parts", self.folder / "events.jsonl"
        args = ["--checkpoint-dir", folder, "--checkpoint-every", 1, "--eval-every", 1, "--events",
                events]
        for killed in (1, 0, 1):
            events.unlink(missing_ok=True)
            ranks = self.start_ranks(2, *args, steps=10**6)
            self.wait_for_steps(events, 2, ranks)
            pause()
            self.assert_others_end(ranks, killed, rf"rank {killed} .*died")
        steps = int(self.newest(folder).stem.split("-")[1]) + 1
        self.end_well(self.start_ranks(2, *args, steps=steps))
        whole = self.folder / "whole"
        self.check_run("penstock-train", *self.train_args("--checkpoint-dir", whole, steps=steps))
        self.assertEqual(numbers(self.newest(folder)), numbers(self.newest(whole)))

    def test_while_the_others_wait_for_a_server(self):
        """Kills a rank while the server does not answer. The ranks would wait for it longer than
        this test does."""
        server = self.start_server()
        server.stop()
        for killed in (1, 0):
            events = self.folder / f"events-{killed}.jsonl"
            ranks = self.start_ranks(2, "--server-timeout", "1h", "--events", events,
                                     servers=server.address)
            # Rank 0 creates the file when all ranks are about to read their first batch.
            wait_until(events.exists, f"the first step: {ranks[0].err}{ranks[1].err}")
            self.kill_and_wait(ranks, killed, rf"rank {killed} .*died")
            self.assertNotIn("no server was reachable", ranks[1 - killed].err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
