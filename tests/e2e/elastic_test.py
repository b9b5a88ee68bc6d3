"""Tests that a training with a changing number of ranks reads what one rank reads: every record
once, in order."""

import json
import signal
import unittest

from processes import TIMEOUT_S, ProcessTestCase, pause

BATCH = 250  # This is not a multiple of the numbers of ranks below.
INTERRUPTED = -1  # As a number of steps, this means: until a SIGINT.


class ElasticTest(ProcessTestCase):
    def run_ranks(self, servers, world_size, *args, interrupted=False, epochs=2):
        """Reads with `world_size` ranks at once. Returns each rank's result and ids."""
        ids = [self.folder / f"ids{rank}" for rank in range(world_size)]
        for path in ids:
            path.unlink(missing_ok=True)
        ranks = [self.spawn("penstock", *self.stream_args(
            servers, "--global-batch-size", BATCH, "--rank", rank, "--world-size", world_size,
            "--ids", ids[rank], *args, epochs=epochs)) for rank in range(world_size)]
        if interrupted:
            self.interrupt(ranks[0], ids[0])
        told = []
        for child in ranks:
            out, err = child.communicate(timeout=TIMEOUT_S)
            self.assertEqual(child.returncode, 128 + signal.SIGINT if interrupted else 0, err)
            told.append(json.loads(out))
        return told, [path.read_text().splitlines() for path in ids]

    def interrupt(self, child, ids):
        while not ids.exists() or ids.stat().st_size == 0:
            self.assertIsNone(child.poll(), "the stream ended early")
            pause()
        child.send_signal(signal.SIGINT)

    def merge(self, ids, steps):
        """Merges the ranks' rows into global batches: rank r has rows [rB/R, (r+1)B/R)."""
        world_size = len(ids)
        rows = [(rank + 1) * BATCH // world_size - rank * BATCH // world_size
                for rank in range(world_size)]
        merged = []
        for step in range(steps):
            for rank in range(world_size):
                merged += ids[rank][step * rows[rank]:(step + 1) * rows[rank]]
        self.assertEqual(len(merged), sum(map(len, ids)))
        return merged

    def read_in_phases(self, servers, phases, *args):
        """Reads in `phases`, which are pairs (world size, steps); 0 steps means to the end. Returns
        the ids of all phases in order, and the results of the ranks of each phase."""
        merged, phases_told, cursor = [], [], []
        for world_size, steps in phases:
            bound = {0: [], INTERRUPTED: ["--pace", BATCH]}.get(steps, ["--steps", steps])
            told, ids = self.run_ranks(servers, world_size, *args, *cursor, *bound,
                                       interrupted=steps == INTERRUPTED)
            for rank in told:
                self.assertEqual(rank["cursor"], told[0]["cursor"])
                self.assertEqual(rank["steps"], told[0]["steps"])
            merged += self.merge(ids, told[0]["steps"])
            phases_told.append(told)
            cursor = ["--cursor", told[0]["cursor"]]
        return merged, phases_told

    def check_against_local(self, phases_told):
        """Checks that each rank's bytes are the same as when the rank decodes its phase itself."""
        phases = [(len(told), told[0]["steps"]) for told in phases_told]
        _, local = self.read_in_phases("local:", phases, "--threads", 1)
        for phase, told, its_local in zip(phases, phases_told, local):
            for key in ("digest", "cursor"):
                self.assertEqual([rank[key] for rank in told], [rank[key] for rank in its_local],
                                 phase)

    def test_other_numbers_of_ranks_read_what_one_reads(self):
        servers = ",".join(self.start_server("--threads", 1).address for _ in range(2))
        # 20,000 rows are 80 steps of two epochs; the third phase crosses the epochs' boundary.
        ids, told = self.read_in_phases(servers, [(8, 23), (1, INTERRUPTED), (6, 30), (12, 0)])
        one_ids, one_told = self.read_in_phases(servers, [(1, 0)])
        self.assertEqual(ids, one_ids)
        self.check_against_local(told)
        self.check_against_local(one_told)

    def test_rows_that_fill_no_step_go_to_whoever_is_there_next(self):
        carry = ("--remainder", "carry", "--split", "train")
        server = self.start_server().address
        one, _ = self.read_in_phases(server, [(1, 60)], *carry)
        ids, _ = self.read_in_phases(server, [(5, 37), (2, 1), (9, 22)], *carry)
        self.assertEqual(ids, one)
        self.assertEqual(len(one), 60 * BATCH)


if __name__ == "__main__":
    unittest.main(verbosity=2)
