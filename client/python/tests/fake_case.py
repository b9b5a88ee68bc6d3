"""A test case that reads from the fake feed."""

import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest
import urllib.parse

import fake_feed
import penstock


class FakeFeedTestCase(unittest.TestCase):
    """Makes the Loaders of a test use the fake."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-fake-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.journal = self.folder / "journal"
        shim = self.folder / "penstock"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "{fake_feed.__file__}" "$@"\n')
        shim.chmod(0o755)
        before = os.environ.get("PENSTOCK_BIN")
        os.environ["PENSTOCK_BIN"] = str(self.folder)
        self.addCleanup(self._restore, before)

    @staticmethod
    def _restore(before):
        if before is None:
            del os.environ["PENSTOCK_BIN"]
        else:
            os.environ["PENSTOCK_BIN"] = before

    def dataset(self, **behaviour):
        return urllib.parse.urlencode({"journal": self.journal, **behaviour})

    def load(self, behaviour=None, **options):
        """Returns a Loader of the fake, which is closed after the test."""
        options = {"rank": 0, "world_size": 1, **options}
        loader = penstock.Loader(self.dataset(**(behaviour or {})), **options)
        self.addCleanup(loader.close)
        return loader

    def requests(self, kind=None):
        """Returns the requests to the feed, of one kind or all: [kind, generation, value]."""
        if not self.journal.exists():
            return []
        lines = [json.loads(line) for line in self.journal.read_text().splitlines()]
        return [line for line in lines if kind in (None, line[0])]

    def wait_until(self, condition, what, seconds=10):
        """Fails if `condition()` is not true in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"{what}: not within {seconds} s")
            time.sleep(0.005)
