"""Tests bench/gpu/run without a GPU: its parts on the CPU, its failures, and its output."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

GPU = pathlib.Path(__file__).resolve().parents[2] / "bench" / "gpu"
sys.path.insert(0, str(GPU))
import bits  # noqa: E402
import fed  # noqa: E402
import model  # noqa: E402
import report  # noqa: E402
import training  # noqa: E402

from servers import BIN, REPOSITORY, TIMEOUT_S  # noqa: E402


def load_run():
    """Loads the program, which has no suffix, as a module."""
    loader = importlib.machinery.SourceFileLoader("gpu_run", str(GPU / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_run", loader))
    loader.exec_module(module)
    return module


def left():
    return TIMEOUT_S


class ProgramsTestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "data").mkdir()
        manifest = training.index(BIN, REPOSITORY / "sample", cls.folder / "data", 30_000)
        cls.setting = training.Setting(BIN, manifest, "cpu", "fp32")

    def patch(self, module, **values):
        for name, value in values.items():
            patched = mock.patch.object(module, name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def setting_where(self, condition, commands):
        """Returns a penstock-train that runs `commands` first if its arguments meet `condition`."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        program = folder / "penstock-train"
        program.write_text(f'#!/bin/sh\ncase "$*" in *"{condition}"*) {commands} ;; esac\n'
                           f'exec {BIN}/penstock-train "$@"\n')
        program.chmod(0o755)
        (folder / "penstock").symlink_to(BIN / "penstock")
        return training.Setting(folder, self.setting.manifest, "cpu", "fp32")


class ModelTest(ProgramsTestCase):
    def setUp(self):
        self.patch(model, MODELS={"tiny": (4, 64, 128, 16, model.WARM_UP + 3)})

    def test_one_epoch_has_more_than_the_sample(self):
        streamed = json.loads(subprocess.run(
            [BIN / "penstock", "stream", self.setting.manifest, "--servers", "local:", "--epochs",
             "1", "--global-batch-size", "16", "--json", "-"], check=True, capture_output=True).stdout)
        self.assertEqual(streamed["rows"], 2 * training.SAMPLE_RECORDS)

    def test_figures_are_of_the_steps_after_the_warm_up(self):
        figures = model.measure_all(self.setting, left)["tiny"]
        for reduction, shards in (("deterministic", 8), ("fast", 1)):
            found = figures[reduction]
            self.assertEqual((found["steps"], found["virtual_shards"]), (3, shards), found)
            self.assertAlmostEqual(found["tflops"], found["positions_per_second"] * 63.775104e-6)
        self.assertIn("deterministic_cost", figures)
        self.assertEqual(figures["traced"], {"left_out": "no GPU was traced"})
        self.assertIn("--device cpu", figures["products"]["failed"])

    def test_a_batch_that_memory_has_no_room_for_is_cut(self):
        setting = self.setting_where("--virtual-shards 1", "echo training takes 9 GiB >&2; exit 1")
        self.assertEqual(model.measure_reduction(setting, "tiny", "fast", left)["virtual_shards"], 2)

    def test_a_traced_gpu_was_busy_or_idle(self):
        times = {"step": 6, "steps": 2, "busy_us": 900.0, "idle_before_us": 10.0,
                 "idle_between_launches_us": 0.0, "idle_inside_us": 90.0}
        self.assertEqual(model.shares({"source": "CUPTI", "sum": times}), {
            "source": "CUPTI", "steps": 2, "step_ms": 0.5, "busy": 0.9, "idle_before": 0.01,
            "idle_between_launches": 0.0, "idle_inside": 0.09})
        del times["idle_inside_us"]
        self.assertIsNone(model.shares({"source": "events", "sum": times})["idle_inside"])

    def test_what_cannot_be_measured_says_why(self):
        setting = training.Setting(BIN, self.setting.manifest, "cpu", "fp64")
        for found in model.measure_all(setting, left)["tiny"].values():
            self.assertIn("--precision", found["failed"])

    def test_a_step_is_held_against_its_products(self):
        setting = self.setting_where(
            "products", 'while [ "$1" != --json ]; do shift; done; echo \'{"tflops": 2}\' > "$2"; exit')
        figures = model.measure_all(setting, left)["tiny"]
        self.assertEqual(figures["of_the_product_rate"], figures["deterministic"]["tflops"] / 2)


