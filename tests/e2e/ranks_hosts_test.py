"""Tests --shard-by local-rank, with hosts that each have their own data. Here hosts are folders of
one machine."""

import re
import shutil
import unittest

from processes import run
from rank_runs import RanksTestCase, numbers


class RanksHostsTest(RanksTestCase):
    def setUp(self):
        super().setUp()
        self.hosts = [self.make_host(0), self.make_host(1)]

    def make_host(self, host):
        """Copies every other shard; host 1 gets one shard less, so that it has fewer records."""
        folder = self.folder / f"host{host}"
        folder.mkdir()
        for shard in sorted(self.data.glob("*.tfrecord*"))[host::2][host:]:
            shutil.copy(shard, folder)
        self.check_run("penstock", "index", folder, "--holdout", "5%", "-o", folder / "manifest.pb")
        return folder / "manifest.pb"

    def start_hosts(self, local_size, *args, **options):
        """Starts the ranks of two hosts."""
        return self.start_ranks(
            2 * local_size, "--shard-by", "local-rank", *args,
            own=lambda rank: ["--local-rank", rank % local_size, "--local-size", local_size],
            manifest=lambda rank: self.hosts[rank // local_size], **options)

    def test_ranks_of_a_host_share_its_data_and_change_no_bit(self):
        states = []
        for local_size in (1, 2):
            folder = self.folder / f"of-{local_size}"
            ranks = self.start_hosts(local_size, "--checkpoint-dir", folder)
            self.end_well(ranks)
            self.assertIn("each host trains on its own data", ranks[0].out)
            states.append(numbers(self.newest(folder)))
            held_out = sum(self.held_out(manifest) for manifest in self.hosts)
            self.assertIn(f" over {held_out} records", ranks[0].out)
        self.assertEqual(*states)

    def held_out(self, manifest):
        text = self.check_run("penstock", "inspect", manifest).stdout
        return int(re.search(r"holdout +(\d+) records", text).group(1))

    def test_each_host_goes_on_where_it_was(self):
        whole, parts = self.folder / "whole", self.folder / "parts"
        self.end_well(self.start_hosts(1, "--checkpoint-dir", whole, steps=30))
        for steps, local_size in ((17, 2), (30, 1)):
            self.end_well(self.start_hosts(local_size, "--checkpoint-dir", parts, steps=steps))
        self.assertEqual(numbers(self.newest(parts)), numbers(self.newest(whole)))
        alone = run("penstock-train", *self.train_args("--checkpoint-dir", parts, steps=40,
                                                       manifest=self.hosts[0]))
        self.assertEqual(alone.returncode, 1)
        self.assertIn("written by 2 hosts", alone.stderr)

    def test_what_does_not_fit_is_named(self):
        for ranks, says in [
                (self.start_hosts(1, "--epochs", 1, steps=10**6), "give --steps"),
                (self.start_ranks(2, "--shard-by", "local-rank",
                                  manifest=lambda rank: self.hosts[rank]),
                 "than rank 0, which is on the same host"),
                (self.start_ranks(4, "--shard-by", "local-rank",
                                  own=lambda rank: ["--local-rank", int(rank == 3), "--local-size",
                                                    2]),
                 "3 have local rank 0")]:
            for rank in ranks:
                self.assertEqual(rank.wait(), 1, rank.err)
                self.assertIn(says, rank.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
