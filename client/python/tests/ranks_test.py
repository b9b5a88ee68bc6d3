"""Tests how a process finds its rank: from arguments, torch.distributed, or its launcher's
variables."""

import json
import sys
import types
import unittest
from unittest import mock

from penstock import InvalidArgumentError
from penstock._ranks import Ranks, check_torch_ranks, find_ranks, tasks_of_node

TORCHRUN = {"RANK": "5", "WORLD_SIZE": "6", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "3"}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}
SLURM = {
    "SLURM_PROCID": "6",
    "SLURM_STEP_NUM_TASKS": "7",
    "SLURM_STEP_TASKS_PER_NODE": "3(x2),1",
    "SLURM_NODEID": "2",
}
HOROVOD = {"HOROVOD_RANK": "1", "HOROVOD_SIZE": "2", "HOROVOD_LOCAL_SIZE": "2"}
PMI = {"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "1"}


def tf_config(kind, index):
    return {
        "TF_CONFIG": json.dumps({
            "cluster": {"chief": ["a:1"], "worker": ["a:2", "b:1"]},
            "task": {"type": kind, "index": index},
        })
    }


class LaunchersTest(unittest.TestCase):
    def find(self, environment, **given):
        return find_ranks(environment=environment, **given)

    def test_without_a_launcher_there_is_one_rank(self):
        self.assertEqual(self.find({}), Ranks(0, 1, 1, "one process"))

    def test_reads_the_variables_of_each_launcher(self):
        for environment, expected in [
            (TORCHRUN, Ranks(5, 6, 3, "torchrun")),
            (OPEN_MPI, Ranks(1, 4, 2, "Open MPI")),
            (SLURM, Ranks(6, 7, 1, "Slurm")),
            (PMI, Ranks(0, 2, 1, "PMI")),
            (HOROVOD, Ranks(1, 2, 2, "Horovod")),
            (tf_config("worker", 0), Ranks(1, 3, 2, "TF_CONFIG")),
            (tf_config("chief", 0), Ranks(0, 3, 2, "TF_CONFIG")),
            (tf_config("worker", 1), Ranks(2, 3, 1, "TF_CONFIG")),
        ]:
            with self.subTest(expected.source):
                self.assertEqual(self.find(environment), expected)

    def test_the_first_complete_set_counts(self):
        self.assertEqual(self.find({**HOROVOD, **TORCHRUN}).source, "torchrun")
        self.assertEqual(self.find({"RANK": "5", **HOROVOD}).source, "Horovod")

    def test_operators_that_set_no_local_size_are_understood(self):
        ranks = self.find({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "worker-0"})
        self.assertEqual(ranks, Ranks(1, 2, 1, "torchrun"))
        ranks = self.find({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost"})
        self.assertEqual(ranks.local_size, 2)

    def test_a_batch_script_of_slurm_is_no_rank(self):
        environment = {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}
        self.assertEqual(self.find(environment).world_size, 1)

    def test_what_is_missing_is_named(self):
        with self.assertRaisesRegex(InvalidArgumentError, "RANK of torchrun but not WORLD_SIZE"):
            self.find({"RANK": "0"})

    def test_what_is_no_number_is_named(self):
        with self.assertRaisesRegex(InvalidArgumentError, "WORLD_SIZE=two is not a number"):
            self.find({**TORCHRUN, "WORLD_SIZE": "two"})
        with self.assertRaisesRegex(InvalidArgumentError, "TF_CONFIG"):
            self.find({"TF_CONFIG": "{"})

    def test_a_rank_beyond_the_world_is_refused(self):
        with self.assertRaisesRegex(InvalidArgumentError, "rank 6 of 6 ranks"):
            self.find({**TORCHRUN, "RANK": "6"})

    def test_a_parameter_server_is_no_rank(self):
        with self.assertRaisesRegex(InvalidArgumentError, "not among the chief and workers"):
            self.find(tf_config("ps", 0))

    def test_tasks_of_a_node_of_slurm(self):
        self.assertEqual([tasks_of_node("4(x2),3", node) for node in range(4)], [4, 4, 3, 0])


class GivenTest(unittest.TestCase):
    def test_what_you_give_counts_more_than_the_launcher(self):
        self.assertEqual(find_ranks(1, 6, TORCHRUN), Ranks(1, 6, 3, "rank"))

    def test_the_local_size_of_another_world_does_not_count(self):
        self.assertEqual(find_ranks(1, 2, TORCHRUN).local_size, 1)

    def test_one_number_without_the_other_is_refused(self):
        with self.assertRaisesRegex(InvalidArgumentError, "belong together"):
            find_ranks(1, None, TORCHRUN)


class TorchDistributedTest(unittest.TestCase):
    """Uses a torch that has only the four functions that are called."""

    def import_torch(self, initialized):
        distributed = types.SimpleNamespace(
            is_available=lambda: True,
            is_initialized=lambda: initialized,
            get_rank=lambda: 3,
            get_world_size=lambda: 4,
        )
        torch = types.ModuleType("torch")
        torch.distributed = distributed
        patch = mock.patch.dict(sys.modules, {"torch": torch})
        patch.start()
        self.addCleanup(patch.stop)

    def test_counts_more_than_the_launcher_where_it_is_initialised(self):
        self.import_torch(initialized=True)
        self.assertEqual(find_ranks(environment=HOROVOD), Ranks(3, 4, 1, "torch.distributed"))

    def test_ranks_that_meet_on_this_machine_share_it(self):
        self.import_torch(initialized=True)
        ranks = find_ranks(environment={"MASTER_ADDR": "127.0.0.1"})
        self.assertEqual(ranks.local_size, 4)

    def test_ranks_from_before_it_was_initialised_are_refused_if_they_differ(self):
        self.import_torch(initialized=True)
        for source in ("one process", "torchrun"):
            with self.assertRaisesRegex(RuntimeError, f"rank 0 of 1 .{source}.*now .*rank 3 of 4"):
                check_torch_ranks(Ranks(0, 1, 1, source))
            with self.assertRaisesRegex(RuntimeError, "rank 2 of 4"):
                check_torch_ranks(Ranks(2, 4, 1, source))
        check_torch_ranks(Ranks(3, 4, 1, "torchrun"))
        check_torch_ranks(find_ranks(0, 1, {}))  # For an evaluation on one rank, say.

    def test_is_not_asked_before(self):
        self.import_torch(initialized=False)
        check_torch_ranks(Ranks(0, 1, 1, "one process"))
        self.assertEqual(find_ranks(environment=HOROVOD).source, "Horovod")


if __name__ == "__main__":
    unittest.main()