class BitsTest(ProgramsTestCase):
    VARIANTS = {"again": (), "no_graph": ("--no-graph",)}

    def setUp(self):
        self.patch(bits, MODELS={"tiny": (16, 4)})

    def compare(self, setting):
        found, passed = bits.compare_all(setting, left, self.VARIANTS)
        return {name: one.get("passed", one) for name, one in found["tiny"].items()}, passed

    def test_equal_weights_and_losses_pass(self):
        found, passed = self.compare(self.setting)
        self.assertTrue(passed, found)
        self.assertEqual(set(found), {"fp32_beside_cpu", "again", "no_graph", "ranks_2", "ranks_4",
                                      "ranks_8", "resumed"})

    def test_other_weights_fail_and_are_named(self):
        setting = self.setting_where("--no-graph", 'set -- "$@" --weight-decay 0.02')
        found, passed = self.compare(setting)
        self.assertFalse(passed)
        self.assertEqual([name for name, same in found.items() if not same], ["no_graph"])

    def test_ranks_with_other_weights_fail_and_are_named(self):
        setting = self.setting_where(
            "--json", '[ "$WORLD_SIZE" != 2 ] || set -- "$@" --weight-decay 0.02')
        found, passed = self.compare(setting)
        self.assertFalse(passed)
        self.assertEqual([name for name, same in found.items() if not same], ["ranks_2"])

    def test_ranks_share_the_gpu_that_one_rank_has(self):
        setting = training.Setting(BIN, self.setting.manifest, "cuda")
        with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="3,1"):
            launch, told = training.launched(setting, 2)
        self.assertEqual(launch[-3:], ["--gpus", "3,3", "--"])
        self.assertEqual(told, ["--allow-shared-gpu"])
        self.assertEqual(training.launched(setting, 1), ([], []))

    def test_a_loss_that_is_not_the_cpus_fails(self):
        losses = bits.Runs.losses
        self.patch(bits.Runs, losses=lambda runs, where, *options, **other: [
            loss * (1.002 if where is self.setting and not options else 1)
            for loss in losses(runs, where, *options, **other)])
        found, passed = self.compare(self.setting)
        self.assertFalse(passed)
        self.assertFalse(found["fp32_beside_cpu"])

    def test_running_out_of_time_is_no_difference(self):
        losses = bits.Runs.losses

        def late(runs, where, *options, **other):
            if "--no-graph" in options:
                found = training.train(where, "tiny", 16, 10**6, seconds_left=lambda: 1)
                raise training.LeftOut(found["left_out"])
            return losses(runs, where, *options, **other)
        self.patch(bits.Runs, losses=late)
        found, passed = self.compare(self.setting)
        self.assertTrue(passed, found)
        self.assertEqual(found["no_graph"], {"left_out": "out of time"})

    def test_a_training_that_hangs_fails(self):
        self.patch(training, LIMIT=1)
        hanging = self.setting_where("tiny", f"exec sleep {TIMEOUT_S}")
        with self.assertRaisesRegex(RuntimeError, "no end within 1 s"):
            bits.Runs(hanging, "tiny", left).losses(hanging)

    def test_a_training_that_ends_early_is_no_success(self):
        found, passed = self.compare(self.setting_where("--no-graph", "echo lost >&2; exit 1"))
        self.assertFalse(passed)
        self.assertFalse(found["no_graph"])


class FedTest(ProgramsTestCase):
    def test_a_servers_cpu_says_how_many_cores_are_needed(self):
        self.patch(fed, MODELS={"tiny": (4, 64, 128, 64, fed.WARM_UP + 3)})
        for way, found in fed.measure_all(self.setting, left)["tiny"].items():
            self.assertGreater(found["positions_per_second"], 0, (way, found))
            self.assertLess(found["input_wait_share"], 1)

    def test_cores_are_the_trainings_rate_over_a_cores(self):
        self.patch(fed, MODELS={"tiny": (4, 64, 128, 100, 0)})
        step = {"times_s": {"input": 0.1, "compute": 0.9}}
        found = fed.figures({"step_events": [step] * (fed.WARM_UP + 2), "positions": 1000}, "tiny", 2)
        self.assertEqual(found["positions_per_second"], 100)
        self.assertAlmostEqual(found["input_wait_share"], 0.1)
        self.assertEqual(found["positions_per_second_of_a_server_core"], 500)
        self.assertAlmostEqual(found["server_cores_needed"], 0.2)

    def test_a_server_that_ends_says_why(self):
        setting = training.Setting(self.folder, self.setting.manifest, "cpu", "fp32")
        self.assertIn("penstock-server", fed.measure(setting, "tiny", "grpc", left)["failed"])

    def test_a_server_that_never_serves_is_left(self):
        self.patch(fed, STARTS_WITHIN=0)
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        server = folder / "penstock-server"
        server.write_text("#!/bin/sh\nexec sleep 60\n")
        server.chmod(0o755)
        setting = training.Setting(folder, self.setting.manifest, "cpu", "fp32")
        self.assertIn("did not start", fed.measure(setting, "tiny", "grpc", left)["failed"])


