"""A training that changes its number of ranks reads what one rank reads: every record once, in order."""

import json
import unittest

from processes import TIMEOUT_S, ProcessTestCase

BATCH = 250  # No multiple of the ranks below.


class ElasticTest(ProcessTestCase):
    def run_ranks(self, servers, world_size, *args, epochs=2):
        """Reads with so many ranks at once; [(what it told, its ids by step)] of each rank."""
        ids = [self.folder / f"ids{rank}" for rank in range(world_size)]
        ranks = [self.spawn("penstock", *self.stream_args(
            servers, "--global-batch-size", BATCH, "--rank", rank, "--world-size", world_size,
            "--ids", ids[rank], *args, epochs=epochs)) for rank in range(world_size)]
        told = []
        for child in ranks:
            out, err = child.communicate(timeout=TIMEOUT_S)
            self.assertEqual(child.returncode, 0, err)
            told.append(json.loads(out))
        return told, [path.read_text().splitlines() for path in ids]

    def merge(self, ids, steps):
        """The global batches that the ranks' rows make up: rank r has rows [rB/R, (r+1)B/R)."""
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
        """`phases`: (world size, steps; 0: to the end). The ids of all of them, in order."""
        merged, cursor = [], []
        for world_size, steps in phases:
            told, ids = self.run_ranks(servers, world_size, *args, *cursor,
                                       *(["--steps", steps] if steps else []))
            for rank in told:
                self.assertEqual(rank["cursor"], told[0]["cursor"])
                self.assertEqual(rank["steps"], told[0]["steps"])
            merged += self.merge(ids, told[0]["steps"])
            cursor = ["--cursor", told[0]["cursor"]]
        return merged

    def test_eight_ranks_then_six_then_twelve_read_what_one_reads(self):
        servers = ",".join(self.start_server("--threads", 1).address for _ in range(2))
        # 20,000 rows in 80 steps of two epochs, which the second phase crosses.
        self.assertEqual(self.read_in_phases(servers, [(8, 23), (6, 30), (12, 0)]),
                         self.read_in_phases(servers, [(1, 0)]))

    def test_rows_that_fill_no_step_go_to_whoever_is_there_next(self):
        carry = ("--remainder", "carry", "--split", "train")
        server = self.start_server().address
        one = self.read_in_phases(server, [(1, 60)], *carry)
        self.assertEqual(self.read_in_phases(server, [(5, 37), (2, 1), (9, 22)], *carry), one)
        self.assertEqual(len(one), 60 * BATCH)


if __name__ == "__main__":
    unittest.main(verbosity=2)
