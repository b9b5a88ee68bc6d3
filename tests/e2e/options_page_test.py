"""docs/reference/options_*.md are what the programs print with --help."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "options.py"


class OptionsPageTest(unittest.TestCase):
    def check(self, programs):
        return subprocess.run([sys.executable, SCRIPT, programs, "--check"], capture_output=True,
                              text=True, timeout=300)

    def test_the_pages_are_current(self):
        done = self.check(os.environ["PENSTOCK_BIN"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_an_option_without_a_meaning_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("penstock", "penstock-server", "penstock-train"):
                program = pathlib.Path(folder) / name
                program.write_text("#!/bin/sh\nprintf 'Usage: x\\n\\nOptions:\\n  --mute TEXT\\n'\n")
                program.chmod(0o755)
            done = self.check(folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no meaning was found for --mute", done.stdout)


if __name__ == "__main__":
    unittest.main()
