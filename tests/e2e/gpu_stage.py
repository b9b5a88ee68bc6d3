"""What the tests of bench/gpu share."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

GPU = pathlib.Path(__file__).resolve().parents[2] / "bench" / "gpu"
sys.path.insert(0, str(GPU))
import stage  # noqa: E402
import training  # noqa: E402

from servers import REPOSITORY, TIMEOUT_S  # noqa: E402


def load(name):
    """Loads a program, which has no suffix, as a module."""
    loader = importlib.machinery.SourceFileLoader(f"gpu_{name}", str(GPU / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def program(path, text):
    """Writes a shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


class StageTestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        said = contextlib.redirect_stdout(io.StringIO())  # The log has it too.
        said.__enter__()
        self.addCleanup(said.__exit__, None, None, None)
        self.stage = stage.Stage("test", self.folder / "out", TIMEOUT_S)
        self.addCleanup(self.stage.log.close)

    def read(self):
        return json.loads(self.stage.path.read_text())

    def patch(self, module, **values):
        for name, value in values.items():
            patched = mock.patch.object(module, name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def contact(self, **values):
        """What a stage gets, with these programs and options."""
        return types.SimpleNamespace(**{
            "stage": self.stage, "root": REPOSITORY, "state": self.folder, "python": sys.executable,
            "emulated": False, "wanted": "", "compute_sanitizer": lambda: None,
            "setting": training.Setting(self.folder / "bin", self.folder, log=self.stage.log), **values})
