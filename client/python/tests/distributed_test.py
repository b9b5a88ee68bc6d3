"""Tests penstock.distributed with two ranks, started by `penstock launch` and by torchrun.

With --ranks this file is the program of each rank.
"""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import penstock
from penstock._programs import program

TIMEOUT_S = 300
PACKAGE = str(pathlib.Path(penstock.__file__).resolve().parents[1])
HAS_TORCH = importlib.util.find_spec("torch") is not None


class RankChecks(unittest.TestCase):
    """Checks of each rank; both ranks run the same checks in the same order."""

    def setUp(self):
        self.me = hvd.rank()

    def test_numbers_of_ranks(self):
        self.assertEqual((hvd.size(), hvd.local_size()), (2, 2))
        self.assertEqual(hvd.local_rank(), self.me)
        self.assertEqual((hvd.cross_rank(), hvd.cross_size()), (0, 1))
        self.assertEqual(sorted(hvd.allgather_object(self.me)), [0, 1])
        self.assertEqual(str(self.me), os.environ["RANK"])

    def test_allreduce(self):
        x = torch.tensor([1.0, 2.0]) * (self.me + 1)
        for options, expected in (({}, [1.5, 3]), ({"op": hvd.Average}, [1.5, 3]),
                                  ({"op": hvd.Sum}, [3, 6]), ({"average": False}, [3, 6]),
                                  ({"op": hvd.Max}, [2, 4]), ({"op": hvd.Min}, [1, 2]),
                                  ({"op": hvd.Product}, [2, 8]),
                                  ({"name": "x", "compression": hvd.Compression.fp16}, [1.5, 3])):
            result = hvd.allreduce(x, **options)
            self.assertEqual(result.tolist(), expected, options)
            self.assertEqual(result.dtype, x.dtype)
        self.assertEqual(x.tolist(), [1 + self.me, 2 + 2 * self.me])
        integers = torch.tensor([-3, 3]) * (self.me + 1)  # The sums are -9 and 9.
        self.assertEqual(hvd.allreduce(integers).tolist(), [-4, 4])
        self.assertEqual([t.item() for t in hvd.grouped_allreduce([x[0], x[1]])], [1.5, 3])
        self.assertEqual(hvd.allreduce(x.requires_grad_()[::2]).tolist(), [1.5])
        self.assertIs(hvd.allreduce_(x, op=hvd.Sum), x)
        self.assertEqual(x.tolist(), [3, 6])
        with self.assertRaisesRegex(ValueError, "not both"):
            hvd.allreduce(x, average=True, op=hvd.Sum)

    def test_allgather_of_unequal_parts(self):
        x = torch.full((self.me + 1, 2), float(self.me))
        self.assertEqual(hvd.allgather(x).tolist(), [[0, 0], [1, 1], [1, 1]])
        self.assertEqual(hvd.allgather(torch.tensor(self.me)).tolist(), [0, 1])
        self.assertEqual(hvd.allgather(torch.ones(self.me, dtype=torch.int64)).tolist(), [1])
        with self.assertRaisesRegex(ValueError, "do not fit"):
            hvd.allgather(torch.zeros(2, 1 + self.me))

    def test_broadcast(self):
        x = torch.tensor([float(self.me)])
        self.assertEqual(hvd.broadcast(x, root_rank=1).item(), 1)
        self.assertEqual(x.item(), self.me)
        hvd.broadcast_(x, root_rank=1)
        self.assertEqual(x.item(), 1)
        told = hvd.broadcast_object({"epoch": 3} if self.me == 1 else None, root_rank=1)
        self.assertEqual(told, {"epoch": 3})

    def model(self):
        """Returns a model with different weights on each rank."""
        torch.manual_seed(self.me)
        return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4),
                                   torch.nn.Linear(4, 1))

    def assert_equal_on_all(self, tensors):
        for tensor in tensors:
            parts = hvd.allgather_object(tensor.detach())
            self.assertTrue(torch.equal(*parts))

    def test_broadcast_parameters(self):
        for parameters in (lambda m: m.state_dict(), lambda m: m.named_parameters()):
            model = self.model()
            first = hvd.allgather_object(model[0].weight.detach())
            self.assertFalse(torch.equal(*first))
            hvd.broadcast_parameters(parameters(model), root_rank=1)
            self.assert_equal_on_all(model.state_dict().values())
            self.assertTrue(torch.equal(model[0].weight, first[1]))

    def test_broadcast_optimizer_state(self):
        model = self.model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1 * (self.me + 1))
        if self.me == 0:  # The other rank has no state yet, as if only one rank read a checkpoint.
            model(torch.randn(5, 3)).sum().backward()
            optimizer.step()
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        self.assertEqual(optimizer.param_groups[0]["lr"], 0.1)
        states = list(optimizer.state.values())
        self.assertEqual(len(states), 6)
        self.assert_equal_on_all(state["exp_avg"] for state in states)
        self.assert_equal_on_all(state["step"] for state in states)

    def train(self, distributed, rows, passes=1, prepare=None):
        """Returns the weights after three steps on this rank's rows."""
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        if distributed:
            optimizer = hvd.DistributedOptimizer(
                optimizer, named_parameters=model.named_parameters(),
                compression=hvd.Compression.none, backward_passes_per_step=passes)
        for _ in range(3):
            optimizer.zero_grad()
            for part in rows.split(len(rows) // passes):
                (model(part) ** 2).mean().backward()
            if prepare is not None:
                prepare(optimizer, model)
            else:
                optimizer.step()
            scheduler.step()
        return torch.cat([p.detach().reshape(-1) for p in model.parameters()])

    def test_distributed_optimizer_is_one_rank_with_all_rows(self):
        rows = torch.randn(8, 3, generator=torch.Generator().manual_seed(5))
        mine = rows[4 * self.me:4 * self.me + 4]
        alone = self.train(False, rows)
        self.assertFalse(torch.allclose(self.train(False, mine), alone, atol=1e-4))
        torch.testing.assert_close(self.train(True, mine), alone)
        torch.testing.assert_close(self.train(True, mine, passes=2), alone)

        def clipped(optimizer, model):
            optimizer.synchronize()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)
            with optimizer.skip_synchronize():
                optimizer.step()

        torch.testing.assert_close(self.train(True, mine, prepare=clipped), alone)

    def test_distributed_optimizer_keeps_its_class_and_hooks(self):
        model = self.model()
        calls = []
        inner = torch.optim.AdamW(model.parameters(), lr=0.1)
        inner.register_step_pre_hook(lambda *_: calls.append("hook"))
        optimizer = hvd.DistributedOptimizer(inner, compression=hvd.Compression.fp16)
        self.assertIsInstance(optimizer, torch.optim.AdamW)
        if self.me == 0:  # The other rank's gradients are None.
            model(torch.randn(5, 3)).sum().backward()
        before = [p.detach().clone() for p in model.parameters()]
        optimizer.step()
        self.assertEqual(calls, ["hook"])
        self.assert_equal_on_all(p.grad for p in model.parameters())
        self.assertFalse(torch.equal(before[0], next(model.parameters())))
        self.assertEqual(len(optimizer.state_dict()["state"]), 6)

    def test_distributed_optimizer_refuses_what_it_cannot_do(self):
        optimizer = torch.optim.SGD(self.model().parameters(), lr=1)
        with self.assertRaisesRegex(ValueError, "'a' twice"):
            hvd.DistributedOptimizer(optimizer, [("a", None), ("b", None), ("a", None)])
        with self.assertRaisesRegex(ValueError, "Average or Sum"):
            hvd.DistributedOptimizer(optimizer, op=hvd.Max)
        with self.assertRaisesRegex(ValueError, "closure"):
            hvd.DistributedOptimizer(optimizer).step(lambda: 0.0)
        with self.assertRaisesRegex(NotImplementedError, "remove the call"):
            hvd.join()

    def test_large_gradients_travel_in_buckets(self):
        big = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(4 << 20)) for _ in range(3)])
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(big.parameters(), lr=1.0))
        for number, parameter in enumerate(big):
            parameter.grad = torch.full_like(parameter, float(number + self.me))
        optimizer.step()
        self.assertEqual([p[-1].item() for p in big], [-0.5, -1.5, -2.5])


