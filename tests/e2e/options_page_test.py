"""docs/reference/options_*.md are what the programs print with --help."""
import os
import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "options.py"


class OptionsPageTest(unittest.TestCase):
    def test_the_pages_are_current(self):
        done = subprocess.run([sys.executable, SCRIPT, os.environ["PENSTOCK_BIN"], "--check"],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
