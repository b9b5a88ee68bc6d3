"""Tests Loaders with real data: the rows equal those of `penstock stream`, for any number of ranks
and after resuming."""

import _thread
import collections
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import numpy as np
import penstock
import real_data

STEP_S = 0.005  # The time that a slow consumer takes for a step.


def rows_of(batch):
    """Returns the bytes of each row, as --digest uses them."""
    tensors = [array.reshape(batch.rows, -1).view("u1") for array in batch.values()]
    return [b"".join(array[i].tobytes() for array in tensors) for i in range(batch.rows)]


def digest_of(loader):
    digest = hashlib.sha256()
    for batch in loader:
        digest.update(b"".join(rows_of(batch)))
    return digest.hexdigest()


def resident_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


class LoaderTestCase(real_data.RealDataTestCase):
    def stream_digest(self, *options):
        """Returns the digest of `penstock stream`, with the batch size and the default dtype of
        load()."""
        text = real_data.run("stream", self.data, "--global-batch-size", 64, "--dtype", "i8",
                             "--digest", "--json", "-", *options)
        return json.loads(text)["digest"]

    def feed_pid(self, loader):
        return loader._stream._feed.process.pid


class DigestTest(LoaderTestCase):
    def test_an_epoch_is_that_of_stream(self):
        for options, arguments in [
            ({"seed": 7}, ["--seed", 7]),
            ({"seed": 7, "dtype": "packed"}, ["--seed", 7, "--dtype", "packed"]),
            ({"dtype": "f32", "shuffle": False}, ["--dtype", "f32", "--no-shuffle"]),
            ({"split": "holdout", "remainder": "short"},
             ["--split", "holdout", "--remainder", "short"]),
            ({"rank": 1, "world_size": 3}, ["--rank", 1, "--world-size", 3]),
            ({"lanes": 3, "window_chunks": 2, "strip_rows": 4, "threads": 1},
             ["--lanes", 3, "--window-chunks", 2, "--strip-rows", 4]),
        ]:
            with self.subTest(options):
                self.assertEqual(digest_of(self.load(**options)), self.stream_digest(*arguments))

    def test_two_epochs_are_two_fors(self):
        loader, digest = self.load(seed=3), hashlib.sha256()
        for epoch in range(2):
            for batch in loader:
                self.assertEqual(batch.epoch, epoch)
                digest.update(b"".join(rows_of(batch)))
        self.assertEqual(digest.hexdigest(), self.stream_digest("--seed", 3, "--epochs", 2))

    def test_torch_has_the_same_rows(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        digest = hashlib.sha256()
        for batch in self.load(seed=7, output="torch"):
            self.assertTrue(all(isinstance(tensor, torch.Tensor) for tensor in batch.values()))
            arrays = penstock.Batch({name: t.numpy() for name, t in batch.items()})
            digest.update(b"".join(rows_of(batch.with_tensors(arrays))))
        self.assertEqual(digest.hexdigest(), self.stream_digest("--seed", 7))

    def test_it_describes_what_it_reads(self):
        loader = self.load()
        self.assertEqual(len(loader), loader.records // 64)
        self.assertEqual([tensor.name for tensor in loader.tensors], list(next(iter(loader))))
        self.assertEqual((loader.global_batch_size, loader.batch_size), (64, 64))
        self.assertIn("tensor", loader.spec)
        self.assertIn("rank 0 of 1", repr(loader))


class ResumeTest(LoaderTestCase):
    READER = """
        import pickle, sys
        sys.path[:0] = sys.argv[2:]
        import penstock
        from loader_test import rows_of
        ranks = [penstock.Loader(sys.argv[1], global_batch_size=64, seed=7, rank=rank, world_size=2)
                 for rank in range(2)]
        for batches in zip(*ranks):
            rows = [row for batch in batches for row in rows_of(batch)]
            assert ranks[0].state_dict() == ranks[1].state_dict()
            pickle.dump((rows, ranks[0].state_dict()), sys.stdout.buffer)
            sys.stdout.buffer.flush()
    """

    def read_until_killed(self, steps):
        """Returns the rows of `steps` steps of two ranks, and the state after them."""
        import pickle

        paths = [str(pathlib.Path(file).parent) for file in (__file__, penstock.__path__[0])]
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(self.READER), self.data, *paths],
            stdout=subprocess.PIPE)
        rows, state = [], None
        with process:
            for _ in range(steps):
                more, state = pickle.load(process.stdout)
                rows += more
            process.kill()
        return rows, state

    def test_two_killed_ranks_go_on_as_three(self):
        rows, state = self.read_until_killed(steps=50)
        self.assertLessEqual(len(json.dumps(state)), 256)
        ranks = [self.load(seed=7, rank=rank, world_size=3) for rank in range(3)]
        for loader in ranks:
            loader.load_state_dict(json.loads(json.dumps(state)))
        for batches in zip(*ranks, strict=True):
            for batch in sorted(batches, key=lambda batch: batch.first_row):
                rows += rows_of(batch)
        digest = hashlib.sha256(b"".join(rows)).hexdigest()
        self.assertEqual(digest, self.stream_digest("--seed", 7))

    def test_a_killed_feed_is_replaced(self):
        loader, digest = self.load(seed=7, look_ahead="128KiB"), hashlib.sha256()
        for batch in loader:
            digest.update(b"".join(rows_of(batch)))
            if batch.step == 30:
                os.kill(self.feed_pid(loader), signal.SIGKILL)
                break
        with self.assertRaisesRegex(penstock.FeedError, "SIGKILL"):
            for batch in loader:
                digest.update(b"".join(rows_of(batch)))
        loader.load_state_dict(loader.state_dict())
        for batch in loader:
            digest.update(b"".join(rows_of(batch)))
        self.assertEqual(digest.hexdigest(), self.stream_digest("--seed", 7))

    def test_rewinding_while_batches_are_held(self):
        loader = self.load(seed=7)
        start, batches = loader.state_dict(), iter(loader)
        held = [next(batches) for _ in range(5)]
        before = [rows_of(batch) for batch in held]
        loader.load_state_dict(start)
        self.assertEqual(digest_of(loader), self.stream_digest("--seed", 7))
        self.assertEqual([rows_of(batch) for batch in held], before)

    def test_a_state_of_another_order_is_refused(self):
        state = self.load(seed=1).state_dict()
        with self.assertRaisesRegex(ValueError, "same dataset, split, seed"):
            self.load(seed=2).load_state_dict(state)

    def test_the_end_of_an_epoch_is_the_beginning_of_the_next(self):
        loader = self.load(seed=7)
        list_of_epoch = [batch.position for batch in loader]
        state = loader.state_dict()
        other = self.load(seed=7)
        other.load_state_dict(state)
        self.assertEqual(other.epoch, 1)
        batches = list_positions(other)
        self.assertEqual(batches, [(1, position) for position in list_of_epoch])


