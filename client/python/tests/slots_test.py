"""Tests slots: who owns them, when they are released, and what happens if too few are left."""

import ctypes
import errno
import gc
import mmap
import os
import pathlib
import pickle
import signal
import socket
import struct
import threading
import time
import unittest
import warnings
import weakref
from unittest import mock

import fake_case
import fake_feed
import numpy as np
import penstock
from penstock import _protocol as protocol
from penstock._slots import Memory, Slots

try:
    import torch
except ImportError:
    torch = None


def num_mappings():
    """Returns how many memories for slots this process has mapped."""
    return pathlib.Path("/proc/self/maps").read_text().count("penstock-slots")


class SlotsTestCase(unittest.TestCase):
    """Has slots whose releases arrive at the other end of a socket."""

    def make(self, count=4, slot_bytes=4096):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        self.feed = theirs
        slots = Slots(count, slot_bytes)
        slots.begin(7, ours)
        return slots

    def released(self, slots):
        """Returns the slots that were released since the last call. Flushes waiting releases."""
        numbers = []
        while True:
            complete = slots.flush()
            try:
                data = self.feed.recv(1 << 20, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return numbers
            self.assertEqual(len(data) % 16, 0)
            for kind, generation, number in struct.iter_unpack("<IIQ", data):
                self.assertEqual((kind, generation), (protocol.RELEASE, 7))
                numbers.append(number)
            if complete and not slots.releases:
                continue


class MemoryTest(unittest.TestCase):
    def test_nobody_can_shrink_or_grow_it(self):
        memory = Memory(8192)
        for size in (4096, 16384):
            with self.assertRaises(PermissionError):
                os.ftruncate(memory.fd, size)
        memory.map[:3] = b"abc"
        self.assertEqual(ctypes.string_at(memory.address, 3), b"abc")

    def test_its_pages_are_there(self):
        size = 64 << 20
        before = resident()
        memory = Memory(size)
        self.assertGreater(resident() - before, 0.9 * size)
        del memory
        self.assertLess(resident() - before, 0.1 * size)

    def test_more_than_there_is_is_refused(self):
        with self.assertRaises(MemoryError):
            Memory(1 << 60)

    def test_a_mapping_that_fails_closes_its_descriptor_once(self):
        memory = Memory.__new__(Memory)
        with mock.patch("mmap.mmap", side_effect=OSError(errno.ENOMEM, "no memory")):
            with self.assertRaisesRegex(MemoryError, "8,192 bytes"):
                memory.__init__(8192)
        # The next file gets the number of the descriptor that was closed.
        other = os.open(os.devnull, os.O_RDONLY)
        self.addCleanup(os.close, other)
        del memory
        os.fstat(other)


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


class OwnerTest(SlotsTestCase):
    def test_arrays_lie_in_the_mapping(self):
        slots = self.make()
        base = slots.take(2)
        address = base.__array_interface__["data"][0]
        self.assertEqual(address, slots.memory.address + 2 * 4096)
        array = np.ndarray((4, 8), "<f4", base, 64)
        self.assertEqual(array.__array_interface__["data"][0], address + 64)
        self.assertEqual((array.flags.writeable, array.flags.aligned), (True, True))

    def test_a_slot_is_held_until_the_last_view_has_gone(self):
        for name, view in {
            "slice": lambda array: array[1:, ::2],
            "slice of a slice": lambda array: array[1:][1:][:1],
            "reshape": lambda array: array.reshape(-1),
            "transpose": lambda array: array.T,
            "other type": lambda array: array.view("u1"),
            "asarray": np.asarray,
            "memoryview": memoryview,
            "frombuffer": lambda array: np.frombuffer(array, "u1"),
            "strides": lambda array: np.lib.stride_tricks.as_strided(array, (2, 2)),
            "matrix": lambda array: array.view(np.matrix),
            "view of a matrix": lambda array: np.asarray(array.view(np.matrix))[1:],
            "dlpack": np.from_dlpack,
            "iterator": lambda array: array.flat,
            "row of an iteration": lambda array: list(array)[3],
            "split": lambda array: np.split(array, 2)[1],
            "squeeze": lambda array: np.squeeze(array[:1]),
            "ravel of a view": lambda array: array[1:].ravel(),
        }.items():
            with self.subTest(name):
                slots = self.make()
                array = np.ndarray((4, 8), "<f4", slots.take(1), 64)
                kept = view(array)
                del array
                self.assertEqual((self.released(slots), slots.num_held()), ([], 1))
                del kept
                self.assertEqual((self.released(slots), slots.num_held()), ([1], 0))

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_tensors_of_torch_hold_it(self):
        def graph(tensor):
            weight = torch.ones(8, requires_grad=True)
            return (tensor * weight).sum()

        for name, view in {
            "tensor": lambda tensor: tensor,
            "slice": lambda tensor: tensor[1:, ::2],
            "storage": lambda tensor: tensor.untyped_storage(),
            "numpy again": lambda tensor: tensor.numpy(),
            "detached": lambda tensor: tensor.detach(),
            "autograd": graph,
            "dlpack": torch.utils.dlpack.to_dlpack,
        }.items():
            with self.subTest(name):
                slots = self.make()
                tensor = torch.from_numpy(np.ndarray((4, 8), "<f4", slots.take(1), 64))
                kept = view(tensor)
                del tensor
                self.assertEqual((self.released(slots), slots.num_held()), ([], 1))
                del kept
                self.assertEqual((self.released(slots), slots.num_held()), ([1], 0))

    def test_copies_do_not_hold_it(self):
        slots = self.make()
        array = np.ndarray((4, 8), "<f4", slots.take(0), 0)
        kept = [array.copy(), array + 1, pickle.loads(pickle.dumps(array)), array.astype("f8")]
        del array
        self.assertEqual(self.released(slots), [0])
        del kept

    def test_a_view_of_the_owner_itself_releases_nothing(self):
        slots = self.make()
        owner = slots.take(3)
        view = owner[10:]
        del view
        self.assertEqual(self.released(slots), [])
        del owner
        self.assertEqual(self.released(slots), [3])

    def test_cyclic_garbage_is_released_when_it_is_collected(self):
        slots = self.make()
        cycle = [slots.take(0)]
        cycle.append(cycle)
        del cycle
        gc.collect()
        self.assertEqual(self.released(slots), [0])

    def test_an_owner_may_go_on_another_thread(self):
        slots = self.make()
        arrays = [slots.take(number) for number in range(4)]
        thread = threading.Thread(target=arrays.clear)
        thread.start()
        thread.join()
        self.assertEqual(sorted(self.released(slots)), [0, 1, 2, 3])

    def test_memory_goes_with_its_last_owner_and_without_the_collector(self):
        before = num_mappings()
        gc.disable()
        self.addCleanup(gc.enable)
        slots = self.make()
        array = slots.take(0)[1:]
        array[:] = 3
        slots.retire()
        del slots
        self.assertEqual(num_mappings(), before + 1)
        self.assertEqual(int(array.sum()), 3 * 4095)
        del array
        self.assertEqual(num_mappings(), before)


class ReleaseTest(SlotsTestCase):
    def test_five_thousand_at_once_arrive_once_each(self):
        slots = self.make(5000, 64)
        arrays = [slots.take(number) for number in range(5000)]
        self.assertEqual(slots.num_held(), 5000)
        arrays.clear()
        self.assertEqual(sorted(self.released(slots)), list(range(5000)))
        self.assertEqual(slots.num_held(), 0)

    def test_a_feed_that_does_not_read_blocks_nobody(self):
        slots = self.make(60000, 64)
        self.feed.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        arrays = [slots.take(number) for number in range(60000)]
        arrays.clear()
        while slots.flush():
            arrays = [slots.take(number) for number in range(60000)]
            arrays.clear()
        self.assertGreater(len(slots.releases), 0)
        while slots.releases:
            self.released(slots)

    def test_while_the_consumer_blocks_they_are_sent_at_once(self):
        slots = self.make()
        array = slots.take(1)
        slots.urgent = True
        thread = threading.Thread(target=lambda values: values.clear(), args=([array],))
        del array
        thread.start()
        thread.join()
        del thread
        gc.collect()
        self.assertEqual(struct.unpack("<IIQ", self.feed.recv(16, socket.MSG_DONTWAIT))[2], 1)

    def test_finalizers_of_many_threads_lose_and_repeat_nothing(self):
        slots = self.make(800, 64)
        slots.urgent = True
        parts = [[slots.take(8 * i + part) for i in range(100)] for part in range(8)]
        threads = [threading.Thread(target=part.clear) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(self.released(slots)), list(range(800)))

    def test_after_the_feed_has_gone_they_are_silent(self):
        slots = self.make()
        array = slots.take(0)
        self.feed.close()
        slots.urgent = True
        del array
        self.assertEqual(slots.num_held(), 0)

    def test_retired_slots_tell_nothing(self):
        slots = self.make()
        array = slots.take(0)
        slots.retire()
        del array
        self.assertEqual(self.released(slots), [])


class ExhaustionTest(fake_case.FakeFeedTestCase):
    def test_a_for_needs_no_copy(self):
        loader = self.load(copy="never")
        for batch in loader:
            pass
        self.assertEqual(batch.position, 36)

    def test_more_are_copied_with_one_warning(self):
        loader = self.load()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            batches = list(loader) + list(loader)
        self.assertEqual([batch["x"].tolist() for batch in batches],
                         2 * [list(range(4 * i, 4 * i + 4)) for i in range(10)])
        self.assertEqual(len(warned), 1)
        self.assertIn("2 of 4 batches", str(warned[0].message))
        self.assertEqual(warned[0].filename, __file__)
        self.assertEqual(loader.stats()["held"], 2)

    def test_never_raises_and_loses_nothing(self):
        loader = self.load(copy="never")
        batches = iter(loader)
        held = [next(batches), next(batches)]
        for _ in range(2):
            with self.assertRaises(penstock.SlotsHeldError):
                next(batches)
        held.pop()
        self.assertEqual(next(batches)["x"].tolist(), [8, 9, 10, 11])

    def test_always_copies_each(self):
        loader = self.load(copy="always")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            batches = list(loader)
        self.assertEqual(len(batches), 10)
        self.assertEqual(loader.stats()["held"], 0)

    def test_copies_do_not_end_when_batches_are_held_for_ever(self):
        loader = self.load({"steps": 1000})
        held = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for batch in loader:
                if batch.step < 2:
                    held.append(batch)
        self.assertEqual(held[0]["x"].tolist(), [0, 1, 2, 3])
        self.assertEqual(batch.step, 999)

    def test_slots_that_come_back_are_used_again(self):
        loader = self.load()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            held = [next(iter(loader)) for _ in range(5)]
        held.clear()
        batch = next(iter(loader))
        address = batch["x"].__array_interface__["data"][0]
        memory = loader._stream._slots.memory
        self.assertIn(address, range(memory.address, memory.address + memory.size))

    def test_a_batch_that_goes_while_next_waits_lets_it_go_on(self):
        loader = self.load({"slots": 4, "steps": 1000, "only_waited": 1})
        batches = iter(loader)
        held = [next(batches)]
        done = threading.Event()

        def drop():
            while not done.wait(0.002):
                held[:] = held[-1:]

        thread = threading.Thread(target=drop)
        thread.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for batch in batches:
                held.append(batch)
        done.set()
        thread.join()
        self.assertEqual(batch.step, 999)


class PointersTest(fake_case.FakeFeedTestCase):
    def check(self, loader, address_of):
        memory = None
        for batch in loader:
            memory = loader._stream._slots.memory
            for tensor in batch.values():
                self.assertIn(address_of(tensor) - memory.address, range(memory.size))
        self.assertIsNotNone(memory)

    def test_numpy_arrays_are_no_copies(self):
        self.check(self.load(record_ids=True),
                   lambda array: array.__array_interface__["data"][0])

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_torch_tensors_are_no_copies(self):
        self.check(self.load(output="torch"), lambda tensor: tensor.data_ptr())

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_bf16_of_torch_is_no_copy(self):
        loader = self.load({"dtype": "bf16"}, output="torch")
        self.check(loader, lambda tensor: tensor.data_ptr())
        self.assertEqual(next(iter(loader))["planes"].dtype, torch.bfloat16)

    def test_bf16_of_numpy_is_that_of_ml_dtypes_or_refused(self):
        try:
            import ml_dtypes
        except ImportError:
            with self.assertRaisesRegex(ImportError, "pip install ml_dtypes"):
                self.load({"dtype": "bf16"})
            return
        batch = next(iter(self.load({"dtype": "bf16"})))
        self.assertEqual(batch["planes"].dtype, ml_dtypes.bfloat16)

    def test_nchw_is_a_view_with_other_strides(self):
        batch = next(iter(self.load(layout="NCHW")))
        self.assertEqual(batch["planes"].shape, (4, 3, 2, 1))
        self.assertEqual(batch["planes"].strides, (6, 1, 3, 3))
        self.assertEqual(batch["x"].shape, (4,))


class BatchTest(fake_case.FakeFeedTestCase):
    def test_a_batch_is_a_dict_with_a_place(self):
        batch = next(iter(self.load(record_ids=True)))
        self.assertIsInstance(batch, dict)
        self.assertEqual(list(batch), ["x", "planes"])
        self.assertEqual((batch.step, batch.epoch, batch.position, batch.first_row), (0, 0, 0, 0))
        self.assertEqual((batch.rows, batch.global_rows), (4, 4))
        self.assertEqual(batch.cursor, f"ps1-{fake_feed.FINGERPRINT}-0-4")
        self.assertEqual(batch.record_ids.tolist(), [0, 1, 2, 3])
        self.assertEqual(batch.record_ids.dtype, np.int64)

    def test_pickles_and_copies_hold_no_slot(self):
        loader = self.load(record_ids=True)
        batch = next(iter(loader))
        copies = [pickle.loads(pickle.dumps(batch)), batch.with_tensors({"x": 1})]
        del batch
        self.assertEqual(loader.stats()["held"], 0)
        for copy in copies:
            self.assertEqual((copy.step, copy.cursor), (0, f"ps1-{fake_feed.FINGERPRINT}-0-4"))
            self.assertEqual(copy.record_ids.tolist(), [0, 1, 2, 3])
        self.assertEqual(copies[0]["x"].tolist(), [0, 1, 2, 3])

    def test_its_representation_has_no_values(self):
        batch = next(iter(self.load()))
        tensors = "{x: int64 [4], planes: uint8 [4, 2, 1, 3]}>"
        self.assertEqual(repr(batch), f"<penstock.Batch at epoch 0, position 0: {tensors}")
        self.assertEqual(str(batch), repr(batch))
        self.assertEqual(repr(penstock.Batch({"y": 7})), "<penstock.Batch: {y: int}>")

    def test_a_batch_of_tensors_alone_says_that_it_has_no_place(self):
        with self.assertRaisesRegex(AttributeError, "no place in an epoch"):
            _ = penstock.Batch({"x": 1}).step

    def test_arrays_of_numpy_are_not_moved(self):
        batch = next(iter(self.load()))
        with self.assertRaisesRegex(TypeError, 'output="torch"'):
            batch.to("cpu")

    def test_a_weak_reference_ends_with_the_batch(self):
        batch = next(iter(self.load()))
        reference = weakref.ref(batch)
        del batch
        self.assertIsNone(reference())

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_pytrees_of_torch_see_the_tensors(self):
        from torch.utils import _pytree

        batch = next(iter(self.load(output="torch")))
        doubled = _pytree.tree_map(lambda tensor: 2 * tensor, batch)
        self.assertIsInstance(doubled, penstock.Batch)
        self.assertEqual(doubled["x"].tolist(), [0, 2, 4, 6])

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_to_keeps_the_place(self):
        batch = next(iter(self.load(output="torch", record_ids=True)))
        moved = batch.to("cpu", non_blocking=True)
        self.assertEqual((moved.step, moved.record_ids.tolist()), (0, [0, 1, 2, 3]))


class PinningTest(fake_case.FakeFeedTestCase):
    """Tests that a slot is not filled again while a copy reads it, even if its batch is gone."""

    class Copy:
        """Stands for a CUDA event: a copy to a device that ends when the test says so."""

        def __init__(self):
            self.ended = False

        def query(self):
            return self.ended

    def setUp(self):
        super().setUp()
        from penstock._pinning import RegisteredCopies

        self.copies = []

        def record(_device):
            self.copies.append(self.Copy())
            return self.copies[-1]

        self.loader = self.load()
        self.registered = RegisteredCopies(record)
        self.loader._stream.copies = self.loader._stream.layout.copies = self.registered

    def copy_next(self, batches):
        class OnDevice:
            def to(self, device, non_blocking):
                assert non_blocking
                return device

        batch = next(batches)
        self.registered.copy({name: OnDevice() for name in batch}, batch._base, "cuda")

    def test_a_slot_is_held_until_its_copy_has_ended(self):
        batches = iter(self.loader)
        self.copy_next(batches)
        self.assertEqual(self.loader.stats()["held"], 1)
        self.copies[0].ended = True
        self.registered.sweep()
        self.assertEqual(self.loader.stats()["held"], 0)

    def test_running_copies_count_as_held_and_are_looked_after(self):
        batches = iter(self.loader)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(4):
                self.copy_next(batches)
        self.assertEqual(self.loader.stats()["held"], 2)
        for copy in self.copies:
            copy.ended = True
        batch = next(batches)
        self.assertEqual(self.loader.stats()["held"], 1)
        self.assertEqual(batch["x"].tolist(), [16, 17, 18, 19])

    def test_a_copy_that_ends_while_next_waits_gives_its_slot_back(self):
        batches, feed = iter(self.loader), self.loader._stream._feed.process
        self.copy_next(batches)
        time.sleep(0.1)  # In this time the other three slots are announced.
        feed.send_signal(signal.SIGSTOP)
        self.addCleanup(feed.send_signal, signal.SIGCONT)
        for _ in range(3):
            next(batches)
        held = []

        def end_copy():
            try:
                time.sleep(0.1)
                held.append(self.loader._stream.num_held())
                self.copies[0].ended = True
                time.sleep(0.2)
                held.append(self.loader._stream.num_held())
            finally:
                feed.send_signal(signal.SIGCONT)

        thread = threading.Thread(target=end_copy)
        thread.start()
        next(batches)
        thread.join()
        self.assertEqual(held, [1, 0])

    def test_register_needs_torch_output(self):
        with self.assertRaisesRegex(ValueError, "torch"):
            self.load(pin="register")


if __name__ == "__main__":
    unittest.main()