class ReportTest(unittest.TestCase):
    FACTS = {"device": "Card 1", "commit": "abc", "kernels_hash": "1", "driver": ""}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def open(self, **facts):
        return report.Report(None, self.folder, {**self.FACTS, **facts})

    def read(self):
        return json.loads((self.folder / "card-1.json").read_text())

    def test_parts_of_one_commit_are_kept_and_those_of_another_are_not(self):
        self.open().add(checks=[1], benchmarks=[2])
        self.open().add(bits={"tiny": {"again": {"passed": True}}})
        self.assertEqual((self.read()["checks"], list(self.read()["bits"])), ([1], ["tiny"]))
        self.open(commit="def").add(fed={})
        self.assertNotIn("checks", self.read())
        self.open(commit="def", kernels_hash="2").add(model={})
        self.assertNotIn("fed", self.read())

    def test_nothing_of_a_tree_with_changes_is_kept(self):
        self.open(commit="abc-dirty").add(checks=[1])
        self.open(commit="abc-dirty").add(fed={})
        self.assertNotIn("checks", self.read())

    def test_without_git_the_kernels_tell_which_sources_they_are(self):
        self.open(commit="").add(checks=[1])
        self.open(commit="").add(fed={})
        self.assertEqual(self.read()["checks"], [1])
        self.open(commit="", kernels_hash="2").add(model={})
        self.assertNotIn("checks", self.read())

    def test_each_part_has_its_date_and_command(self):
        self.open(date="2026-01-01", command="run --parts checks").add(checks=[1])
        self.open(date="2026-01-02", command="run --parts fed").add(fed={})
        self.assertEqual(self.read()["runs"], {
            "checks": {"date": "2026-01-01", "command": "run --parts checks"},
            "fed": {"date": "2026-01-02", "command": "run --parts fed"}})

    def test_what_failed_is_no_gap_alone(self):
        found = {"model": {"tiny": {"fast": {"failed": "lost"}, "traced": {"left_out": "late"}}}}
        self.assertEqual(report.failures(found), ["model.tiny.fast"])
        self.assertEqual(list(report.gaps(found)), ["model.tiny.fast", "model.tiny.traced"])

    def test_what_is_missing_is_listed(self):
        self.open().add(checks=[1], model={"large": {"fast": {"left_out": "out of time"}}},
                        peers={"incomplete": True, "best": {}})
        self.assertEqual(self.read()["incomplete"],
                         ["benchmarks", "bits", "fed", "model.large.fast", "peers"])

    def test_a_shape_that_does_not_fit_is_listed_by_its_name(self):
        self.open().add(left_out={"checks": [], "benchmarks": [{"name": "attention/f32/long"}]})
        self.assertIn("attention/f32/long", self.read()["incomplete"])
        self.assertNotIn("", self.read()["incomplete"])

    def test_the_peer_is_the_best_of_the_same_model(self):
        found = {"model": {"tiny": {"deterministic": {"positions_per_second": 300}},
                           "large": {"deterministic": {"left_out": "out of time"}}},
                 "peers": {"best": {"tiny": {"positions_per_second": 200}, "large": None}}}
        self.assertEqual(report.times_the_peer(found), {"tiny": 1.5})
        self.assertEqual(report.times_the_peer({**found, "peers": {"left_out": "no PyTorch"}}), {})


# Stands in for the parts of PyTorch that twin_speed.py needs in order to load.
FAKE_TORCH = """
import sys, types
__version__ = "0"
nn = types.ModuleType("torch.nn"); nn.Module = object
nn.functional = types.ModuleType("torch.nn.functional")
sys.modules |= {"torch.nn": nn, "torch.nn.functional": nn.functional}
set_num_threads = lambda count: None
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))
compiler = types.SimpleNamespace(reset=lambda: None)
"""
# A twin whose compiled form is the fastest, whose flash attention fails, and whose second model
# never ends.
TWIN = """
import os, sys
sys.path.insert(0, {peers!r})
import twin_speed
def rate(args, model, mode, backend, batch):
    if model == "large":
        os._exit(7)
    if backend == "FLASH_ATTENTION":
        raise RuntimeError("no kernel\\nmore")
    return 1 + (mode == "default")
twin_speed.rate = rate
sys.exit(twin_speed.main())
"""


class PeersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def twin(self, *args):
        (self.folder / "torch.py").write_text(FAKE_TORCH)
        found = self.folder / "peers.json"
        ended = subprocess.run(
            [sys.executable, "-c", TWIN.format(peers=str(GPU.parent / "peers")), "--device", "cpu",
             "--modes", "eager", "default", "--backends", "auto", "FLASH_ATTENTION", "--json",
             found, *args], env={**os.environ, "PYTHONPATH": str(self.folder)}, capture_output=True,
            text=True, timeout=TIMEOUT_S, check=False)
        return ended, json.loads(found.read_text())

    def test_the_best_form_is_told_beside_all(self):
        ended, found = self.twin("--models", "tiny")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(found["best"]["tiny"]["mode"], "default")
        self.assertEqual([one.get("error") for one in found["all"]], [None, None] + ["no kernel"] * 2)
        self.assertFalse(found["incomplete"])

    def test_without_time_it_is_incomplete(self):
        ended, found = self.twin("--models", "tiny", "--budget", "-1")
        self.assertEqual(ended.returncode, 1)
        self.assertTrue(found["incomplete"])

    def test_what_was_measured_outlives_the_program(self):
        ended, found = self.twin("--models", "tiny", "large")
        self.assertEqual(ended.returncode, 7)
        self.assertEqual(found["best"]["tiny"]["mode"], "default")
        self.assertTrue(found["incomplete"])
        self.assertEqual(found["all"][-1]["left_out"], "it had no end")

    def test_a_run_takes_what_a_peer_wrote_before_its_time_was_up(self):
        python = self.folder / "python"
        python.write_text('#!/bin/sh\n[ "$1" = -c ] && exit 0\nwhile [ "$1" != --json ]; do shift; '
                          'done\necho \'{"best": {}, "incomplete": true}\' > "$2"\nexec sleep 60\n')
        python.chmod(0o755)
        options = types.SimpleNamespace(build=self.folder, python=str(python))
        self.assertEqual(load_run().run_peers(options, lambda: 10), {"best": {}, "incomplete": True})
        python.write_text("#!/bin/sh\nexit 1\n")
        self.assertIn("PyTorch", load_run().run_peers(options, lambda: 1)["left_out"])


