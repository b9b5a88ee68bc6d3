"""Tests Penstock with PyTorch's DataLoader, torchdata, accelerate, transformers, Lightning, Ray
Train, JAX, TensorFlow.

With --ranks FRAMEWORK FOLDER this file is the program of each of two ranks.
"""

import gc
import importlib.util
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import penstock
from penstock._programs import program

TIMEOUT_S = 300
PACKAGE = pathlib.Path(penstock.__file__).resolve().parents[1]
EXAMPLES = PACKAGE / "examples"
SAMPLE = PACKAGE.parents[1] / "sample"
RECORDS, BATCH = 1000, 40  # 25 steps.
LOADER = {"global_batch_size": BATCH, "seed": 3, "record_ids": True, "output": "torch"}
# Every rank is a process of torch. More threads than cores would slow the tests down.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE), "OMP_NUM_THREADS": "1",
               "HF_HUB_OFFLINE": "1"}


def needs(*modules):
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"{', '.join(missing)} not installed")


def pack(folder):
    """Packs records that contain their own number."""
    penstock.pack(({"i": i, "x": np.arange(i, i + 4, dtype=np.float32)} for i in range(RECORDS)),
                  folder, records_per_shard=300)
    penstock.index(folder)


def ids_of(loader):
    return [batch.record_ids.tolist() for batch in loader]


class FrameworkTestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-frameworks-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.data = cls.folder / "data"
        pack(cls.data)

    def loader(self, **options):
        loader = penstock.Loader(self.data, **{**LOADER, **options})
        self.addCleanup(loader.close)
        return loader

    def loader_of_few_slots(self):
        """Returns a loader with more batches than slots, so slots must be filled again."""
        loader = self.loader(output="numpy", look_ahead="64KiB")
        self.assertLess(loader.stats()["slots"], RECORDS // BATCH)
        return loader

    def run_command(self, *command, **variables):
        result = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S, check=False,
                                cwd=self.folder, env={**ENVIRONMENT, **variables})
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout


@needs("torch")
class DataLoaderTest(FrameworkTestCase):
    def setUp(self):
        import penstock.torch
        self.dataset = penstock.torch.IterableDataset(self.data, **LOADER)
        self.addCleanup(self.dataset.close)
        self.expected = [ids_of(loader) for loader in [self.loader()] for _ in range(2)]

    def data_loader(self, **options):
        import torch.utils.data
        return torch.utils.data.DataLoader(self.dataset, batch_size=None, **options)

    def test_a_pass_is_an_epoch_and_batches_stay_batches(self):
        import torch
        data_loader = self.data_loader(num_workers=0)
        self.assertEqual(len(data_loader), RECORDS // BATCH)
        for epoch in range(2):
            batches = []
            for batch in data_loader:
                self.assertIsInstance(batch, penstock.Batch)
                self.assertEqual(batch.epoch, epoch)
                self.assertIsInstance(batch["x"], torch.Tensor)
                self.assertEqual(batch["i"].tolist(), batch.record_ids.tolist())
                batches.append(batch.record_ids.tolist())
            self.assertEqual(batches, self.expected[epoch])

    def test_worker_processes_are_refused_with_advice(self):
        for context in ("fork", "spawn"):
            with self.assertRaisesRegex(RuntimeError, r"(?s)batch_size=None, num_workers=0\)"):
                list(self.data_loader(num_workers=1, multiprocessing_context=context))
        with self.assertRaisesRegex(RuntimeError, "num_workers=0"):
            pickle.dumps(self.dataset)
        self.assertEqual(ids_of(self.data_loader()), self.expected[0])

    def test_stacking_batches_is_refused_with_advice(self):
        import torch.utils.data
        for options in ({}, {"batch_size": 32}):
            with self.assertRaisesRegex(RuntimeError, "would stack whole batches.*batch_size=None"):
                next(iter(torch.utils.data.DataLoader(self.dataset, **options)))
        self.assertEqual(ids_of(self.data_loader()), self.expected[0])

    def test_a_loader_instead_of_a_dataset_is_refused_with_advice(self):
        import torch.utils.data
        from torch.utils.data.distributed import DistributedSampler
        loader = self.loader()
        for source in (loader, loader.map(lambda batch, rng: batch)):
            for sampler in (None, DistributedSampler(source, num_replicas=2, rank=0)):
                reader = torch.utils.data.DataLoader(source, batch_size=None, sampler=sampler)
                with self.assertRaisesRegex(TypeError, "for batch in loader"):
                    next(iter(reader))
        with self.assertRaisesRegex(ValueError, "sampler"):
            self.data_loader(sampler=DistributedSampler(loader, num_replicas=2, rank=0))

    def test_state_of_the_dataset_resumes_in_mid_epoch(self):
        iterator = iter(self.data_loader())
        read = [next(iterator).record_ids.tolist() for _ in range(7)]
        state = json.loads(json.dumps(self.dataset.state_dict()))
        for _ in range(3):
            next(iterator)
        self.dataset.load_state_dict(state)
        self.assertEqual(read + ids_of(self.data_loader()), self.expected[0])

    def test_a_loader_may_be_given(self):
        import penstock.torch
        dataset = penstock.torch.IterableDataset(self.loader())
        self.assertEqual(ids_of(dataset), self.expected[0])
        mapped = self.loader().map(lambda batch, rng: {"twice": 2 * batch["i"]})
        for batch, ids in zip(penstock.torch.IterableDataset(mapped), self.expected[0]):
            self.assertEqual(batch["twice"].tolist(), [2 * i for i in ids])
        with self.assertRaisesRegex(TypeError, "options to the Loader"):
            penstock.torch.IterableDataset(self.loader(), seed=1)

    @needs("torchdata")
    def test_stateful_data_loader_resumes_in_mid_epoch(self):
        import penstock.torch
        from torchdata.stateful_dataloader import StatefulDataLoader
        data_loader = StatefulDataLoader(self.dataset, batch_size=None)
        iterator = iter(data_loader)
        read = [next(iterator).record_ids.tolist() for _ in range(7)]
        state = pickle.loads(pickle.dumps(data_loader.state_dict()))
        other = penstock.torch.IterableDataset(self.data, **LOADER)
        self.addCleanup(other.close)
        resumed = StatefulDataLoader(other, batch_size=None)
        resumed.load_state_dict(state)
        self.assertEqual(read + ids_of(resumed), self.expected[0])
        self.assertEqual(ids_of(resumed), self.expected[1])


@needs("jax")
class JaxTest(FrameworkTestCase):
    def test_global_arrays_hold_what_the_loader_gives(self):
        import jax
        import penstock.jax
        loader = self.loader(output="numpy", **penstock.jax.ranks())
        expected = ids_of(self.loader(output="numpy"))
        read = []
        for batch in loader:
            arrays = penstock.jax.global_arrays(batch)
            self.assertEqual(arrays["x"].shape, (BATCH, 4))
            self.assertIsInstance(arrays["x"], jax.Array)
            np.testing.assert_array_equal(arrays["x"], batch["x"])
            read.append(arrays["i"].tolist())
        self.assertEqual(read, expected)

    def test_arrays_that_share_memory_hold_their_batch(self):
        import penstock.jax
        loader = self.loader_of_few_slots()
        batch = next(iter(loader))
        array, copy = penstock.jax.global_arrays(batch)["x"], batch["x"].copy()
        del batch
        for _ in range(3):
            for batch in loader:
                pass
        np.testing.assert_array_equal(array, copy)

    def test_integers_that_jax_would_cut_off_are_refused(self):
        import jax
        import penstock.jax
        folder = self.folder / "large"
        penstock.pack(({"n": 2**31 - (i == 0)} for i in range(2)), folder)
        for output, take in (("jax", lambda batch: batch), ("numpy", penstock.jax.global_arrays)):
            loader = penstock.Loader(folder, global_batch_size=1, shuffle=False, output=output)
            self.addCleanup(loader.close)
            batches = iter(loader)
            self.assertEqual(take(next(batches))["n"].tolist(), [2**31 - 1])
            with self.assertRaisesRegex(ValueError, "tensor n contains 2147483648.*enable_x64"):
                take(next(batches))
        loader.load_state_dict({"version": 1, "cursor": f"ps1-{loader.order_fingerprint}-0-1"})
        with jax.enable_x64(True):
            self.assertEqual(penstock.jax.global_arrays(next(iter(loader)))["n"].tolist(), [2**31])

    def test_pytrees_see_the_tensors(self):
        import jax
        loader = self.loader(output="jax")
        batch = next(iter(loader))
        doubled = jax.jit(lambda b: jax.tree.map(lambda t: t + t, b))(batch)
        np.testing.assert_array_equal(doubled["x"], 2 * np.asarray(batch["x"]))


@needs("tensorflow")
class TensorFlowTest(FrameworkTestCase):
    def test_tensors_by_dlpack_hold_their_batch(self):
        import tensorflow as tf
        loader = self.loader_of_few_slots()
        batch = next(iter(loader))
        tensor = tf.experimental.dlpack.from_dlpack(batch["x"].__dlpack__())
        expected = batch["x"].copy()
        del batch
        self.assertEqual(loader.stats()["held"], 1)  # The tensor shares the batch's memory.
        for _ in range(2):
            for batch in loader:
                del batch
        np.testing.assert_array_equal(tensor.numpy(), expected)
        del tensor
        gc.collect()
        self.assertEqual(loader.stats()["held"], 0)

    def test_a_function_of_tensorflow_takes_the_arrays(self):
        import tensorflow as tf
        total = tf.function(lambda x: tf.reduce_sum(x))
        for batch in self.loader(output="numpy"):
            self.assertEqual(float(total(batch["x"])), float(batch["x"].sum()))


class RanksTest(FrameworkTestCase):
    """Tests that two ranks together read every row of the epoch once."""

    LAUNCHER = (program("penstock"), "launch", "-np", 2, "-H", "localhost:2")

    def read_by_two_ranks(self, framework, launcher=LAUNCHER):
        folder = self.folder / framework
        folder.mkdir()
        self.run_command(*launcher, sys.executable, __file__, "--ranks", framework, self.data,
                         folder)
        parts = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]
        whole = ids_of(self.loader(output="numpy"))
        self.assertEqual([len(steps) for steps in parts], [len(whole)] * 2)
        # Each step of both ranks together equals the step of a single rank.
        self.assertEqual([first + second for first, second in zip(*parts)], whole)
        self.assertEqual(sorted(sum(map(sum, parts, [[], []]), [])), list(range(RECORDS)))

    def test_numpy_alone(self):
        self.read_by_two_ranks("numpy")

    @needs("torch")
    def test_torch_distributed(self):
        self.read_by_two_ranks("torch")

    @needs("torch", "accelerate")
    def test_accelerate(self):
        self.read_by_two_ranks("accelerate")  # This also resumes in mid-epoch.

    @needs("torch", "accelerate")
    def test_accelerate_may_not_split_a_part_again(self):
        self.read_by_two_ranks("prepare")

    @needs("torch", "accelerate", "transformers")
    def test_the_trainer_of_transformers(self):
        self.read_by_two_ranks("transformers")

    @needs("torch", "torchdata")
    def test_stateful_data_loader(self):
        self.read_by_two_ranks("torchdata")

    @needs("torch", "lightning")
    def test_lightning(self):
        self.read_by_two_ranks("lightning")

    @needs("torch", "lightning")
    def test_lightning_with_a_data_loader(self):
        self.read_by_two_ranks("lightning-data-loader")

    @needs("torch", "ray")
    def test_ray_train(self):
        self.read_by_two_ranks("ray", launcher=())

    @needs("jax")
    def test_jax(self):
        self.read_by_two_ranks("jax")


