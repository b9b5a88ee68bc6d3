"""Tests that figures of docs/figures/gpu are stale if kernels/ has changed, and unmeasured if there
are none."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

GPU = pathlib.Path(__file__).resolve().parents[2] / "bench" / "gpu"
sys.path.insert(0, str(GPU))
import kernels_hash  # noqa: E402


class GpuFiguresTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "kernels" / "cuda").mkdir(parents=True)
        (self.root / "docs" / "figures" / "gpu").mkdir(parents=True)
        self.kernel = self.root / "kernels" / "cuda" / "a.cu"
        self.kernel.write_text("one")
        (self.root / "cmake").mkdir()
        self.flags = [self.root / name for name in kernels_hash.FLAGS]
        for path in self.flags:
            path.write_text("-O3")

    def measure(self):
        figures = {"kernels_hash": kernels_hash.kernels_hash(self.root)}
        (self.root / "docs" / "figures" / "gpu" / "card.json").write_text(json.dumps(figures))

    def says(self):
        return subprocess.run([sys.executable, GPU / "figures.py", self.root], check=True,
                              capture_output=True, text=True).stdout.strip()

    def test_no_file_is_unmeasured(self):
        self.assertEqual(self.says(), "docs/figures/gpu: unmeasured")

    def test_figures_are_current_until_a_kernel_changes(self):
        self.measure()
        self.assertEqual(self.says(), "docs/figures/gpu/card.json: current")
        self.kernel.write_text("two")
        self.assertEqual(self.says(), "docs/figures/gpu/card.json: stale")

    def test_other_flags_are_a_change(self):
        for path in self.flags:
            self.measure()
            path.write_text("-O2")
            self.assertEqual(self.says(), "docs/figures/gpu/card.json: stale")

    def test_a_new_or_moved_file_is_a_change_and_a_test_is_none(self):
        self.measure()
        (self.root / "kernels" / "cuda" / "a_test.cc").write_text("test")
        self.assertEqual(self.says(), "docs/figures/gpu/card.json: current")
        self.kernel.rename(self.kernel.with_name("b.cu"))
        self.assertEqual(self.says(), "docs/figures/gpu/card.json: stale")


if __name__ == "__main__":
    unittest.main()