def list_positions(loader):
    return [(batch.epoch, batch.position) for batch in loader]


class RecordsTest(LoaderTestCase):
    def ids(self, loaders):
        return [int(i) for loader in loaders for batch in loader for i in batch.record_ids]

    def test_evaluation_reads_each_record_of_a_split_once_on_any_ranks(self):
        for split in ("holdout", "all"):
            expected = None
            for world_size in (1, 3):
                loaders = [penstock.evaluate_loader(self.data, split=split, global_batch_size=640,
                                                    record_ids=True, rank=rank,
                                                    world_size=world_size)
                           for rank in range(world_size)]
                for loader in loaders:
                    self.addCleanup(loader.close)
                for _ in range(2):
                    ids = sorted(self.ids(loaders))
                    self.assertEqual(len(set(ids)), loaders[0].records)
                    self.assertEqual(len(ids), loaders[0].records)
                    expected = expected or ids
                    self.assertEqual(ids, expected)
        self.assertEqual(expected, list(range(20000)))

    def test_evaluation_reads_in_order(self):
        loader = penstock.evaluate_loader(self.data, global_batch_size=64, record_ids=True)
        self.addCleanup(loader.close)
        ids = self.ids([loader])
        self.assertEqual(ids, sorted(ids))
        with self.assertRaises(TypeError):
            penstock.evaluate_loader(self.data, epochs=2)

    def test_draws_of_map_do_not_depend_on_the_world_size(self):
        def draw(batch, rng):
            noise = rng.normal(size=3)
            flips = rng.integers(0, 2)
            single = np.array([rng.row(i).random() for i in range(batch.rows)])
            return {"noise": noise, "flips": flips, "single": single, "again": rng.random()}

        def drawn(world_size):
            by_record = {}
            for rank in range(world_size):
                mapped = self.load(rank=rank, world_size=world_size, record_ids=True, seed=5,
                                   max_steps=20).map(draw)
                for batch in mapped:
                    values = zip(*(array.tolist() for array in batch.values()))
                    by_record.update(zip(batch.record_ids.tolist(), values))
            return by_record

        one = drawn(1)
        self.assertEqual(len(one), 64 * 20)
        self.assertEqual(len({str(values) for values in one.values()}), len(one))
        self.assertEqual(drawn(2), one)
        self.assertEqual(drawn(3), one)

    def test_map_keeps_the_place_and_chains(self):
        loader = self.load(max_steps=10)
        draws = []

        def double(batch, rng):
            draws.append(rng.random())
            return {"score": 2 * batch["score"]}

        def count(batch, rng):
            draws.append(rng.random())
            return batch.step, float(batch["score"].sum())

        mapped = loader.map(double).map(count)
        results = list(mapped)
        self.assertEqual([step for step, _ in results], list(range(10)))
        self.assertFalse((draws[0] == draws[1]).any())
        self.assertEqual(mapped.state_dict(), loader.state_dict())
        self.assertEqual(len(mapped), len(loader))
        again = self.load(max_steps=10)
        self.assertEqual([2 * float(batch["score"].sum()) for batch in again],
                         [total for _, total in results])

    def test_a_mapped_loader_says_what_it_is_and_where(self):
        loader = self.load(max_steps=10)
        mapped = loader.map(lambda batch, rng: batch)
        self.assertIn("MappedLoader of 1 function on <penstock.Loader", repr(mapped))
        self.assertEqual((mapped.epoch, mapped.remaining), (0, 10))
        self.assertEqual(mapped.verdict().bound, "unknown")
        self.assertEqual(mapped.stats()["batches"], 0)
        mapped.close()
        with self.assertRaisesRegex(RuntimeError, "closed"):
            next(iter(loader))

    def test_a_function_that_returns_nothing_is_refused(self):
        def forgets(batch, rng):
            batch["score"] *= 2

        with self.assertRaisesRegex(TypeError, r"forgets\(\) of map\(\) returned None"):
            next(iter(self.load().map(forgets)))