@needs("torch", "lightning")
class LightningTest(FrameworkTestCase):
    def test_resumes_in_mid_epoch(self):
        from lightning.pytorch.callbacks import ModelCheckpoint
        save = ModelCheckpoint(self.folder, every_n_train_steps=10, save_top_k=-1)
        first, second = [], []
        fit_lightning(self.data, first, max_steps=10, callbacks=[save])
        fit_lightning(self.data, second, ckpt_path=save.best_model_path, max_epochs=2)
        loader = self.loader(output="numpy")
        self.assertEqual(first[:10] + second, ids_of(loader) + ids_of(loader))


class ExamplesTest(FrameworkTestCase):
    def assert_learns(self, output, epochs):
        losses = [float(line.split("loss ")[1].split(";")[0].split()[0])
                  for line in output.splitlines() if "epoch " in line and "loss " in line]
        self.assertGreaterEqual(len(losses), epochs, output)
        if epochs > 1:
            self.assertLess(losses[-1], losses[0], output)
        self.assertLess(losses[-1], 0.25, output)  # Predicting the mean gives 0.31.

    def run_example(self, name, epochs=3, launcher=()):
        data = self.folder / "sample"
        if not data.exists():
            shutil.copytree(SAMPLE, data)
        output = self.run_command(*launcher, sys.executable, EXAMPLES / name, data)
        self.assert_learns(output, epochs)

    @needs("torch")
    def test_torch(self):
        self.run_example("train_torch.py")

    @needs("torch")
    def test_horovod_style_at_two_ranks(self):
        self.run_example("horovod_style/train.py", 1,
                         (program("penstock"), "launch", "-np", "2", "-H", "localhost:2"))

    @needs("torch")
    def test_the_model_of_the_horovod_style_is_the_board_model(self):
        code = ("from model import SIZES, BoardModel\n"
                "print([sum(p.numel() for p in BoardModel(s).parameters()) for s in SIZES])")
        output = self.run_command(sys.executable, "-c", code,
                                  PYTHONPATH=str(EXAMPLES / "horovod_style"))
        self.assertEqual(json.loads(output), [144_577, 4_308_737, 38_143_489])

    @needs("jax")
    def test_jax(self):
        self.run_example("train_jax.py")

    @needs("torch", "accelerate")
    def test_accelerate(self):
        self.run_example("train_accelerate.py")

    @needs("torch", "lightning")
    def test_lightning(self):
        self.run_example("train_lightning.py")

    @needs("torch", "accelerate", "transformers")
    def test_the_trainer_of_transformers(self):
        self.run_command(sys.executable, EXAMPLES / "train_hf_trainer.py", SAMPLE)


