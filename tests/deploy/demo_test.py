"""Tests the demos, with fewer epochs and without building the programs."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ["PENSTOCK_BIN"]
SAMPLE = os.environ["PENSTOCK_SAMPLE"]
DEMO = pathlib.Path(os.environ["PENSTOCK_DEPLOY"]) / "demo" / "demo.py"


class DemoTest(unittest.TestCase):
    def setUp(self):
        self.out = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "out"

    def demo(self, what, epochs):
        """Returns what the demo prints. It uses the images that it draws, whatever this machine
        has."""
        result = subprocess.run(
            [sys.executable, "-B", DEMO, what, "--bin", BIN, "--sample", SAMPLE,
             "--out", self.out, "--epochs", str(epochs)],
            env={**os.environ, "PENSTOCK_TEST_DATA": ""}, text=True, timeout=600,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("killed half-way", result.stdout)
        self.assertIn("They are equal", result.stdout)
        return result.stdout

    def test_chess(self):
        self.demo("chess", 1)

    def test_images(self):
        output = self.demo("images", 4)
        for name in ("contact-sheet.png", "confusion-matrix.png"):
            self.assertIn(name, output)
            self.assertTrue((self.out / name).read_bytes().startswith(b"\x89PNG"), name)


if __name__ == "__main__":
    unittest.main()
