"""Tests where the package finds its programs, and that its commands become them."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "penstock"
ROOT = PACKAGE.parents[2]
# Prints its name, process id and arguments, and exits with 23.
PROGRAM = """#!/bin/sh
echo "$0 $$"
printf '%s\\n' "$@"
exit 23
"""


def executable(path: pathlib.Path, text: str = PROGRAM) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class ProgramsTestCase(unittest.TestCase):
    """A checkout in a folder of its own, whose package has only _programs.py."""

    def setUp(self) -> None:
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="penstock-programs-")).resolve()
        self.addCleanup(shutil.rmtree, self.root)
        self.built = self.root / "build/release/bin"
        self.package = self.root / "client/python/penstock"
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").touch()
        for name in ("_programs.py", "__main__.py"):
            shutil.copy(PACKAGE / name, self.package)
        (self.root / "CMakeLists.txt").touch()
        environment = {name: value for name, value in os.environ.items() if name != "PENSTOCK_BIN"}
        changed = unittest.mock.patch.dict(os.environ, environment, clear=True)
        changed.start()
        self.addCleanup(changed.stop)

    def programs(self) -> types.ModuleType:
        spec = importlib.util.spec_from_file_location("programs", self.package / "_programs.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def find(self, name: str = "penstock") -> str:
        found = self.programs().program(name)
        assert isinstance(found, str)
        return found


class FindTest(ProgramsTestCase):
    def test_the_variable_comes_first_then_the_package_then_the_checkout(self) -> None:
        built = executable(self.built / "penstock")
        self.assertEqual(self.find(), str(built))
        installed = executable(self.package / "bin/penstock")
        self.assertEqual(self.find(), str(installed))
        chosen = executable(self.root / "chosen/penstock")
        os.environ["PENSTOCK_BIN"] = str(chosen.parent)
        self.assertEqual(self.find(), str(chosen))
        os.environ["PENSTOCK_BIN"] = ""
        self.assertEqual(self.find(), str(installed))

    def test_a_program_that_the_wheel_lacks_comes_from_the_checkout(self) -> None:
        executable(self.package / "bin/penstock")
        built = executable(self.built / "penstock-train")
        self.assertEqual(self.find("penstock-train"), str(built))

    def test_a_relative_folder_is_made_absolute(self) -> None:
        chosen = executable(self.root / "chosen/penstock-server")
        os.environ["PENSTOCK_BIN"] = os.path.relpath(chosen.parent)
        self.assertTrue(os.path.isabs(self.find("penstock-server")))
        self.assertTrue(os.path.samefile(self.find("penstock-server"), chosen))

    def test_a_variable_that_leads_nowhere_is_an_error_though_others_are_there(self) -> None:
        executable(self.built / "penstock")
        os.environ["PENSTOCK_BIN"] = "/none"
        with self.assertRaisesRegex(FileNotFoundError, "no program /none/penstock. PENSTOCK_BIN "):
            self.find()

    def test_a_checkout_says_how_to_build(self) -> None:
        with self.assertRaisesRegex(FileNotFoundError, re.escape(
                f"no program {self.built}/penstock. Build it: cd {self.root} && .ci/install.sh && "
                ".ci/build.sh release --target penstock")):
            self.find()

    def test_an_installed_package_says_how_to_install(self) -> None:
        (self.root / "CMakeLists.txt").unlink()
        with self.assertRaisesRegex(FileNotFoundError, "pip install --force-reinstall penstock"):
            self.find()
        with self.assertRaisesRegex(FileNotFoundError, "comes without it: build it in a checkout"):
            self.find("penstock-train")

    def test_a_file_that_may_not_be_executed_is_told(self) -> None:
        path = executable(self.built / "penstock")
        path.chmod(0o644)
        with self.assertRaisesRegex(PermissionError, re.escape(f"{path} is not executable: chmod")):
            self.find()

    def test_a_folder_mounted_noexec_is_told(self) -> None:
        path = executable(self.built / "penstock")
        path.chmod(0o644)  # access(2) gives the same result for both.
        noexec = unittest.mock.Mock(f_flag=os.ST_NOEXEC | os.ST_NOSUID)
        with unittest.mock.patch("os.statvfs", return_value=noexec):
            with self.assertRaisesRegex(PermissionError, "mounted noexec: install the package on"):
                self.find()

    def test_other_names_are_refused(self) -> None:
        executable(self.built / "penstock-sim")
        with self.assertRaisesRegex(ValueError, "no program 'penstock-sim'"):
            self.find("penstock-sim")


class CommandTest(ProgramsTestCase):
    def command(self, call: str, *args: str) -> subprocess.CompletedProcess[str]:
        return self.python("-c", f"from penstock._programs import {call}; {call}()", *args)

    def python(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PYTHONPATH": str(self.package.parent)})

    def test_arguments_and_exit_status_pass_through(self) -> None:
        path = executable(self.package / "bin/penstock-server")
        result = self.command("run_penstock_server", "--listen", "a b", "", "*")
        self.assertEqual(result.stdout.splitlines()[0].split()[0], str(path))
        self.assertEqual(result.stdout.splitlines()[1:], ["--listen", "a b", "", "*"])
        self.assertEqual(result.returncode, 23)

    def test_the_module_is_the_command(self) -> None:
        path = executable(self.package / "bin/penstock")
        result = self.python("-m", "penstock", "index", "data")
        self.assertEqual(result.stdout.splitlines()[0].split()[0], str(path))
        self.assertEqual(result.stdout.splitlines()[1:], ["index", "data"])
        self.assertEqual(result.returncode, 23)

    def test_the_process_stays_the_same(self) -> None:
        executable(self.package / "bin/penstock")
        environment = {**os.environ, "PYTHONPATH": str(self.package.parent)}
        child = subprocess.Popen([sys.executable, "-m", "penstock"], env=environment,
                                 stdout=subprocess.PIPE, text=True)
        out, _ = child.communicate(timeout=60)
        self.assertEqual(out.split()[1], str(child.pid))

    def test_a_closed_pipe_ends_the_program(self) -> None:
        executable(self.package / "bin/penstock", "#!/bin/sh\nkill -PIPE $$\necho it was ignored\n")
        result = self.command("run_penstock")
        self.assertEqual(result.returncode, -signal.SIGPIPE, result.stdout)

    def test_what_cannot_be_started_ends_as_in_a_shell(self) -> None:
        result = self.command("run_penstock", "--version")
        self.assertEqual(result.returncode, 127)
        self.assertRegex(result.stderr, r"^penstock: no program .*/penstock\. Build it: .*\n$")
        path = executable(self.package / "bin/penstock", "\x7fELF of another machine")
        result = self.command("run_penstock", "--version")
        self.assertEqual(result.returncode, 126)
        self.assertRegex(result.stderr, f"^penstock: {path} cannot be started: .* Linux on x86-64")
        path.chmod(0o644)
        result = self.command("run_penstock", "--version")
        self.assertEqual(result.returncode, 126)
        self.assertIn("not executable", result.stderr)


class VersionTest(unittest.TestCase):
    def test_it_is_that_of_the_programs(self) -> None:
        built = (ROOT / "CMakeLists.txt").read_text()
        stated = re.search(r"^project\(Penstock VERSION (\S+)", built, re.M)
        assert stated is not None
        scope: dict[str, str] = {}
        exec((PACKAGE / "_version.py").read_text(), scope)
        self.assertEqual(scope["__version__"], stated[1])


if __name__ == "__main__":
    unittest.main()
