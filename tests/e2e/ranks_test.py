"""Several ranks as real processes: the same bits at any world size, and what ends them."""

import os
import shutil
import signal
import time
import unittest

from processes import run
from rank_runs import BIN, RanksTestCase, free_port, numbers

# A rank that is killed ends the others within so many seconds.
END_S = 10


class RanksTest(RanksTestCase):
    def one_rank(self, steps):
        """The checkpoint that one rank alone ends with, against local:."""
        folder = self.folder / f"one-{steps}"
        self.check_run("penstock-train", *self.train_args("--checkpoint-dir", folder, steps=steps))
        return numbers(self.newest(folder))

    def test_any_world_size_gives_the_same_bits(self):
        servers = ",".join(self.start_server().address for _ in range(2))
        expected = self.one_rank(self.STEPS)
        losses = set()
        for world_size in (2, 4):
            folder = self.folder / f"of-{world_size}"
            ranks = self.start_ranks(world_size, "--checkpoint-dir", folder, servers=servers)
            self.end_well(ranks)
            self.assertEqual(numbers(self.newest(folder)), expected)
            self.assertEqual([rank.out for rank in ranks[1:]], [""] * (world_size - 1))
            self.assertIn(f"{world_size} ranks (--rank)", ranks[0].out)
            losses |= {line for line in ranks[0].out.splitlines() if "held-out loss" in line}
        self.assertEqual(len(losses), 1, losses)

    def assert_all_end_naming(self, ranks, killed):
        begin = time.monotonic()
        for number, rank in enumerate(ranks):
            if number == killed:
                continue
            self.assertEqual(rank.wait(), 1, rank.err)
            self.assertIn(f"rank {killed} ", rank.err)
            self.assertIn(f"rank {number}: ", rank.err)
        self.assertLess(time.monotonic() - begin, END_S)

    def test_a_killed_rank_ends_all_and_others_go_on(self):
        steps = 40
        servers = ",".join(self.start_server().address for _ in range(2))
        folder, events = self.folder / "parts", self.folder / "events.jsonl"
        args = ["--checkpoint-dir", folder, "--checkpoint-every", 4, "--events", events]
        for world_size, killed in ((4, 2), (2, 0)):
            events.unlink(missing_ok=True)
            # Without end, so that they are not done before one is killed.
            ranks = self.start_ranks(world_size, *args, steps=10**6,
                                     servers=servers)
            self.wait_for_steps(events, 6, ranks)
            ranks[killed].process.kill()
            self.assert_all_end_naming(ranks, killed)
        at = int(self.newest(folder).stem.split("-")[1])
        self.assertEqual(at % 4, 0)
        if at >= steps:
            steps = at + 4
        self.end_well(self.start_ranks(4, *args, steps=steps, servers=servers))
        self.assertEqual(numbers(self.newest(folder)), self.one_rank(steps))

    def test_sigterm_on_one_rank_saves_and_ends_all_well(self):
        folder, events = self.folder / "parts", self.folder / "events.jsonl"
        ranks = self.start_ranks(2, "--checkpoint-dir", folder, "--events", events, steps=10**6)
        self.wait_for_steps(events, 3, ranks)
        ranks[1].process.send_signal(signal.SIGTERM)
        self.end_well(ranks)
        self.assertIn("stopped after step", ranks[0].out)
        at = int(self.newest(folder).stem.split("-")[1])
        self.assertEqual(numbers(self.newest(folder)), self.one_rank(at))

    def test_missing_ranks_are_named(self):
        result = run("penstock-train", *self.train_args(
            "--rank", 0, "--world-size", 4, "--rendezvous", "127.0.0.1:0",
            "--rendezvous-timeout", "1s"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("rank 0: ranks 1, 2, 3 of 4 did not join within 1s", result.stderr)

    def test_what_differs_between_ranks_is_named(self):
        ranks = self.start_ranks(2, own=lambda rank: ["--lr", 0.01 * (rank + 1)])
        for rank in ranks:
            self.assertEqual(rank.wait(), 1)
            self.assertIn("--lr is 0.01 on rank 0 and 0.02 on rank 1", rank.err)

    def test_other_data_is_named(self):
        other = self.folder / "other"
        shutil.copytree(self.data, other)
        sorted(other.glob("*tfrecord*"))[0].unlink()
        (other / "manifest.pb").unlink()
        self.check_run("penstock", "index", other, "--holdout", "5%", "-o", other / "manifest.pb")
        ranks = self.start_ranks(2, manifest=lambda rank: other / "manifest.pb" if rank else None)
        for rank in ranks:
            self.assertEqual(rank.wait(), 1)
            self.assertIn("the data and its order is ", rank.err)

    def test_ranks_that_do_not_divide_the_shards_are_a_usage_error(self):
        result = run("penstock-train", *self.train_args("--rank", 0, "--world-size", 3,
                                                        "--rendezvous", "127.0.0.1:1"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("the nearest are 2 ranks, or --virtual-shards 8 with 4 ranks", result.stderr)

    def test_fast_reduction_takes_any_number_of_ranks(self):
        folder = self.folder / "fast"
        ranks = self.start_ranks(3, "--reduction", "fast", "--compression", "bf16",
                                 "--checkpoint-dir", folder)
        self.end_well(ranks)
        self.assertIn("3 ranks (--rank), 3 virtual shards each, reduction fast bf16", ranks[0].out)
        result = run("penstock-train", *self.train_args("--checkpoint-dir", folder,
                                                        "--require-same-bits"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("the reduction was fast bf16, is deterministic", result.stderr)

    def test_ranks_of_torchrun(self):
        port = free_port()
        ranks = []
        for rank in range(2):
            env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank),
                   "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            ranks.append(self.start_rank([BIN / "penstock-train", *self.train_args()], env))
        self.end_well(ranks)
        self.assertIn("2 ranks (torchrun)", ranks[0].out)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_ranks_of_open_mpi(self):
        rank = self.start_rank(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", 2,
                                BIN / "penstock-train", *self.train_args()])
        self.end_well([rank])
        self.assertIn("2 ranks (Open MPI)", rank.out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