class RunTest(unittest.TestCase):
    def test_what_is_not_equal_fails_the_run_and_all_parts_are_written(self):
        run = load_run()
        with tempfile.TemporaryDirectory() as folder:
            options = types.SimpleNamespace(parts=run.PROGRAM_PARTS, programs=BIN, budget=TIMEOUT_S,
                                            python=sys.executable)
            written = report.Report(f"{folder}/gpu.json", folder, ReportTest.FACTS)
            settings = []
            with mock.patch.object(run.model, "records", return_value=1), mock.patch.object(
                    run.bits, "compare_all", return_value=({"tiny": {}}, False)), mock.patch.object(
                    run.model, "measure_all", lambda setting, left: settings.append(setting) or {
                        "tiny": setting.manifest.exists()}), mock.patch.object(
                    run.fed, "measure_all", return_value={}), mock.patch.dict(os.environ):
                self.assertEqual(run.run_parts(options, written), 1)
            self.assertEqual((settings[0].programs, settings[0].device), (BIN, "cuda"))
            found = json.loads(written.path.read_text())
            self.assertEqual((found["bits"], found["model"], found["fed"]),
                             ({"tiny": {}}, {"tiny": True}, {}))

    def test_a_training_that_fails_fails_the_run(self):
        run = load_run()
        with tempfile.TemporaryDirectory() as folder:
            options = types.SimpleNamespace(parts=("model",), programs=BIN, budget=TIMEOUT_S,
                                            python=sys.executable)
            written = report.Report(f"{folder}/gpu.json", folder, ReportTest.FACTS)
            lost = {"tiny": {"fast": {"failed": "lost"}}}
            with mock.patch.object(run.model, "records", return_value=1), mock.patch.object(
                    run.model, "measure_all", return_value=lost), mock.patch.dict(os.environ):
                self.assertEqual(run.run_parts(options, written), 1)

    def test_without_a_compiler_the_other_parts_are_measured(self):
        run = load_run()
        with tempfile.TemporaryDirectory() as folder:
            options = types.SimpleNamespace(parts=("checks", "peers"), programs=None, build=folder,
                                            budget=1)
            written = report.Report(f"{folder}/gpu.json", folder, ReportTest.FACTS)
            with mock.patch.object(run, "build", side_effect=FileNotFoundError("no cmake")), \
                    mock.patch.object(run, "run_peers", return_value={"best": {}}):
                self.assertEqual(run.run_parts(options, written), 1)
            self.assertEqual(written.found["build"], {"failed": "no cmake"})
            self.assertEqual(written.found["peers"], {"best": {}})

    @staticmethod
    def run_check_bench(folder, part, checks=(), benchmarks=(), left_out=None):
        """Runs with these results of the kernels' check and bench program. Returns (exit status,
        output)."""
        run = load_run()
        runner = pathlib.Path(folder) / "bin" / "kernels_check_bench"
        runner.parent.mkdir(exist_ok=True)
        found = {"device": "Card 1", "checks": checks, "benchmarks": benchmarks,
                 "left_out": {"checks": [], "benchmarks": []} | (left_out or {})}
        runner.write_text(f"#!/bin/sh\necho '{json.dumps(found)}' > \"$3\"\n")
        runner.chmod(0o755)
        options = types.SimpleNamespace(parts=(part,), programs=None, build=folder, budget=9)
        written = report.Report(f"{folder}/gpu.json", folder, ReportTest.FACTS)
        with mock.patch.object(run, "build"):
            ended = run.run_parts(options, written)
        return ended, json.loads(written.path.read_text())

    def test_a_build_that_failed_before_is_forgotten(self):
        with tempfile.TemporaryDirectory() as folder:
            report.Report(f"{folder}/gpu.json", folder, ReportTest.FACTS).add(
                build={"left_out": "no cmake"})
            ended, found = self.run_check_bench(folder, "checks", checks=[1])
        self.assertEqual((ended, found["checks"]), (0, [1]))
        self.assertNotIn("build", found)

    def test_what_does_not_fit_is_kept_by_part_and_fails_nothing(self):
        long, wide = {"name": "attention/long"}, {"name": "attention/wide"}
        with tempfile.TemporaryDirectory() as folder:
            self.run_check_bench(folder, "checks", checks=[1], left_out={"checks": [long, wide]})
            self.run_check_bench(folder, "kernels", benchmarks=[2], left_out={"benchmarks": [wide]})
            ended, found = self.run_check_bench(folder, "checks", checks=[3], left_out={"checks": [long]})
        self.assertEqual((ended, found["checks"], found["benchmarks"]), (0, [3], [2]))
        self.assertEqual(found["left_out"], {"checks": [long], "benchmarks": [wide]})
        self.assertLess({"attention/long", "attention/wide"}, set(found["incomplete"]))

    def test_programs_that_are_missing_are_left_out_and_said(self):
        run = load_run()
        with tempfile.TemporaryDirectory() as folder:
            options = types.SimpleNamespace(parts=("fed",), programs=pathlib.Path(folder), budget=1)
            written = report.Report(f"{folder}/gpu.json", folder, ReportTest.FACTS)
            self.assertEqual(run.run_parts(options, written), 0)
            self.assertIn(".ci/portable.sh", written.found["fed"]["left_out"])

    def test_a_sanitizers_finding_is_told(self):
        run = load_run()
        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder) / "compute-sanitizer"
            tool.write_text('#!/bin/sh\necho "$2 looked"; [ "$2" != racecheck ] || exit 9\n')
            tool.chmod(0o755)
            with mock.patch.object(run, "build"), mock.patch.dict(os.environ, PATH=(
                    f"{folder}:{os.environ['PATH']}")):
                found = run.run_sanitizer(types.SimpleNamespace(build=folder), left)
        self.assertEqual([name for name, one in found.items() if not one["passed"]], ["racecheck"])
        self.assertEqual(found["memcheck"]["said"], "memcheck looked\n")

    def test_pythons_libraries_are_found_for_the_programs(self):
        run = load_run()
        with tempfile.TemporaryDirectory() as folder:
            lib = pathlib.Path(folder) / "nvidia" / "cu13" / "lib"
            lib.mkdir(parents=True)
            with mock.patch.dict(os.environ, PYTHONPATH=folder, PENSTOCK_CUDA_LIBS="/mine"):
                self.assertEqual(run.nvidia_folders(sys.executable), f"/mine:{lib}")

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a GPU: bench/gpu/run would measure")
    def test_no_gpu_is_said(self):
        ended = subprocess.run([GPU / "run"], capture_output=True, text=True, timeout=TIMEOUT_S,
                               check=False)
        self.assertEqual(ended.returncode, 77, ended.stderr)
        self.assertIn("no GPU here", ended.stderr)


if __name__ == "__main__":
    unittest.main()