class RowRandomTest(unittest.TestCase):
    """Tests that draws for all rows at once equal those of NumPy's generator for each row."""

    def test_they_equal_those_of_each_row(self):
        rng = penstock.RowRandom(seed=(1 << 64) - 1, epoch=3, first=1 << 40, rows=50)
        several = [rng.uniform(2, 5), rng.random((3, 2)), rng.random(), rng.uniform(size=7)]
        for i in (0, 7, 49):
            row = rng.row(i)
            self.assertEqual(several[0][i], row.uniform(2, 5))
            np.testing.assert_array_equal(several[1][i], row.random((3, 2)))
            self.assertEqual(several[2][i], row.random())
            np.testing.assert_array_equal(several[3][i], row.uniform(size=7))
        with self.assertRaises(IndexError):
            rng.row(50)

    def test_whole_numbers_are_in_their_range_and_even(self):
        rng = penstock.RowRandom(seed=1, epoch=0, first=0, rows=70000)
        counts = collections.Counter(rng.integers(-3, 4).tolist())
        self.assertEqual(sorted(counts), list(range(-3, 4)))
        self.assertLess(max(counts.values()) - min(counts.values()), 700)
        self.assertEqual(set(rng.integers(1).tolist()), {0})
        with self.assertRaises(ValueError):
            rng.integers(3, 3)

    def test_golden_values(self):
        # Trainings that resume depend on them: the draws of a row may never change.
        def draws(**place):
            rng = penstock.RowRandom(**{"seed": 7, "epoch": 3, "first": 5, "rows": 1, **place})
            return int(rng.random()[0] * (1 << 53)), int(rng.integers(1 << 32)[0])

        self.assertEqual(draws(), (7794883556499646, 1241897534))
        self.assertEqual(draws(seed=8), (774876192287057, 1447535624))
        self.assertEqual(draws(epoch=4), (2275727439368368, 2986954858))
        self.assertEqual(draws(first=6), (608345534787352, 1550943442))
        self.assertEqual(draws(stage=1), (3315098639534415, 2896497263))
        rng = penstock.RowRandom(seed=7, epoch=3, first=4, rows=2)
        self.assertAlmostEqual(rng.normal()[1], -0.4877170989200271, places=14)

    def test_draws_of_a_batch_are_those_of_its_place(self):
        class Place:
            epoch, position, first_row, rows = 3, 40, 5, 2

        of_batch = penstock.RowRandom.of_batch(7, Place, 1)
        same = penstock.RowRandom(seed=7, epoch=3, first=45, rows=2, stage=1)
        self.assertEqual(of_batch.random().tolist(), same.random().tolist())

    def test_normal_draws_are_normal(self):
        draws = penstock.RowRandom(seed=1, epoch=0, first=0, rows=50000).normal(2, 3, size=2)
        self.assertEqual(draws.shape, (50000, 2))
        self.assertAlmostEqual(draws.mean(), 2, delta=0.05)
        self.assertAlmostEqual(draws.std(), 3, delta=0.05)
        self.assertTrue(np.isfinite(draws).all())

    def test_no_rows_have_no_draws(self):
        rng = penstock.RowRandom(seed=1, epoch=0, first=0, rows=0)
        self.assertEqual(rng.uniform(size=3).shape, (0, 3))


