"""Tests several ranks as real processes: the same bits at any world size, and what ends them."""

import errno
import os
import re
import shutil
import signal
import time
import unittest

from processes import run
from rank_runs import BIN, RanksTestCase, numbers
from servers import REPOSITORY, has_signal, wait_until, wait_until_handled

# Seconds within which a killed rank ends the others; docs/guides/ranks_ending.md promises 10, on a
# machine without load.
END_S = 60
CHESS_SPEC = REPOSITORY / "records" / "decode" / "specs" / "chess.textproto"


def open_read_pipe(path, rank):
    """Returns a descriptor for writing to the pipe, once `rank` reads it; None before that."""
    assert rank.process.poll() is None, rank.err
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None


class RanksTest(RanksTestCase):
    def setUp(self):
        super().setUp()
        self._pipes = 0

    def one_rank(self, steps):
        """Returns the last checkpoint of a training with one rank, against local:."""
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
            # The training is endless, so that no rank is done before one is killed.
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

    def test_sigterm_while_an_evaluation_waits_for_its_server_saves_and_ends_all_well(self):
        """The training has all its batches by the eighth step, and the held-out records never
        come."""
        server = self.start_server()
        folder, events = self.folder / "parts", self.folder / "events.jsonl"
        ranks = self.start_ranks(2, "--checkpoint-dir", folder, "--events", events, "--eval-every",
                                 20, "--server-timeout", "10m", steps=40, servers=server.address)
        self.wait_for_steps(events, 8, ranks)
        server.stop()
        self.wait_for_steps(events, 20, ranks)
        for rank in ranks:
            rank.process.send_signal(signal.SIGTERM)
        self.end_well(ranks)
        self.assertIn("stopped after step", ranks[0].out)
        self.assertGreaterEqual(int(self.newest(folder).stem.split("-")[1]), 20)

    def test_sigterm_on_all_ranks_before_the_first_step_is_a_stop_of_all(self):
        """Rank 0 asks for the data at a server that does not answer."""
        server = self.start_server()
        server.stop()
        ranks = self.start_ranks(2, "--server-timeout", "1h", "--stopped-exit-code", 75,
                                 servers=server.address, manifest=lambda rank: "server:manifest.pb")
        for rank in ranks:
            wait_until_handled(rank.process, signal.SIGTERM)
        for rank in ranks:
            rank.process.send_signal(signal.SIGTERM)
        for number, rank in enumerate(ranks):
            self.assertEqual(rank.wait(), 75, rank.err)
            self.assertIn(f"rank {number}: interrupted before the first step", rank.err)

    def start_with_pipe(self, reader, *args):
        """Starts ranks of which one reads its spec from a pipe. Returns them when all have met,
        with a function that writes the spec. Until it is called, the ranks can do nothing."""
        self._pipes += 1
        path = self.folder / f"spec-{self._pipes}"
        os.mkfifo(path)
        ranks = self.start_ranks(2, "--stopped-exit-code", 75, *args,
                                 own=lambda rank: ["--spec", path] if rank == reader else [])
        pipe = wait_until(lambda: open_read_pipe(path, ranks[reader]), "a rank to read its spec")

        def go_on():
            with open(pipe, "wb") as file:
                file.write(CHESS_SPEC.read_bytes())

        return ranks, go_on

    def test_sigterm_on_one_rank_before_the_first_step_is_a_stop_of_all(self):
        for stopped, other in ((0, 1), (1, 0)):
            ranks, go_on = self.start_with_pipe(reader=other)
            ranks[stopped].process.send_signal(signal.SIGTERM)
            self.assertEqual(ranks[stopped].wait(), 75, ranks[stopped].err)
            go_on()
            self.assertEqual(ranks[other].wait(), 75, ranks[other].err)
            self.assertRegex(ranks[other].err, rf"rank {other}: interrupted before the first step: "
                                               rf"rank {stopped} \(pid .*\) was interrupted")

    def test_a_stopped_rank_is_stopped_though_another_dies_before_the_first_step(self):
        """Kills a rank as if no launcher waited for it."""
        ranks, go_on = self.start_with_pipe(reader=1)
        ranks[1].process.send_signal(signal.SIGTERM)
        wait_until(lambda: not has_signal(ranks[1].process, "ShdPnd", signal.SIGTERM), "the signal")
        ranks[0].process.kill()
        ranks[0].wait()
        go_on()
        self.assertEqual(ranks[1].wait(), 75, ranks[1].err)
        self.assertIn("rank 1: interrupted before the first step", ranks[1].err)

    def test_a_rank_whose_data_does_not_open_is_named(self):
        says = r"rank %d: rank %d has not opened its data for \d+s or longer, and other ranks wait"
        for late, other in ((0, 1), (1, 0)):
            ranks, go_on = self.start_with_pipe(late, "--late-after", "1s")
            wait_until(lambda: len(re.findall(says % (other, late), ranks[other].err)) > 1,
                       "two lines about the rank that is waited for")
            go_on()
            self.end_well(ranks)

    def test_missing_ranks_are_named(self):
        result = run("penstock-train", *self.train_args(
            "--rank", 0, "--world-size", 4, "--rendezvous", "127.0.0.1:0",
            "--rendezvous-timeout", "5s"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("rank 0: ranks 1, 2, 3 of 4 did not join within 5s", result.stderr)

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
            self.assertIn("rank 1 has other data, or another order, than rank 0", rank.err)

    def test_ranks_that_do_not_divide_the_shards_are_a_usage_error(self):
        result = run("penstock-train", *self.train_args("--rank", 0, "--world-size", 3,
                                                        "--rendezvous", "127.0.0.1:1"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("the nearest are 2 ranks, or --virtual-shards 8 with 4 ranks", result.stderr)

    def test_one_shard_each_is_told_as_one(self):
        ranks = self.start_ranks(2, "--virtual-shards", 2, steps=1)
        self.end_well(ranks)
        self.assertIn("2 ranks (--rank), 1 virtual shard each, reduction", ranks[0].out)

    def test_fast_reduction_takes_any_number_of_ranks(self):
        folder = self.folder / "fast"
        ranks = self.start_ranks(3, "--reduction", "fast", "--compression", "bf16",
                                 "--checkpoint-dir", folder)
        self.end_well(ranks)
        self.assertIn("3 ranks (--rank), 3 virtual shards each, reduction fast bf16", ranks[0].out)
        result = run("penstock-train", *self.train_args("--checkpoint-dir", folder,
                                                        "--require-same-bits"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("--reduction was fast and is now deterministic", result.stderr)
        self.assertIn("--compression was bf16 and is now none", result.stderr)

    def test_ranks_of_torchrun(self):
        host, port = self.reserve_address().split(":")
        ranks = []
        for rank in range(2):
            env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank),
                   "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": host, "MASTER_PORT": port}
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
