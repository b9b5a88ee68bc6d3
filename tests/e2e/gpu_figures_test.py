"""Figures of docs/gpu are called stale when kernels/ has changed, unmeasured where there are none;
bench/gpu/run says what it cannot measure, and how fast a model is."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

GPU = pathlib.Path(__file__).resolve().parents[2] / "bench" / "gpu"
sys.path.insert(0, str(GPU))
import kernels_hash  # noqa: E402
import model  # noqa: E402

from servers import BIN, REPOSITORY, TIMEOUT_S  # noqa: E402


class GpuFiguresTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "kernels" / "cuda").mkdir(parents=True)
        (self.root / "docs" / "gpu").mkdir(parents=True)
        self.kernel = self.root / "kernels" / "cuda" / "a.cu"
        self.kernel.write_text("one")

    def measure(self):
        figures = {"kernels_hash": kernels_hash.kernels_hash(self.root)}
        (self.root / "docs" / "gpu" / "card.json").write_text(json.dumps(figures))

    def says(self):
        return subprocess.run([sys.executable, GPU / "figures.py", self.root], check=True,
                              capture_output=True, text=True).stdout.strip()

    def test_no_file_is_unmeasured(self):
        self.assertEqual(self.says(), "docs/gpu: unmeasured")

    def test_figures_are_current_until_a_kernel_changes(self):
        self.measure()
        self.assertEqual(self.says(), "docs/gpu/card.json: current")
        self.kernel.write_text("two")
        self.assertEqual(self.says(), "docs/gpu/card.json: stale")

    def test_a_new_or_moved_file_is_a_change_and_a_test_is_none(self):
        self.measure()
        (self.root / "kernels" / "cuda" / "a_test.cc").write_text("test")
        self.assertEqual(self.says(), "docs/gpu/card.json: current")
        self.kernel.rename(self.kernel.with_name("b.cu"))
        self.assertEqual(self.says(), "docs/gpu/card.json: stale")


class ModelFiguresTest(unittest.TestCase):
    def setUp(self):
        self.models, model.MODELS = model.MODELS, {"tiny": (4, 64, 128, 16, model.WARM_UP + 3)}
        self.addCleanup(setattr, model, "MODELS", self.models)

    def measure(self, **where):
        return model.measure_all(BIN / "penstock-train", BIN / "penstock", REPOSITORY / "sample",
                                 lambda: TIMEOUT_S, **where)["tiny"]

    def test_figures_are_of_the_steps_after_the_warm_up(self):
        figures = self.measure(device="cpu", precision="fp32")
        for reduction in model.REDUCTIONS:
            found = figures[reduction]
            self.assertEqual(found["steps"], 3, found)
            self.assertAlmostEqual(found["tflops"], found["positions_per_second"] * 63.775104e-6)
        self.assertIn("deterministic_cost", figures)
        self.assertEqual(figures["traced"], {"left_out": "no GPU was traced"})

    def test_a_traced_gpu_was_busy_or_idle(self):
        times = {"step": 6, "steps": 2, "busy_us": 900.0, "idle_before_us": 10.0,
                 "idle_between_launches_us": 0.0, "idle_inside_us": 90.0}
        self.assertEqual(model.shares({"source": "CUPTI", "sum": times}), {
            "source": "CUPTI", "steps": 2, "step_ms": 0.5, "busy": 0.9, "idle_before": 0.01,
            "idle_between_launches": 0.0, "idle_inside": 0.09})
        del times["idle_inside_us"]
        self.assertIsNone(model.shares({"source": "events", "sum": times})["idle_inside"])

    def test_what_cannot_be_measured_says_why(self):
        for found in self.measure(device="cpu", precision="fp64").values():
            self.assertIn("--precision", found["left_out"])

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a GPU: bench/gpu/run would measure")
    def test_no_gpu_is_said(self):
        ended = subprocess.run([GPU / "run"], capture_output=True, text=True, timeout=TIMEOUT_S,
                               check=False)
        self.assertEqual(ended.returncode, 77, ended.stderr)
        self.assertIn("no GPU here", ended.stderr)


if __name__ == "__main__":
    unittest.main()