class ErrorsTest(LoaderTestCase):
    def test_what_is_not_there(self):
        with self.assertRaisesRegex(FileNotFoundError,
                                    "^dataset: .*nowhere: No such file .*give a folder"):
            penstock.Loader(self.folder / "nowhere")
        with self.assertRaisesRegex(FileNotFoundError, "no_spec"):
            self.load(spec="no_spec")

    def test_wrong_options(self):
        for options, words in [
            ({"split": "some"}, "split=some is not one of"),
            ({"global_batch_size": 0}, "0 rows"),
            ({"spec": 'tensor { nme: "x" }'}, "^decode spec: spec:1:13: .*nme"),
            ({"servers": "nowhere"}, "servers: 'nowhere' is neither"),
            ({"lanes": 0}, "lanes"),
            ({"rank": 2, "world_size": 2}, "rank 2 of 2"),
        ]:
            with self.subTest(options), self.assertRaisesRegex(ValueError, words):
                self.load(**options)

    def test_damage_names_shard_offset_and_record(self):
        folder = self.folder / "damaged"
        folder.mkdir()
        for path in self.data.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        shard = folder / "chess-00001-of-00004.tfrecord"
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
        loader = penstock.Loader(folder, global_batch_size=64)
        self.addCleanup(loader.close)
        with self.assertRaises(penstock.DataLossError) as raised:
            for _ in loader:
                pass
        error = raised.exception
        self.assertIn(shard.name, error.shard)
        self.assertGreater(error.offset, 0)
        self.assertIn(str(error.offset), str(error))

    def test_servers_that_are_not_there(self):
        loader = self.load(servers="127.0.0.1:1", server_timeout=0.3)
        with self.assertRaisesRegex(penstock.UnavailableError, "127.0.0.1:1"):
            next(iter(loader))
        self.assertIsInstance(loader.state_dict()["cursor"], str)


