"""Signals that interrupt a call of the Loader: no batch is lost, and none comes twice."""

import os
import signal
import threading
import time
import unittest
from unittest import mock

import fake_case
import fake_feed
import penstock
import real_data
from penstock import _protocol as protocol


def lose_a_batch(loader, batches):
    """Interrupts `next(batches)` after it has taken a batch from the feed."""
    with mock.patch.object(loader._stream.layout, "make", side_effect=KeyboardInterrupt):
        try:
            next(batches)
        except KeyboardInterrupt:
            return
    raise AssertionError("not interrupted")


class Interrupted(Exception):
    """Raised by a signal handler."""


class Interruptions:
    """Raises Interrupted in this thread every `seconds`, if it is armed."""

    def __init__(self, seconds):
        self.armed = False
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._ended.wait(self._seconds):
            os.kill(os.getpid(), signal.SIGUSR1)

    def _handle(self, *_):
        if self.armed:
            self.armed = False
            raise Interrupted

    def __enter__(self):
        self._before = signal.signal(signal.SIGUSR1, self._handle)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.armed = False
        self._ended.set()
        self._thread.join()
        signal.signal(signal.SIGUSR1, self._before)


class SignalTest(fake_case.FakeFeedTestCase):
    def test_ctrl_c_ends_a_wait_at_once(self):
        loader = self.load({"deaf": 30})
        delays = [self.seconds_until_interrupted(loader) for _ in range(5)]
        self.assertLess(max(delays), 5)  # The feed is deaf for 30 s.
        self.assertLess(min(delays), 0.15)  # A busy machine may delay some.
        self.assertEqual(loader.state_dict()["cursor"], f"ps1-{fake_feed.FINGERPRINT}-0-0")

    def seconds_until_interrupted(self, loader):
        """Returns how long a wait for a batch goes on after Ctrl-C."""
        sent = []

        def press():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.3, press)
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            next(iter(loader))
        ended = time.monotonic()
        timer.join()
        return ended - sent[0]

    def test_a_batch_that_was_lost_to_an_interruption_comes_again(self):
        loader = self.load()
        batches = iter(loader)
        first = next(batches)
        make = loader._stream.layout.make
        lose_a_batch(loader, batches)
        self.assertEqual(loader._stream.layout.make, make)
        self.assertEqual(loader.state_dict()["cursor"], first.cursor)
        self.assertEqual(next(batches)["x"].tolist(), [4, 5, 6, 7])
        self.assertEqual(sum(1 for _ in loader), 8)

    def test_the_last_batch_too(self):
        loader = self.load({"steps": 2, "epochs": 1})
        batches = iter(loader)
        next(batches)
        lose_a_batch(loader, batches)
        self.assertEqual(next(batches)["x"].tolist(), [4, 5, 6, 7])

    def test_bytes_that_were_lost_to_an_interruption_cost_a_new_feed(self):
        loader = self.load()
        batches = iter(loader)
        for _ in range(4):
            next(batches)
        parser = mock.patch.object(protocol.Parser, "parse", side_effect=KeyboardInterrupt)
        with parser, self.assertRaises(KeyboardInterrupt):
            for _ in range(20):
                next(batches)
        before = loader._stream.cursor()
        batch = next(batches)
        self.assertEqual(f"ps1-{fake_feed.FINGERPRINT}-{batch.epoch}-{batch.position}", before)

    def test_interrupted_again_and_again_each_batch_is_the_one_behind_the_state(self):
        loader = self.load({"steps": 100000, "slots": 8})
        batches, interrupted, taken = iter(loader), 0, 0
        next(batches)
        deadline = time.monotonic() + 10
        with Interruptions(0.0113) as interruptions:
            while interrupted < 100 and time.monotonic() < deadline:
                expected = int(loader.state_dict()["cursor"].split("-")[-1])
                try:
                    interruptions.armed = True
                    batch = next(batches)
                    interruptions.armed = False
                except Interrupted:
                    interrupted += 1
                    continue
                taken += 1
                self.assertEqual((batch.position, batch["x"][0]), (expected, expected))
        self.assertGreaterEqual(interrupted, 10)
        self.assertGreater(taken, 10)


class RealDataTest(real_data.RealDataTestCase):
    def test_evaluation_that_was_interrupted_begins_again(self):
        loader = penstock.evaluate_loader(self.data, global_batch_size=64, record_ids=True)
        self.addCleanup(loader.close)
        batches = iter(loader)
        next(batches)
        lose_a_batch(loader, batches)
        next(batches)  # The stream starts again after the first batch.
        lose_a_batch(loader, batches)
        self.assertEqual(len([record for batch in loader for record in batch.record_ids]), loader.records)

    def test_max_steps_and_the_step_go_on_after_an_interruption(self):
        loader = self.load(max_steps=7)
        batches = iter(loader)
        steps = [next(batches).step for _ in range(3)]
        lose_a_batch(loader, batches)
        steps += [batch.step for batch in batches]
        self.assertEqual(steps, list(range(7)))
        self.assertEqual(loader.stats()["batches"], 7)
        loader.load_state_dict(loader.state_dict())  # The count starts again here.
        self.assertEqual([batch.step for batch in loader], list(range(7)))
        self.assertEqual(loader.stats()["batches"], 14)


if __name__ == "__main__":
    unittest.main()