# The program of each rank: returns the numbers of the records of an epoch, step by step.


def read_numpy(data, folder):
    with penstock.Loader(data, **{**LOADER, "output": "numpy"}) as loader:
        assert (loader.world_size, loader.rank) == (2, int(os.environ["RANK"]))
        return ids_of(loader)


def read_torch(data, folder):
    import penstock.distributed as hvd
    hvd.init()
    with penstock.Loader(data, **LOADER) as loader:
        steps = []
        for batch in loader:
            assert batch["i"].tolist() == batch.record_ids.tolist()
            steps.append(batch["i"].tolist())
    return steps


def read_accelerate(data, folder):
    import torch
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    assert accelerator.num_processes == 2
    model = torch.nn.Linear(4, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1e-9))
    steps = []
    with penstock.Loader(data, **LOADER) as loader:
        accelerator.register_for_checkpointing(loader)

        def train(stop):
            for batch in loader:
                accelerator.backward(model(batch["x"]).mean())
                optimizer.step()
                steps.append(batch["i"].tolist())
                if len(steps) == stop:
                    return

        train(stop=10)
        accelerator.save_state(folder / "state")
        train(stop=15)
        accelerator.load_state(folder / "state")
        del steps[10:]
        train(stop=None)
    return steps


def read_after_prepare(data, folder):
    import penstock.torch
    import torch.utils.data
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration
    for dispatches, batch_size in ((None, None), (True, None), (False, 1)):
        accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(
            dispatch_batches=dispatches))
        with penstock.Loader(data, **LOADER) as loader:
            dataset = penstock.torch.IterableDataset(loader)
            prepared = accelerator.prepare(
                torch.utils.data.DataLoader(dataset, batch_size=batch_size))
            try:
                next(iter(prepared))
            except RuntimeError as error:
                assert "would split" in str(error), error
            else:
                raise AssertionError(f"dispatch_batches={dispatches} was not refused")
    with penstock.Loader(data, **LOADER) as loader:
        return ids_of(accelerator.prepare(loader))  # Left as it is.


