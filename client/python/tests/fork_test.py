"""Tests children of a process that reads: they disturb neither its slots nor the end of its feed.
"""

import atexit
import gc
import os
import signal
import subprocess
import sys
import textwrap
import traceback
import unittest

import fake_case
import fake_feed
import real_data
from penstock import _protocol as protocol


def in_child(function, fork=os.fork):
    """Returns the text that `function()` returns in a forked child, or its traceback."""
    reading, writing = os.pipe()
    pid = fork()
    if pid == 0:
        try:
            words = function()
        except BaseException:
            words = traceback.format_exc()
        os.write(writing, words.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        words = pipe.read()
    os.waitpid(pid, 0)
    return words


class ForkTest(fake_case.FakeFeedTestCase):
    def test_a_child_that_drops_a_batch_does_not_release_it(self):
        loader = self.load()
        batches = iter(loader)
        held = [next(batches)]

        def drop():
            # Sets the flag as a waiting thread of the parent would. Owners that are destroyed then
            # tell the feed at once.
            loader._stream._slots.urgent = True
            held.clear()
            gc.collect()
            return "dropped"

        self.assertEqual(in_child(drop), "dropped")
        self.assertEqual(loader.stats()["held"], 1)
        next(batches)
        next(batches)
        self.assertEqual(held[0]["x"].tolist(), [0, 1, 2, 3])
        released = [value for _, _, value in self.requests(protocol.RELEASE)]
        self.assertNotIn(0, released)

    def test_a_child_reads_the_batch_that_it_inherited(self):
        batch = next(iter(self.load()))
        self.assertEqual(in_child(lambda: str(batch["x"].tolist())), "[0, 1, 2, 3]")

    def test_next_of_a_child_says_whose_the_loader_is(self):
        loader = self.load()
        batches = iter(loader)
        next(batches)
        for attempt in (lambda: next(batches), lambda: next(iter(loader))):
            words = in_child(attempt)
            self.assertIn(f"RuntimeError: this Loader belongs to process {os.getpid()}", words)
        self.assertEqual(next(batches)["x"].tolist(), [4, 5, 6, 7])

    def test_close_and_stats_in_a_child_change_nothing(self):
        loader = self.load()
        batches = iter(loader)
        next(batches)

        def end():
            loader.close()
            return f"{loader.stats()['batches']} {loader.state_dict()['cursor']}"

        self.assertEqual(in_child(end), f"1 ps1-{fake_feed.FINGERPRINT}-0-4")
        self.assertEqual(len(list(batches)), 9)

    def test_a_child_may_make_its_own(self):
        loader = self.load()
        next(iter(loader))

        def read():
            return str(next(iter(self.load()))["x"].tolist())

        self.assertEqual(in_child(read), "[0, 1, 2, 3]")
        self.assertEqual(next(iter(loader))["x"].tolist(), [4, 5, 6, 7])

    def test_the_exit_handlers_of_a_child_leave_the_feed_alone(self):
        loader = self.load()
        batches = iter(loader)
        next(batches)
        pid = os.fork()
        if pid == 0:
            atexit._run_exitfuncs()  # The interpreter does this when the child ends.
            loader._finalizer()
            os._exit(0)
        os.waitpid(pid, 0)
        self.assertEqual(len(list(batches)), 9)


class DeathTest(real_data.RealDataTestCase):
    """Tests that the feed of a killed process ends while a child of the process still lives."""

    def kill_trainer(self, make_child):
        """Kills a trainer that has a feed and a child, and checks that the feed ends."""
        script = textwrap.dedent(f"""
            import ctypes, os, subprocess, sys, time
            import penstock
            loader = penstock.Loader({str(self.data)!r}, global_batch_size=64)
            batch = next(iter(loader))
            {make_child}
            print(loader._stream._feed.process.pid, child, flush=True)
            time.sleep(60)
        """)
        trainer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(trainer.stdout.close)
        self.addCleanup(trainer.wait)
        self.addCleanup(trainer.kill)
        feed, child = (int(word) for word in trainer.stdout.readline().split())
        self.addCleanup(self.kill, child)
        self.assertTrue(real_data.is_running(feed))
        trainer.kill()
        trainer.wait()
        self.assertTrue(real_data.is_running(child))
        self.wait_until(lambda: not real_data.is_running(feed), "the end of the feed")

    @staticmethod
    def kill(pid):
        if pid != os.getpid():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def test_a_forked_child(self):
        self.kill_trainer("child = os.fork()\n"
                          "            if child == 0: time.sleep(60); os._exit(0)")

    def test_a_child_that_was_forked_without_python_and_keeps_the_socket(self):
        self.kill_trainer("child = ctypes.PyDLL(None).fork()\n"
                          "            if child == 0: time.sleep(60); os._exit(0)")

    def test_a_program(self):
        self.kill_trainer("child = subprocess.Popen(['sleep', '60'], close_fds=False).pid")


if __name__ == "__main__":
    unittest.main()
