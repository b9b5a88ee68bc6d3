"""The sample of this checkout and the programs of a build, for tests of the whole package."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from penstock._programs import program

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SAMPLE = REPOSITORY / "sample"


def run(*arguments):
    """Returns the output of `penstock ARGUMENTS`."""
    command = [program("penstock"), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{command}: {result.stderr}")
    return result.stdout


def is_running(pid):
    """Returns whether the process exists and is not a zombie."""
    try:
        status = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


# A shell that starts the tests in the background makes them, and their children, ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)


class RealDataTestCase(unittest.TestCase):
    """`self.data`: the sample, indexed, with 5 % of the records held out."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-python-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.folder = folder
        cls.data = folder / "data"
        shutil.copytree(SAMPLE, cls.data, ignore=shutil.ignore_patterns("manifest*"))
        run("index", cls.data, "--holdout", "5%", "-o", cls.data / "manifest.pb")

    def setUp(self):
        # The environment in which the tests run must not make ranks of them.
        for variable in ("RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "SLURM_STEP_NUM_TASKS"):
            if variable in os.environ:
                self.skipTest(f"{variable} is set: this test would be a rank of another job")

    def load(self, **options):
        """Returns a Loader that is closed after the test."""
        import penstock

        loader = penstock.Loader(self.data, **{"global_batch_size": 64, **options})
        self.addCleanup(loader.close)
        return loader

    def wait_until(self, condition, what, seconds=10):
        """Fails if `condition()` is not true in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"{what}: not within {seconds} s")
            time.sleep(0.01)
