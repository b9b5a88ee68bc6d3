"""Ranks that read at a trainer's pace until they are interrupted, and the rows that they must have
read."""

import json
import signal
import time

from processes import ProcessTestCase
from servers import TIMEOUT_S, wait_until

NUM_RANKS = 2


class RanksTestCase(ProcessTestCase):
    def start_ranks(self, servers, *args, prefixes=((),) * NUM_RANKS):
        """`prefixes`: for each rank, a command that executes another one."""
        self.rank_options = args
        self.started = time.monotonic()
        self.waits = [self.folder / f"waits{rank}" for rank in range(NUM_RANKS)]
        self.errors = [self.folder / f"errors{rank}" for rank in range(NUM_RANKS)]
        self.ranks = [self.start_rank(rank, servers, args, prefixes[rank])
                      for rank in range(NUM_RANKS)]
        self.wait_for_batches(10)

    def start_rank(self, rank, servers, args, prefix):
        with open(self.errors[rank], "wb") as errors:
            return self.spawn("penstock", *self.rank_args(rank, servers), "--waits",
                              self.waits[rank], *args, prefix=prefix, stderr=errors)

    def rank_args(self, rank, servers):
        return self.stream_args(servers, "--rank", rank, "--world-size", NUM_RANKS, epochs=0)

    def wait_for_batches(self, more):
        """Waits until every rank has got this many more batches."""
        seen = [self.batches(rank) for rank in range(NUM_RANKS)]
        for rank in range(NUM_RANKS):
            wait_until(lambda: self.batches(rank) >= seen[rank] + more, f"batches of rank {rank}")

    def batches(self, rank):
        if self.ranks[rank].poll() is not None:
            self.fail(f"rank {rank} ended: {self.errors[rank].read_text()}")
        waits = self.waits[rank]
        return waits.read_bytes().count(b"\n") if waits.exists() else 0

    def finish_ranks(self):
        """Interrupts the ranks and returns the result of each."""
        self.wait_for_batches(10)
        for child in self.ranks:
            child.send_signal(signal.SIGINT)
        results = []
        for rank, child in enumerate(self.ranks):
            out = child.communicate(timeout=TIMEOUT_S)[0]
            told = self.errors[rank].read_text()
            self.assertIn("interrupted by SIGINT", told)
            # Repeated kills of servers can make hundreds of windows suspect.
            self.assertLessEqual(told.count("requested alone"),
                                 1 + (time.monotonic() - self.started) / 10)
            results.append(json.loads(out))
        return results

    def assert_undisturbed(self, results, note=""):
        """Checks that each rank has read the same rows as a rank that reads in its own process,
        without servers."""
        options = list(self.rank_options)
        if "--pace" in options:
            at = options.index("--pace")
            del options[at:at + 2]
        for rank, result in enumerate(results):
            out = self.check_run("penstock", *self.rank_args(rank, "local:"), *options, "--steps",
                                 result["steps"], timeout=600).stdout
            self.assertEqual(result["digest"], json.loads(out)["digest"], f"rank {rank} {note}")


def total(results, name):
    """Adds up a number of all servers of all ranks."""
    return sum(server[name] for result in results for server in result["servers"])
