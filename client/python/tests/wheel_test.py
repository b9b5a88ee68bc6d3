"""Tests the wheels that the build backend makes, and what it refuses. The programs here are
scripts."""

from __future__ import annotations

import base64
import csv
import email
import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE / "backend"))

import penstock_wheel  # noqa: E402

VERSION = penstock_wheel.read_version()


class WheelTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-wheel-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for name in penstock_wheel.PROGRAMS:
            self.program(name, VERSION)

    def program(self, name: str, version: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\necho '{name} {version} (commit unknown)'\n")
        path.chmod(0o755)

    def hook(self, name: str) -> subprocess.CompletedProcess[str]:
        """Calls a hook like an installer, in a process of its own."""
        call = f"import penstock_wheel; print(penstock_wheel.{name}({str(self.folder)!r}))"
        return subprocess.run([sys.executable, "-B", "-c", call], capture_output=True, text=True,
                              timeout=60, env={**os.environ, "PENSTOCK_BIN": str(self.folder),
                                               "PYTHONPATH": str(PACKAGE / "backend")})

    def built(self, hook: str = "build_wheel") -> zipfile.ZipFile:
        result = self.hook(hook)
        self.assertEqual(result.returncode, 0, result.stderr)
        archive = zipfile.ZipFile(self.folder / result.stdout.strip())
        self.addCleanup(archive.close)
        return archive

    def read(self, archive: zipfile.ZipFile, name: str) -> str:
        return archive.read(f"penstock-{VERSION}.dist-info/{name}").decode()

    def refused(self, hook: str = "build_wheel") -> str:
        result = self.hook(hook)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr

    def test_it_has_one_executable_copy_of_the_programs(self) -> None:
        archive = self.built()
        executable = [entry.filename for entry in archive.infolist()
                      if entry.external_attr >> 16 & 0o111]
        self.assertEqual(executable, [f"penstock/bin/{name}" for name in penstock_wheel.PROGRAMS])
        for entry in archive.infolist():
            self.assertEqual(entry.external_attr >> 28, 0o10, f"{entry.filename} is no file")

    def test_it_has_the_whole_package_and_nothing_else(self) -> None:
        names = set(self.built().namelist())
        for name in ("__main__.py", "_programs.py", "_version.py", "py.typed"):
            self.assertIn(f"penstock/{name}", names)
        self.assertFalse([name for name in names if "__pycache__" in name])
        self.assertEqual({name.split("/")[0] for name in names},
                         {"penstock", f"penstock-{VERSION}.dist-info"})

    def test_its_record_has_the_digest_of_each_file(self) -> None:
        archive = self.built()
        rows = list(csv.reader(io.StringIO(self.read(archive, "RECORD"))))
        self.assertEqual([row[0] for row in rows], archive.namelist())
        for name, digest, size in rows[:-1]:
            content = archive.read(name)
            want = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            self.assertEqual((digest, size), (f"sha256={want}", str(len(content))), name)

    def test_its_metadata(self) -> None:
        archive = self.built()
        said = email.message_from_string(self.read(archive, "METADATA"))
        self.assertEqual((said["Name"], said["Version"]), ("penstock", VERSION))
        self.assertEqual(said["Requires-Python"], ">=3.10")
        self.assertIn("numpy>=1.22", said.get_all("Requires-Dist", []))
        self.assertEqual(said["License-Expression"], "Apache-2.0")
        self.assertIn('torch; extra == "torch"', said.get_all("Requires-Dist", []))
        for name in said.get_all("License-File", []):
            self.assertTrue(self.read(archive, f"licenses/{name}"))
        self.assertIn("Tag: py3-none-linux_x86_64\n", self.read(archive, "WHEEL"))
        self.assertIn("penstock-server = penstock._programs:run_penstock_server\n",
                      self.read(archive, "entry_points.txt"))

    def test_it_is_the_same_each_time(self) -> None:
        first = pathlib.Path(str(self.built().filename)).read_bytes()
        self.assertEqual(pathlib.Path(str(self.built().filename)).read_bytes(), first)

    def test_the_wheel_for_all_has_licenses_and_all_tags(self) -> None:
        licenses = self.folder / "licenses"
        (licenses / "zlib").mkdir(parents=True)
        (licenses / "zlib/copyright").write_text("of zlib")
        out = subprocess.run([sys.executable, "-B", PACKAGE / "backend/penstock_wheel.py",
                              "--programs", self.folder, "--licenses", licenses,
                              "--platform", "one.two", self.folder],
                             check=True, capture_output=True, text=True, timeout=60).stdout
        with zipfile.ZipFile(out.strip()) as archive:
            self.assertEqual(self.read(archive, "licenses/zlib/copyright"), "of zlib")
            metadata = self.read(archive, "METADATA")
            self.assertIn("License-File: zlib/copyright\n", metadata)
            self.assertRegex(metadata, "License-Expression: Apache-2.0 AND .*LGPL-2.1-or-later")
            self.assertIn("Tag: py3-none-one\nTag: py3-none-two\n", self.read(archive, "WHEEL"))

    def test_an_editable_one_points_at_the_checkout(self) -> None:
        archive = self.built("build_editable")
        self.assertEqual(archive.read("__editable__.penstock.pth").decode(), f"{PACKAGE}\n")
        self.assertFalse([name for name in archive.namelist() if name.startswith("penstock/")])

    def test_missing_programs_are_told_in_one_sentence(self) -> None:
        (self.folder / "penstock-server").unlink()
        self.assertRegex(self.refused(), "^penstock: .*/penstock-server does not exist: build the "
                         r"programs first \(cd .* --target penstock penstock-server\)")

    def test_programs_of_another_version_are_refused(self) -> None:
        self.program("penstock", "0.0.9")
        said = f"is of another version than this package, {VERSION}: it says 'penstock 0.0.9"
        self.assertIn(said, self.refused())

    def test_there_is_no_source_distribution(self) -> None:
        self.assertIn("there is no source distribution", self.refused("build_sdist"))


if __name__ == "__main__":
    unittest.main()