class WaitsTest(LoaderTestCase):
    def test_a_slow_consumer_hardly_waits(self):
        loader = self.load(max_steps=300)
        for batch in loader:
            # As usual, the first step takes longer.
            time.sleep(STEP_S if batch.step > 0 else 1)
        verdict = loader.verdict()
        self.assertEqual(verdict.bound, "compute")
        # All batches are ready after the first step. A feed that counted as waiting would give 1.
        self.assertLess(verdict.waiting, 0.01)
        self.assertGreater(verdict.seconds, 299 * STEP_S)
        self.assertRegex(str(verdict), "^compute-bound: .* s waiting for batches$")

    def test_a_stopped_feed_is_waited_for_and_ctrl_c_ends_that(self):
        loader = self.load(seed=7, look_ahead=64 * 202 * 8)
        feed, digest = self.feed_pid(loader), hashlib.sha256()
        batches = iter(loader)
        digest.update(b"".join(rows_of(next(batches))))
        os.kill(feed, signal.SIGSTOP)
        self.addCleanup(self.carry_on, feed)
        timer = threading.Timer(0.3, lambda: sent.append(time.monotonic()) or
                                _thread.interrupt_main())
        sent = []
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            for batch in batches:
                digest.update(b"".join(rows_of(batch)))
        self.assertLess(time.monotonic() - sent[0], 10)  # Otherwise the wait would last for ever.
        state = loader.state_dict()
        self.assertEqual(loader.state_dict(), state)
        began = time.monotonic()
        loader.stats()
        self.assertLess(time.monotonic() - began, 10)
        os.kill(feed, signal.SIGCONT)
        for batch in batches:
            digest.update(b"".join(rows_of(batch)))
        self.assertEqual(digest.hexdigest(), self.stream_digest("--seed", 7))
        self.assertGreater(loader.stats()["wait_seconds"], 0.2)

    @staticmethod
    def carry_on(pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def test_a_busy_thread_takes_no_turn_for_each_batch(self):
        loader = self.load(seed=7)
        batches = iter(loader)
        next(batches)
        time.sleep(0.5)  # The rest of the epoch is ready.
        ended = threading.Event()

        def spin():
            while not ended.is_set():
                pass

        thread = threading.Thread(target=spin)
        thread.start()
        began = time.perf_counter()
        taken = sum(1 for _ in batches)
        elapsed = time.perf_counter() - began
        ended.set()
        thread.join()
        self.assertGreater(taken, 200)
        # A thread gets the interpreter back after sys.getswitchinterval(), 5 ms.
        self.assertLess(elapsed, taken * sys.getswitchinterval() / 2)

    def test_a_batch_that_another_thread_drops_ends_the_wait(self):
        # There are four slots, and the consumer may hold two.
        loader = self.load(seed=7, look_ahead="64KiB", global_batch_size=4096, copy="never")
        batches = iter(loader)
        count = 1
        held = collections.deque([next(batches)])
        ended = threading.Event()

        def drop():
            while not ended.wait(0.001):
                if len(held) > 1:
                    held.popleft()

        thread = threading.Thread(target=drop)
        thread.start()
        try:
            while True:
                try:
                    held.append(next(batches))
                    count += 1
                except penstock.SlotsHeldError:
                    time.sleep(0.001)
                except StopIteration:
                    break
        finally:
            ended.set()
            thread.join()
        self.assertEqual(count, len(loader))


class HostShareTest(LoaderTestCase):
    # The engine starts this many threads together when a file's bytes are not in memory
    # (EngineOptions::read_threads), so numbers of threads are compared up to multiples of it.
    READERS = 32

    def settled_threads(self, **options):
        """Returns how many threads a feed has when their number no longer changes."""
        loader = self.load(**options)
        next(iter(loader))
        tasks, counts = pathlib.Path(f"/proc/{self.feed_pid(loader)}/task"), []

        def settled():
            counts.append(len(list(tasks.iterdir())))
            return len(counts) >= 20 and len(set(counts[-20:])) == 1

        self.wait_until(settled, "a constant number of threads")
        return counts[-1]

    def fewer(self, **options):
        """Returns by how many threads a feed has fewer than one that is alone on its machine."""
        return (self.settled_threads(local_size=1) - self.settled_threads(**options)) % self.READERS

    def test_the_ranks_of_a_machine_share_its_cores(self):
        cores = len(os.sched_getaffinity(0))
        if (cores - 1) % self.READERS == 0:
            self.skipTest(f"{cores} cores: a share of one core cannot be told from all")
        self.assertIn(self.fewer(local_size=cores), range(1, cores))
        self.assertEqual(self.fewer(local_size=cores, threads=cores), 0)


class MemoryTest(LoaderTestCase):
    def test_memory_stays_over_many_small_batches(self):
        loader = self.load(look_ahead="8MiB", dtype="packed")
        count, sizes = 0, []
        while count < 100_000:
            for _ in loader:
                count += 1
                if count in (10_000, 99_999):
                    sizes.append(sum(map(resident_of, (os.getpid(), self.feed_pid(loader)))))
        self.assertLess(sizes[1] - sizes[0], 6 << 20)
        self.assertEqual(loader.stats()["batches"], count)
        self.assertLessEqual(loader.stats()["held"], 1)

    def test_no_tensor_is_a_copy(self):
        loader = self.load(record_ids=True)
        for batch in loader:
            memory = loader._stream._slots.memory
            for array in (*batch.values(), batch.record_ids):
                address = array.__array_interface__["data"][0]
                self.assertLess(address - memory.address, memory.size)
                self.assertGreaterEqual(address, memory.address)

    def test_tensors_are_aligned(self):
        for array in next(iter(self.load(global_batch_size=33))).values():
            self.assertEqual(array.__array_interface__["data"][0] % 64, 0)


if __name__ == "__main__":
    unittest.main()
