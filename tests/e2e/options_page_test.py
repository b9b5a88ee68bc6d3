"""Tests that docs/reference/options_*.md match the programs' options."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "options.py"
MUTE = {"names": ["--mute"], "placeholder": "TEXT", "description": "", "choices": [], "range": "", "default": "",
        "variable": "", "excludes": "", "required": False, "repeated": False}


class OptionsPageTest(unittest.TestCase):
    def check(self, programs):
        return subprocess.run([sys.executable, SCRIPT, programs, "--check"], capture_output=True,
                              text=True, timeout=300)

    def test_the_pages_are_current(self):
        done = self.check(os.environ["PENSTOCK_BIN"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_an_option_without_a_meaning_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            tables = pathlib.Path(folder) / "share" / "penstock"
            tables.mkdir(parents=True)
            for name in ("penstock", "penstock-server", "penstock-train"):
                page = {"name": name, "description": "", "usage": name, "examples": [],
                        "groups": [{"title": "Options", "options": [MUTE]}]}
                (tables / f"{name}.json").write_text(json.dumps([page]))
            done = self.check(pathlib.Path(folder) / "bin")
        self.assertEqual(done.returncode, 1)
        self.assertIn("options_server.md: no meaning was found for --mute", done.stdout)
        self.assertIn("options_data.md: there is no table of penstock index", done.stdout)

    def test_without_tables_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.check(pathlib.Path(folder) / "bin")
        self.assertEqual(done.returncode, 1)
        self.assertIn("penstock.json: no such file", done.stdout)


if __name__ == "__main__":
    unittest.main()
