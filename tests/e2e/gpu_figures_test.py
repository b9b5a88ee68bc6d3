"""Tests that files of stages become figures of docs/figures/gpu; that figures are stale if kernels/ has
changed, and unmeasured if there are none; and that figures are compared with the targets of their card."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

GPU = pathlib.Path(__file__).resolve().parents[2] / "bench" / "gpu"
sys.path.insert(0, str(GPU))
import kernels_hash  # noqa: E402
import machine  # noqa: E402
import model  # noqa: E402
import report  # noqa: E402
import targets  # noqa: E402
import traffic  # noqa: E402
from sizes import FULL  # noqa: E402

from servers import REPOSITORY, TIMEOUT_S  # noqa: E402


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


class ReportTest(unittest.TestCase):
    FACTS = {"device": "Card 1", "commit": "abc", "kernels_hash": "1", "driver": ""}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def add(self, name, results, facts=None, **notes):
        written = report.Report(None, self.folder, {**self.FACTS, **(facts or {})})
        written.add({"stage": name, "date": "2026-01-01", "failures": [], **notes}, results)

    def read(self):
        return json.loads((self.folder / "card-1.json").read_text())

    def test_parts_of_one_commit_are_kept_and_those_of_another_are_not(self):
        self.add("checks", {"checks": [1]})
        self.add("bits", {"bits": {"tiny": {"again": {"passed": True}}}})
        self.assertEqual((self.read()["checks"], list(self.read()["bits"])), ([1], ["tiny"]))
        self.add("fed", {"fed": {}}, {"commit": "def"})
        self.assertNotIn("checks", self.read())
        self.add("model", {"model": {}}, {"commit": "def", "kernels_hash": "2"})
        self.assertNotIn("fed", self.read())

    def test_nothing_of_a_tree_with_changes_is_kept(self):
        self.add("checks", {"checks": [1]}, {"commit": "abc-dirty"})
        self.add("fed", {"fed": {}}, {"commit": "abc-dirty"})
        self.assertNotIn("checks", self.read())

    def test_each_stage_has_its_date_and_command(self):
        self.add("checks", {}, command="contact checks")
        self.add("fed", {}, command="contact fed", cut_off="SIGTERM", now="tiny grpc")
        self.assertEqual(self.read()["stages"], {
            "checks": {"date": "2026-01-01", "command": "contact checks"},
            "fed": {"date": "2026-01-01", "command": "contact fed", "cut_off": "SIGTERM",
                    "now": "tiny grpc"}})
        self.assertIn("stages.fed", self.read()["incomplete"])

    def test_what_has_no_result_is_listed(self):
        self.add("model", {"model": {"tiny": {"fast": {"failed": "lost"}, "traced": {"left_out": "late"}}},
                           "sanitizer": {"memcheck": {"sum": {"not_run": "refused"}}},
                           "tests": {"a": {"skipped": "no CUPTI"}}})
        self.assertLess({"model.tiny.fast", "model.tiny.traced", "sanitizer.memcheck.sum",
                         "tests.a", "benchmarks", "bits"}, set(self.read()["incomplete"]))

    def test_a_shape_that_does_not_fit_is_listed_by_its_name(self):
        self.add("checks", {"left_out": {"checks": [{"name": "attention/bf16/wide"}]}})
        self.add("kernels", {"left_out": {"benchmarks": [{"name": "attention/f32/long"}]}})
        self.assertLess({"attention/bf16/wide", "attention/f32/long"}, set(self.read()["incomplete"]))
        self.assertNotIn("", self.read()["incomplete"])

    def test_a_part_of_a_stage_replaces_only_what_it_measured(self):
        outcome = lambda check, what, passed: {"check": check, "what": what, "passed": passed}
        self.add("checks", {
            "checks": [outcome("a", "x", False), outcome("a", "y", True), outcome("b", "x", True)],
            "sanitizer": {"memcheck": {"a": {"failed": "race"}, "b": {"passed": True}}},
            "left_out": {"checks": [{"name": "c"}, {"name": "d"}]}})
        self.add("checks", {
            "checks": [outcome("a", "x", True), outcome("c", "x", True)],
            "sanitizer": {"memcheck": {"a": {"passed": True}, "b": {"not_run": "out of time"}}},
            "left_out": {"checks": [{"name": "b"}]}})
        self.assertEqual(self.read()["checks"], [outcome("b", "x", True), outcome("a", "x", True),
                                                 outcome("c", "x", True)])
        self.assertEqual(self.read()["sanitizer"]["memcheck"], {"a": {"passed": True},
                                                                "b": {"passed": True}})
        self.assertEqual(self.read()["left_out"]["checks"], [{"name": "d"}])

    def run_of_model(self, rate):
        return {"batch": 1, "positions_per_second": rate, "tflops": rate}

    def test_a_stage_that_is_cut_off_leaves_earlier_figures(self):
        earlier = {"deterministic": self.run_of_model(10), "fast": self.run_of_model(20),
                   "products": {"tflops": 40}, "deterministic_cost": 1.0, "of_the_product_rate": 0.25}
        self.add("model", {"model": {"tiny": earlier, "large": {"fast": {"failed": "lost"}}}})
        self.add("model", {"model": {"tiny": {"deterministic": self.run_of_model(16),
                                              "fast": {"left_out": "out of time"}},
                                     "large": {"fast": self.run_of_model(1)}}}, cut_off="SIGTERM")
        found = self.read()["model"]
        self.assertEqual(found["tiny"], {**earlier, "deterministic": self.run_of_model(16),
                                         "deterministic_cost": 0.25, "of_the_product_rate": 0.4})
        self.assertEqual(found["large"]["fast"], self.run_of_model(1))

    def test_a_later_failure_replaces_a_figure(self):
        for devices in ({"lines": ["GPU"]}, {"failed": "exit 1"}, {"lines": ["GPU 2"]}):
            self.add("first", {"first": {"devices": devices}})
            self.assertEqual(self.read()["first"]["devices"], devices)

    def test_an_earlier_run_that_is_added_later_replaces_nothing(self):
        for hour, passed in ((12, True), (9, False), (11, False)):
            self.add("tests", {"tests": {"A": {"passed": passed}, str(hour): {"passed": True}}},
                     date=f"2026-01-01T{hour:02}:00:00Z")
        self.assertEqual(self.read()["tests"]["A"], {"passed": True})
        self.assertEqual(set(self.read()["tests"]), {"A", "9", "11", "12"})
        self.assertEqual(self.read()["stages"]["tests"]["date"], "2026-01-01T12:00:00Z")

    def test_peers_of_two_runs_have_one_best(self):
        one = lambda mode, **found: {"model": "tiny", "attention": "auto", "mode": mode, **found}
        for found in ([one("eager", positions_per_second=3), one("default", left_out="out of time")],
                      [one("eager", left_out="it had no end"), one("default", positions_per_second=2)]):
            self.add("peers", {"peers": {"all": found, "incomplete": True, "best": {}, "torch": "2"}})
        found = self.read()["peers"]
        self.assertEqual([other["mode"] for other in found["all"]], ["eager", "default"])
        self.assertEqual(found["best"]["tiny"]["positions_per_second"], 3)
        self.assertIs(found["incomplete"], True)

    def test_the_peer_is_the_best_of_the_same_model(self):
        found = {"model": {"tiny": {"deterministic": {"positions_per_second": 300}},
                           "large": {"deterministic": {"left_out": "out of time"}}},
                 "peers": {"best": {"tiny": {"positions_per_second": 200}, "large": None}}}
        self.assertEqual(report.times_the_peer(found), {"tiny": 1.5})
        self.assertEqual(report.times_the_peer({**found, "peers": {"left_out": "no PyTorch"}}), {})

    def run_report(self, *stages):
        for number, one in enumerate(stages):
            folder = self.folder / f"out-{number}"
            folder.mkdir()
            (folder / f"{one['stage']}.json").write_text(json.dumps(
                {**self.FACTS, "date": "2026-01-01", "failures": [], "results": {}, **one}))
        return subprocess.run([sys.executable, GPU / "report.py", "--out", self.folder / "gpu.json",
                               *self.folder.glob("out-*")], capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False)

    def test_files_of_stages_become_one_and_a_failure_is_said(self):
        ended = self.run_report({"stage": "fed", "results": {"fed": {"tiny": {}}}},
                                {"stage": "bits", "failures": ["step 3"], "results": {"bits": {}}})
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("bits: FAILED step 3", ended.stdout)
        found = json.loads((self.folder / "gpu.json").read_text())
        self.assertEqual((found["fed"], found["device"]), ({"tiny": {}}, "Card 1"))

    def test_files_of_two_commits_are_refused(self):
        ended = self.run_report({"stage": "fed"}, {"stage": "bits", "commit": "def"})
        self.assertEqual(ended.returncode, 2)
        self.assertIn("several commits: abc, def", ended.stderr)

    def test_files_of_two_devices_are_refused(self):
        ended = self.run_report({"stage": "fed"}, {"stage": "bits", "device": "Card 2"},
                                {"stage": "model", "device": ""})
        self.assertEqual(ended.returncode, 2)
        self.assertIn("several devices: Card 1, Card 2, without a name", ended.stderr)

    def test_figures_of_another_device_in_the_same_file_are_not_kept(self):
        self.path = self.folder / "gpu.json"
        for device in ("Card 1", "Card 2"):
            written = report.Report(self.path, self.folder, {**self.FACTS, "device": device})
            written.add({"stage": "a", "date": "2026-01-01", "failures": []}, {"tests": {device: {}}})
        self.assertEqual(list(json.loads(self.path.read_text())["tests"]), ["Card 2"])

    def test_without_a_device_there_are_no_targets(self):
        ended = self.run_report({"stage": "model", "device": "", "results": self.RATES})
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(json.loads((self.folder / "gpu.json").read_text())["targets"], {})

    def test_two_runs_on_one_day_have_an_order(self):
        self.assertRegex(machine.facts("abc")["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        late = {"date": "2026-01-01T12:00:00Z", "results": {"tests": {"A": {"passed": True}}}}
        early = {"date": "2026-01-01T09:00:00Z", "results": {"tests": {"A": {"failed": "lost"}}}}
        ended = self.run_report({"stage": "tests", **late}, {"stage": "tests", **early})
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(json.loads((self.folder / "gpu.json").read_text())["tests"],
                         {"A": {"passed": True}})

    H200 = {"device": "NVIDIA H200"}
    RATES = {"model": {"large": {"deterministic": {"positions_per_second": 31_000}},
                       "default": {"deterministic": {"left_out": "out of time"}},
                       "tiny": {"deterministic": {"positions_per_second": 900_000}}}}

    def test_a_figure_has_the_target_of_its_card_beside_it(self):
        speeds = {"copy": 4000.0, "attention/bf16/4096x64x16x32": 2400.0, "layer_norm/bf16/64": 1.0,
                  "attention_backward/bf16/4096x64x16x32": 1.0, "attention/bf16/2048x144x4x64": 1.0}
        ended = self.run_report(
            {**self.H200, "stage": "model", "results": self.RATES},
            {**self.H200, "stage": "kernels", "results": {"benchmarks": [
                {"benchmark": name, "gb_per_s": speed} for name, speed in speeds.items()]}},
            {**self.H200, "stage": "peers", "results": {"peers": {"best": {
                "tiny": {"positions_per_second": 600_000}}}}})
        self.assertEqual(ended.stdout.splitlines()[:-1], [
            "model.large: 31,000 positions/s; target 30,100, ceiling 48,400: reached",
            "model.tiny: 900,000 positions/s; target 1,100,000, ceiling 1,930,000: missed",
            "attention/bf16/4096x64x16x32: 0.60 of a copy; target 0.55, ceiling 1.00: reached",
            "times_the_best_peer.tiny: 1.50 times; target 2.00: missed"])
        found = json.loads((self.folder / "gpu.json").read_text())["targets"]
        self.assertEqual(found["times_the_best_peer.tiny"],
                         {"measured": 1.5, "target": 2, "ceiling": None, "unit": "times"})

    def test_another_card_has_no_targets(self):
        for device in ("NVIDIA A100-SXM4-80GB", "NVIDIA H100 PCIe", "NVIDIA H200 NVL",
                       "NVIDIA GH200 480GB", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", ""):
            self.assertEqual(targets.compared({"device": device, **self.RATES}), {}, device)
        self.assertEqual(targets.card_of("NVIDIA H100 80GB HBM3"), "H100")

    def test_a_part_without_figures_is_not_compared(self):
        self.assertEqual(targets.compared({**self.H200, "model": {"left_out": "out of time"},
                                           "benchmarks": {"failed": "exit 1"}}), {})


class TargetsTest(unittest.TestCase):
    def test_the_page_has_the_tables(self):
        page = (REPOSITORY / "docs" / "internals" / "gpu_targets.md").read_text()
        printed = subprocess.run([GPU / "targets.py"], check=True, capture_output=True, text=True,
                                 timeout=TIMEOUT_S).stdout
        self.assertEqual([row for row in printed.splitlines() if row not in page.splitlines()], [])

    def test_operations_have_the_flops_of_the_model(self):
        for name, sizes in FULL.rates.items():
            # The traffic has no head and no gradient of the features. It has their padding.
            self.assertAlmostEqual(sum(one.flops for one in traffic.step(name)) /
                                   model.flops_per_position(*sizes[:3]), 1, delta=0.005)

    def test_a_block_moves_the_arrays_of_its_operations(self):
        # In arrays of 64 tokens by dim, for a hidden width of twice dim: products 26 + 2 * 8, bias
        # gradients 5 + 2, attention 4 + 7, norms 12.
        for part, arrays in (("products", 42), ("bias gradients", 7), ("attention", 11), ("norms", 12)):
            moved = sum(one.bytes for one in traffic.block(256, 512) if one.part == part)
            self.assertEqual(moved // (2 * 64 * 256), arrays, part)

    def test_no_target_is_above_its_ceiling(self):
        for card in targets.BANDWIDTH:
            for name in FULL.rates:
                target, ceiling = targets.rates(name, card)
                self.assertLess(target, ceiling, f"{name} on {card}")


if __name__ == "__main__":
    unittest.main()
