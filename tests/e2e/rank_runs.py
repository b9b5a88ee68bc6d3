"""Runs several processes of penstock-train as the ranks of one training."""

import os
import struct
import subprocess

from processes import ProcessTestCase
from servers import BIN, TIMEOUT_S, die_with_parent, wait_until
from training import BATCH, HOLDOUT


def numbers(checkpoint):
    """Returns the parameters and moments of a checkpoint file, as bytes."""
    data = checkpoint.read_bytes()
    magic, _, json_size, data_size = struct.unpack_from("<8sIIQ", data)
    assert magic == b"PSTRAIN\n"
    begin = 24 + json_size
    return data[begin:begin + data_size]


def newest(folder):
    """Returns the newest checkpoint of a folder; there must be one."""
    return sorted(folder.glob("step-*.ckpt"))[-1]


class Rank:
    """A started process. Its output goes to files, so that no rank blocks another."""

    def __init__(self, command, folder, name, env=None):
        self.paths = [folder / f"{name}.out", folder / f"{name}.err"]
        with open(self.paths[0], "w") as out, open(self.paths[1], "w") as err:
            self.process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=err,
                                            env=env, preexec_fn=die_with_parent)

    def wait(self):
        """Returns the exit code."""
        return self.process.wait(TIMEOUT_S)

    @property
    def out(self):
        return self.paths[0].read_text()

    @property
    def err(self):
        return self.paths[1].read_text()


class RanksTestCase(ProcessTestCase):
    holdout = HOLDOUT
    STEPS = 12

    def setUp(self):
        super().setUp()
        self._started = 0

    def train_args(self, *args, steps=None, servers="local:", manifest=None):
        return ["--manifest", manifest or self.manifest, "--servers", servers, "--device", "cpu",
                "--model", "tiny",
                "--global-batch-size", BATCH, "--seed", 3, "--clip-norm", 0.5, "--threads", 1,
                "--steps", steps or self.STEPS, *args]

    def start_rank(self, command, env=None):
        self._started += 1
        rank = Rank(command, self.folder, f"process{self._started}", env)
        self.addCleanup(self._end_rank, rank)
        return rank

    @staticmethod
    def _end_rank(rank):
        if rank.process.poll() is None:
            rank.process.kill()
        rank.process.wait()

    def start_ranks(self, world_size, *args, rendezvous=None, own=lambda rank: [],
                    manifest=lambda rank: None, **options):
        """Starts the ranks. `own(rank)` returns further options of one rank, and `manifest(rank)`
        its own manifest."""
        rendezvous = rendezvous or f"unix-abstract:penstock-e2e-{os.getpid()}-{self._started}"
        return [self.start_rank([BIN / "penstock-train", *self.train_args(
                                     *args, manifest=manifest(rank), **options),
                                 "--rank", rank, "--world-size", world_size,
                                 "--rendezvous", rendezvous, *own(rank)])
                for rank in range(world_size)]

    def end_well(self, ranks):
        for number, rank in enumerate(ranks):
            self.assertEqual(rank.wait(), 0, f"rank {number}: {rank.out}\n{rank.err}")

    def newest(self, folder):
        return newest(self.folder / folder)

    def wait_for_steps(self, events, count, ranks):
        def done():
            for rank in ranks:
                self.assertIsNone(rank.process.poll(), f"ended too early: {rank.out}\n{rank.err}")
            return events.exists() and events.read_text().count('"step","step"') >= count
        wait_until(done, f"{count} steps")
