"""Tests how programs with a Loader end: no feed is left, and none of our tracebacks is printed."""

import concurrent.futures
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import real_data
from penstock._programs import program

try:
    import torch
except ImportError:
    torch = None

# Number of times that each way of ending is tried.
TIMES = int(os.environ.get("PENSTOCK_TEST_EXITS", "4"))

HEAD = """
import os, sys, threading, time
import penstock
loader = penstock.Loader(sys.argv[1], global_batch_size=64, output=sys.argv[2])
print(loader._stream._feed.process.pid, flush=True)
"""

# Ways in which programs end, each with the last line that it may print to stderr, and its exit
# code.
WAYS = {
    "before the first batch": ("", "", 0),
    "in mid-epoch": ("batches = iter(loader)\nbatch = next(batches)", "", 0),
    "with batches all over": ("held = list(loader)[:3]\nloader.held = held", "", 0),
    "with a cycle": ("batch = next(iter(loader))\nbatch['x'] = [loader, batch]", "", 0),
    "by sys.exit in the loop": ("for batch in loader: sys.exit(3)", "", 3),
    "by an exception in the loop": (
        "for batch in loader: raise ValueError('of the test')", "ValueError: of the test", 1),
    "while a daemon waits": (
        "def read():\n    while True:\n        for batch in loader: pass\n"
        "threading.Thread(target=read, daemon=True).start()\ntime.sleep(0.05)", "", 0),
    "after close, with a batch": ("batch = next(iter(loader))\nloader.close()", "", 0),
    "made in a thread": (
        "def make():\n    global other\n"
        "    other = penstock.Loader(sys.argv[1])\n    next(iter(other))\n"
        "thread = threading.Thread(target=make)\nthread.start()\nthread.join()\n"
        "time.sleep(0.1)\nassert len(list(other)) > 0", "", 0),
    "without handlers": ("next(iter(loader))\nos._exit(5)", "", 5),
}


class ExitTestCase(real_data.RealDataTestCase):
    def run_script(self, text, output="numpy", **options):
        number, script = tempfile.mkstemp(".py", dir=self.folder)
        with open(number, "w", encoding="utf-8") as file:
            file.write(HEAD + textwrap.dedent(text))
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", script, self.data, output],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()

    def check_end(self, process, last_line, code):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, err)
        last = err.strip().splitlines()[-1:] or [""]
        self.assertEqual(last[0], last_line, err)
        for word in ("Exception ignored", "penstock/_"):
            self.assertNotIn(word, err)
        feed = int(out.split()[0])
        self.wait_until(lambda: not real_data.is_running(feed), "the end of the feed")
        return out


class ExitsTest(ExitTestCase):
    def try_all(self, times, output="numpy"):
        """Tries each way `times` times, several programs at once."""
        def attempt(way):
            text, last_line, code = way
            self.check_end(self.run_script(text, output), last_line, code)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            tried = [(name, pool.submit(attempt, way)) for name, way in WAYS.items()
                     for _ in range(times)]
            for name, result in tried:
                with self.subTest(name):
                    result.result()

    def test_no_feed_and_no_traceback_is_left(self):
        self.try_all(TIMES)

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_nor_with_torch(self):
        self.try_all(1, "torch")


class SignalsTest(ExitTestCase):
    SLOW = ("for batch in loader:\n"
            "    if batch.step == 1: print('reading', flush=True)\n"
            "    time.sleep(0.01)\n")

    def started(self, text, **options):
        process = self.run_script(text, start_new_session=True, **options)
        self.feed = int(process.stdout.readline())
        self.assertEqual(process.stdout.readline(), "reading\n")
        return process

    def test_ctrl_c_to_all_leaves_a_state_and_a_feed_that_goes_on(self):
        process = self.started(f"""
            try:
                {self.SLOW.replace(chr(10), chr(10) + " " * 16)}
            except KeyboardInterrupt:
                pass
            state, last = loader.state_dict(), batch.cursor
            print(state["cursor"] == last, len(repr(state)) < 256, flush=True)
            print(next(iter(loader)).step == batch.step + 1, flush=True)
        """)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((out, err, process.returncode), ("True True\nTrue\n", "", 0))
        self.wait_until(lambda: not real_data.is_running(self.feed), "the end of the feed")

    def test_ctrl_c_that_nobody_catches(self):
        process = self.started(self.SLOW)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(err.strip().splitlines()[-1], "KeyboardInterrupt")
        self.assertEqual(err.count("Traceback"), 1)
        self.wait_until(lambda: not real_data.is_running(self.feed), "the end of the feed")

    def test_signals_of_launchers_do_not_end_the_feed(self):
        process = self.started(self.SLOW)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1,
                       signal.SIGUSR2):
            os.kill(self.feed, number)
        time.sleep(0.2)
        self.assertTrue(real_data.is_running(self.feed))
        self.assertIsNone(process.poll())

    def test_it_is_in_a_session_of_its_own(self):
        process = self.started(self.SLOW)
        self.assertEqual(os.getsid(self.feed), self.feed)
        self.assertNotEqual(os.getsid(process.pid), self.feed)

    def test_a_trainer_that_is_killed_takes_its_feed_along(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(number.name):
                process = self.started(self.SLOW)
                process.send_signal(number)
                process.wait()
                self.wait_until(lambda: not real_data.is_running(self.feed), "the feed's end")

    def test_a_feed_that_still_opens_ends_with_its_trainer(self):
        trainer = subprocess.Popen(["sleep", "600"])
        self.addCleanup(trainer.wait)
        self.addCleanup(trainer.kill)
        ours, feeds = socket.socketpair()
        self.addCleanup(ours.close)  # Another process holds the socket: it says nothing here.
        with feeds, socket.create_server(("127.0.0.1", 0)) as silent:
            feed = subprocess.Popen(
                [program("penstock"), "feed", "server:manifest.pb", "--servers",
                 f"127.0.0.1:{silent.getsockname()[1]}", "--server-timeout", "10m",
                 "--control-fd", str(feeds.fileno()), "--parent-pid", str(trainer.pid)],
                pass_fds=[feeds.fileno()], stderr=subprocess.DEVNULL)
            self.addCleanup(feed.wait)
            self.addCleanup(feed.kill)
            silent.settimeout(60)
            silent.accept()[0].close()  # The feed has asked for the manifest.
            self.assertIsNone(feed.poll())
            trainer.kill()
            self.assertEqual(feed.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