def read_torchdata(data, folder):
    import penstock.torch
    from torchdata.stateful_dataloader import StatefulDataLoader
    with penstock.Loader(data, **LOADER) as loader:
        return ids_of(StatefulDataLoader(penstock.torch.IterableDataset(loader), batch_size=None))


def read_ray(data, folder):
    import ray
    import ray.train.torch

    def train():
        import torch
        import penstock.torch
        context = ray.train.get_context()
        dataset = penstock.torch.IterableDataset(data, **LOADER)
        reader = ray.train.torch.prepare_data_loader(
            torch.utils.data.DataLoader(dataset, batch_size=None))
        steps = [batch["i"].tolist() for batch in reader]
        (folder / f"{context.get_world_rank()}.json").write_text(json.dumps(steps))

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.train.torch.TorchTrainer(
        train, scaling_config=ray.train.ScalingConfig(num_workers=2),
        run_config=ray.train.RunConfig(storage_path=str(folder))).fit()


def read_transformers(data, folder):
    import torch
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.steps = torch.nn.Linear(4, 1), []

        def forward(self, x, i):
            self.steps.append(i.tolist())
            return {"loss": self.layer(x).mean()}

    class PenstockTrainer(Trainer):
        def get_train_dataloader(self):
            return self.train_dataset

    arguments = TrainingArguments(str(folder), num_train_epochs=1, learning_rate=1e-9,
                                  use_cpu=True, report_to="none", save_strategy="no")
    assert arguments.world_size == 2
    model = Model()
    with penstock.Loader(data, **LOADER) as loader:
        PenstockTrainer(model, arguments, train_dataset=loader).train()
    return model.steps


def fit_lightning(data, steps, ckpt_path=None, reader=None, **options):
    import lightning
    import torch

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def train_dataloader(self):
            return reader or penstock.Loader(data, **LOADER)

        def training_step(self, batch, number):
            steps.append(batch["i"].tolist())
            return self.layer(batch["x"]).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-9)

    trainer = lightning.Trainer(accelerator="cpu", logger=False, enable_progress_bar=False,
                                enable_model_summary=False, enable_checkpointing=
                                bool(options.get("callbacks")), **options)
    trainer.fit(Model(), ckpt_path=ckpt_path)
    return trainer


def read_lightning(data, folder):
    steps = []
    trainer = fit_lightning(data, steps, devices=2, strategy="ddp", max_epochs=1)
    assert trainer.world_size == 2
    return steps


def read_lightning_data_loader(data, folder):
    import penstock.torch
    import torch.utils.data
    steps = []
    dataset = penstock.torch.IterableDataset(data, **LOADER)
    fit_lightning(data, steps, reader=torch.utils.data.DataLoader(dataset, batch_size=None),
                  devices=2, strategy="ddp", max_epochs=1)
    return steps


def read_jax(data, folder):
    import jax
    import penstock.jax
    from jax.experimental import multihost_utils
    jax.distributed.initialize(f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}",
                               int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"]))
    assert jax.process_count() == 2
    steps = []
    with penstock.Loader(data, **{**LOADER, "output": "numpy", **penstock.jax.ranks()}) as loader:
        for batch in loader:
            array = penstock.jax.global_arrays(batch)["i"]
            assert array.shape == (BATCH,)
            # The global array is the global batch, in its order, on both ranks.
            whole = multihost_utils.process_allgather(array, tiled=True).tolist()
            begin = batch.first_row
            assert whole[begin:begin + batch.rows] == batch["i"].tolist()
            steps.append(batch["i"].tolist())
    return steps


def run_rank(framework, data, folder):
    read = {"numpy": read_numpy, "torch": read_torch, "accelerate": read_accelerate,
            "transformers": read_transformers, "lightning": read_lightning,
            "lightning-data-loader": read_lightning_data_loader, "prepare": read_after_prepare,
            "torchdata": read_torchdata, "ray": read_ray, "jax": read_jax}[framework]
    steps = read(data, pathlib.Path(folder))
    if steps is not None:  # Ranks of Ray write their own files.
        pathlib.Path(folder, f"{os.environ['RANK']}.json").write_text(json.dumps(steps))
    torch = sys.modules.get("torch")
    if torch is not None and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ranks"]:
        run_rank(*sys.argv[2:])
    else:
        unittest.main(verbosity=2)