@unittest.skipUnless(HAS_TORCH, "torch is not installed")
class DistributedTest(unittest.TestCase):
    def run_ranks(self, *command, **variables):
        environment = {**os.environ, "PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1", **variables}
        result = subprocess.run([*command, __file__, "--ranks"], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S,
                                env=environment, check=False)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(result.stdout.count("all checks of this rank passed"), 2, result.stdout)

    def test_two_ranks_of_penstock_launch(self):
        self.run_ranks(program("penstock"), "launch", "-np", "2", "-H", "localhost:2",
                       sys.executable)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_two_ranks_of_penstock_launch_by_mpirun(self):
        self.run_ranks(program("penstock"), "launch", "--mpi", "-np", "2", "-H", "localhost:2",
                       "-x", "PYTHONPATH", "-x", "OMP_NUM_THREADS", sys.executable)

    def test_two_ranks_of_torchrun(self):
        self.run_ranks(sys.executable, "-m", "torch.distributed.run", "--standalone",
                       "--nproc-per-node", "2")

    def test_one_process_is_one_rank(self):
        code = ("import torch, penstock.distributed as hvd\n"
                "try: hvd.rank()\n"
                "except ValueError as error: print(error)\n"
                "hvd.init(); hvd.init()\n"
                "print(hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size())\n"
                "print(hvd.allreduce(torch.tensor(3.0)).item(), hvd.broadcast_object('x'))\n"
                "hvd.shutdown(); print(hvd.is_initialized())\n")
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
        result = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=False,
                                env={**environment, "PYTHONPATH": PACKAGE})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines(), [
            "penstock.distributed is not initialised: call init() first", "0 1 0 1", "3.0 x",
            "False"])

    def test_ranks_without_an_address_are_told_so(self):
        code = "import penstock.distributed as hvd; hvd.init()"
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("MASTER_ADDR", "MASTER_PORT", "PENSTOCK_RENDEZVOUS")}
        result = subprocess.run(
            [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S,
            check=False, env={**environment, "PYTHONPATH": PACKAGE, "OMPI_COMM_WORLD_RANK": "0",
                              "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"})
        self.assertIn("RuntimeError: several ranks need a rendezvous address", result.stderr)


class WithoutTorchTest(unittest.TestCase):
    def test_torch_is_imported_only_when_asked_for(self):
        code = "import sys, penstock; print(sorted({'torch', 'jax'} & set(sys.modules)))"
        result = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                                env={**os.environ, "PYTHONPATH": PACKAGE}, check=True)
        self.assertEqual(result.stdout, "[]\n")


if sys.argv[1:] != ["--ranks"]:
    del RankChecks  # They are only for ranks.


def run_rank():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(RankChecks)
    hvd.init()
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    hvd.barrier()
    hvd.shutdown()
    if not result.wasSuccessful():
        sys.exit(1)
    print("all checks of this rank passed")


if __name__ == "__main__":
    if sys.argv[1:] == ["--ranks"]:
        import torch

        import penstock.distributed as hvd
        run_rank()
    else:
        unittest.main(verbosity=2)
