"""Tests the stages of bench/gpu/contact that train, on the CPU: their figures and their failures."""
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import types
import unittest
from unittest import mock

from gpu_stage import StageTestCase, program
import bits
import compare
import fed
import first
import model
import processes
import sizes
import trace
import training

from servers import BIN, REPOSITORY, TIMEOUT_S

SIZES = dataclasses.replace(
    sizes.SMALL, bits={"tiny": (16, 4, 4)}, first={"tiny": 16}, shards=8, fast_shards=(1, 2, 4),
    ranks=(2, 4, 8), warm_up=5, rates={"tiny": (4, 64, 128, 16, 8)})
CPU = dict(device="cpu", precision="fp32")


def left():
    return TIMEOUT_S


class ProgramsTestCase(StageTestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.shared = pathlib.Path(folder.name)
        (cls.shared / "data").mkdir()
        manifest = training.index(BIN, REPOSITORY / "sample", cls.shared / "data", 30_000)
        cls.setting = training.Setting(BIN, manifest, sizes=SIZES, **CPU)

    def setting_where(self, condition, commands, programs=BIN):
        """Returns a penstock-train that runs `commands` first if its arguments meet `condition`."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.shared))
        program(folder / "penstock-train", f'case "$*" in *"{condition}"*) {commands} ;; esac\n'
                f'exec {programs}/penstock-train "$@"\n')
        (folder / "penstock").symlink_to(BIN / "penstock")
        return dataclasses.replace(self.setting, programs=folder)


class ModelTest(ProgramsTestCase):
    def test_one_epoch_has_more_than_the_sample(self):
        streamed = json.loads(subprocess.run(
            [BIN / "penstock", "stream", self.setting.manifest, "--servers", "local:", "--epochs",
             "1", "--global-batch-size", "16", "--json", "-"], check=True, capture_output=True).stdout)
        self.assertEqual(streamed["rows"], 2 * training.SAMPLE_RECORDS)

    def test_figures_are_of_the_steps_after_the_warm_up(self):
        model.run(self.setting, self.stage)
        figures = self.read()["results"]["model"]["tiny"]
        for reduction, shards in (("deterministic", 8), ("fast", 1)):
            found = figures[reduction]
            self.assertEqual((found["steps"], found["virtual_shards"]), (3, shards), found)
            self.assertAlmostEqual(found["tflops"], found["positions_per_second"] * 63.775104e-6)
        self.assertIn("deterministic_cost", figures)
        self.assertIn("--device cpu", figures["products"]["failed"])
        self.assertEqual(len(self.read()["failures"]), 1)

    def test_a_batch_that_memory_has_no_room_for_is_cut(self):
        setting = self.setting_where("--virtual-shards 1", "echo training takes 9 GiB >&2; exit 1")
        self.assertEqual(model.measure_reduction(setting, "tiny", "fast", left)["virtual_shards"], 2)

    def test_a_message_about_memory_is_found_before_other_output(self):
        setting = self.setting_where("tiny", "echo training takes 9 GiB; seq 9999; exit 1")
        found = training.train(setting, "tiny", 16, 4, seconds_left=left)
        self.assertIn("exit 1: training takes 9 GiB", found["left_out"])

    def test_what_cannot_be_measured_says_why(self):
        setting = dataclasses.replace(self.setting, precision="fp64")
        model.run(setting, self.stage)
        for found in self.read()["results"]["model"]["tiny"].values():
            self.assertIn("--precision", found["failed"])

    def test_a_step_is_held_against_its_products(self):
        setting = self.setting_where(
            "products", 'while [ "$1" != --json ]; do shift; done; echo \'{"tflops": 2}\' > "$2"; exit')
        model.run(setting, self.stage)
        figures = self.read()["results"]["model"]["tiny"]
        self.assertEqual(figures["of_the_product_rate"], figures["deterministic"]["tflops"] / 2)


class TraceTest(ProgramsTestCase):
    def test_a_traced_gpu_was_busy_or_idle(self):
        times = {"step": 6, "steps": 2, "busy_us": 900.0, "idle_before_us": 10.0,
                 "idle_between_launches_us": 0.0, "idle_inside_us": 90.0}
        self.assertEqual(trace.shares({"source": "CUPTI", "sum": times}), {
            "source": "CUPTI", "steps": 2, "step_ms": 0.5, "busy": 0.9, "idle_before": 0.01,
            "idle_between_launches": 0.0, "idle_inside": 0.09})
        del times["idle_inside_us"]
        self.assertIsNone(trace.shares({"source": "events", "sum": times})["idle_inside"])

    def test_a_trace_without_steps_or_work_says_so_and_the_ranges_are_still_counted(self):
        for times in ({"steps": 0, "busy_us": 900.0}, {"steps": 2, "busy_us": 0.0}):
            self.patch(trace, train=lambda *_, times=times, trace=None, **__: trace.write_text("{}") and {
                "output": "", "device": {"source": "CUPTI", "sum": times}} if trace else {"failed": "x"})
            (self.folder / "nvtx_tool.so").touch()
            setting = dataclasses.replace(self.setting, programs=self.folder)
            trace.run(setting, self.stage)
            found = self.read()["results"]["trace"]
            name = next(name for name, value in times.items() if not value)
            self.assertIn(f"CUPTI has {name} 0", found["tiny"]["left_out"])
            self.assertEqual(found["tiny"]["file"], "trace-tiny.json.gz")
            self.assertEqual(found["nvtx"], {"failed": "x"})

    def test_without_a_gpu_nothing_is_traced(self):
        self.assertEqual(trace.trace_model(self.setting, "tiny", self.stage),
                         {"left_out": "no GPU was traced"})

    def test_a_trace_that_may_not_come_back_is_left_out(self):
        file = self.folder / "trace.json"
        file.write_bytes(os.urandom(1000))
        self.assertEqual(trace.keep(file, self.stage.out, "tiny"), "trace-tiny.json.gz")
        self.patch(trace, MOST_FILE=500)
        self.assertIn("left out", trace.keep(file, self.stage.out, "large"))
        self.assertFalse((self.stage.out / "trace-large.json.gz").exists())


class FirstTest(ProgramsTestCase):
    RUNS = {"fp32_no_graph": ("fp32", ("--no-graph",), 3), "fp32_graphs": ("fp32", (), 4)}

    def setUp(self):
        super().setUp()
        self.patch(first, RUNS=self.RUNS, GRAPH_STEPS=4)

    def results(self):
        return self.read()["results"]["first"]["tiny"]

    def test_losses_like_the_cpus_pass(self):
        first.run(self.setting, self.stage)
        self.assertTrue(all(self.results()[name]["passed"] for name in self.RUNS))

    def test_a_training_that_breaks_leaves_the_next_one(self):
        first.run(self.setting_where("--no-graph", "echo broken >&2; exit 3"), self.stage)
        found = self.results()
        self.assertIn("broken", found["fp32_no_graph"]["error"])
        self.assertTrue(found["fp32_graphs"]["passed"])

    def test_a_loss_that_is_not_the_cpus_is_located(self):
        other = self.setting_where("--no-graph", 'set -- "$@" --seed 6')
        first.run(other, self.stage)
        place = self.results()["fp32_no_graph"]["first_wrong"]
        self.assertEqual((place["seed"], place["step"]), (training.SEED, 1))
        self.assertNotEqual(place["loss"], place["cpu"])
        self.assertIn("first tiny fp32_no_graph, batch 16", " ".join(self.read()["failures"]))


class BitsTest(ProgramsTestCase):
    VARIANTS = {name: bits.VARIANTS[name] for name in ("again", "no_graph")}

    def compare(self, setting):
        """{comparison: whether it passed, or its outcome}."""
        bits.run(setting, self.stage, self.VARIANTS)
        self.found = self.read()["results"]["bits"]["tiny"]
        return {name: one.get("passed", one) for name, one in self.found.items()}

    def wrong(self, found):
        return [name for name, same in found.items() if not same]

    def test_equal_weights_and_losses_pass(self):
        found = self.compare(self.setting)
        self.assertEqual(self.read()["failures"], [])
        self.assertEqual(set(found), {"cpu", "plain", "fp32_beside_cpu", "again", "no_graph", "ranks_2",
                                      "ranks_4", "ranks_8", "resumed"})

    def test_all_models_train_long_enough_to_launch_graphs_twice(self):
        for model_name, (_, steps, cpu_steps) in sizes.FULL.bits.items():
            self.assertGreaterEqual(steps, bits.LEAST_LAUNCHES * bits.STEPS_PER_LAUNCH, model_name)
            # A resumed run launches its graphs twice, too: the second time begins at step 5.
            self.assertGreaterEqual(steps // 2, 5, model_name)
            self.assertLessEqual(cpu_steps, steps)

    def test_other_weights_fail_and_are_located(self):
        setting = self.setting_where("--no-graph", 'set -- "$@" --weight-decay 0.02')
        found = self.compare(setting)
        self.assertEqual(self.wrong(found), ["no_graph"])
        place = self.found["no_graph"]["first_wrong"]["weight"]
        self.assertEqual(place["kind"], "parameter")
        self.assertNotEqual(place["value"], place["plain"])
        self.assertGreater(place["differ_at_least"], 0)
        self.assertIn(place["name"], self.read()["failures"][0])

    def test_ranks_with_other_weights_fail_and_are_named(self):
        setting = self.setting_where(
            "--json", '[ "$WORLD_SIZE" != 2 ] || set -- "$@" --weight-decay 0.02')
        self.assertEqual(self.wrong(self.compare(setting)), ["ranks_2"])

    def test_ranks_share_the_gpu_that_one_rank_has(self):
        setting = dataclasses.replace(self.setting, device="cuda")
        with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="3,1"):
            launch, told = training.launched(setting, 2)
        self.assertEqual(launch[-3:], ["--gpus", "3,3", "--"])
        self.assertEqual(told, ["--allow-shared-gpu"])
        self.assertEqual(training.launched(setting, 1), ([], []))

    def test_a_loss_that_is_not_the_cpus_fails(self):
        losses = bits.Runs.losses
        self.patch(bits.Runs, losses=lambda runs, where: [
            loss * (1.002 if where is self.setting else 1) for loss in losses(runs, where)])
        self.patch(bits, dataclasses=types.SimpleNamespace(
            replace=lambda setting, **values: dataclasses.replace(setting, **values)
            if "device" in values else setting))
        self.assertEqual(self.wrong(self.compare(self.setting)), ["fp32_beside_cpu"])

    def test_running_out_of_time_is_no_difference(self):
        trained = bits.Runs.trained

        def late(runs, where, *options, **other):
            if "--no-graph" in options:
                found = training.train(where, "tiny", 16, 10**6, seconds_left=lambda: 1)
                raise training.LeftOut(found["left_out"])
            return trained(runs, where, *options, **other)
        self.patch(bits.Runs, trained=late)
        found = self.compare(self.setting)
        self.assertEqual(self.read()["failures"], [])
        self.assertEqual(found["no_graph"], {"left_out": "out of time"})

    def test_a_training_that_hangs_fails(self):
        self.patch(training, LIMIT=1)
        hanging = self.setting_where("tiny", f"exec sleep {TIMEOUT_S}")
        with self.assertRaisesRegex(RuntimeError, "no end within 1 s"):
            training.losses(hanging, "tiny", 16, 2, seconds_left=left)

    def test_a_training_that_ends_early_is_no_success(self):
        found = self.compare(self.setting_where("--no-graph", "echo lost >&2; exit 1"))
        self.assertEqual(self.wrong(found), ["no_graph"])


@unittest.skipUnless((BIN / "emulated" / "penstock-train").exists(), "no emulated GPU in this build")
class LaunchesTest(ProgramsTestCase):
    """The runs with several steps in a launch, on an emulated GPU."""

    def compare(self, steps, condition="nothing", commands=""):
        given = self.setting_where(condition, commands, BIN / "emulated")
        setting = dataclasses.replace(given, device="cuda", precision="bf16", sizes=dataclasses.replace(
            sizes.SMALL, bits={"tiny": (2, steps, steps)}))
        runs = bits.Runs(setting, "tiny", self.stage, self.folder)
        runs.run_plain()
        return bits.record(runs, "steps_per_launch", runs.same_bits_in_launches)

    def test_graphs_of_several_steps_that_are_launched_twice_pass(self):
        *_, steps, _ = sizes.SMALL.bits["tiny"]
        found = self.compare(steps)
        self.assertEqual((found["passed"], found["launches"]), (True, steps // 2), found)

    def test_too_few_steps_are_left_out(self):
        self.assertIn("8 steps are too few", self.compare(8)["left_out"])
        self.assertEqual(self.read()["failures"], [])

    def test_a_run_without_such_graphs_fails(self):
        found = self.compare(10, "steps-per-launch", 'set -- "$@" --steps-per-launch 1')
        self.assertIn("0 launches of 2 steps in 10 steps", found["error"])
        self.assertIn("0 launches", self.read()["failures"][0])

    def test_launches_that_are_unknown_are_left_out(self):
        found = self.compare(10, "steps-per-launch", 'set -- "$@" --profile-steps ""')
        self.assertIn("unknown", found["left_out"])

    def test_another_weight_fails(self):
        found = self.compare(10, "steps-per-launch", 'set -- "$@" --weight-decay 0.02')
        self.assertIn("weight", found["first_wrong"])


class FedTest(ProgramsTestCase):
    def test_a_servers_cpu_says_how_many_cores_are_needed(self):
        fed.run(self.setting, self.stage)
        for way, found in self.read()["results"]["fed"]["tiny"].items():
            self.assertGreater(found["positions_per_second"], 0, (way, found))
            self.assertLess(found["input_wait_share"], 1)

    def test_cores_are_the_trainings_rate_over_a_cores(self):
        step = {"times_s": {"input": 0.1, "compute": 0.9}}
        found = fed.figures({"step_events": [step] * 7, "positions": 1000}, 100, 5, 2)
        self.assertEqual(found["positions_per_second"], 100)
        self.assertAlmostEqual(found["input_wait_share"], 0.1)
        self.assertEqual(found["positions_per_second_of_a_server_core"], 500)
        self.assertAlmostEqual(found["server_cores_needed"], 0.2)

    def test_a_server_that_ends_says_why(self):
        setting = dataclasses.replace(self.setting, programs=self.folder)
        self.assertIn("penstock-server", fed.measure(setting, "tiny", "grpc", left)["failed"])

    def test_a_stage_that_is_ended_ends_its_server(self):
        program(self.folder / "penstock-server", "shift 5; echo 127.0.0.1:1 > $1; exec sleep 60\n")
        setting = dataclasses.replace(self.setting, programs=self.folder)
        with fed.server(setting, self.folder) as (process, _):
            self.patch(processes, _ending=threading.Event())  # Later tests run programs again.
            processes.stop_all()
            self.assertEqual(process.wait(30), -signal.SIGKILL)

    def test_a_server_that_never_serves_is_left(self):
        self.patch(fed, STARTS_WITHIN=0)
        program(self.folder / "penstock-server", "exec sleep 60\n")
        setting = dataclasses.replace(self.setting, programs=self.folder)
        self.assertIn("did not start", fed.measure(setting, "tiny", "grpc", left)["failed"])


class CompareTest(unittest.TestCase):
    def test_a_loss_that_is_not_finite_is_wrong(self):
        setting = training.Setting(pathlib.Path(), pathlib.Path(), precision="bf16")
        for loss in (float("nan"), float("inf")):
            found = compare.losses_beside_cpu(setting, [1.0, loss], [1.0, 1.0])
            self.assertFalse(found["passed"])
            self.assertEqual(found["first_wrong"]["step"], 2)

    def test_no_loss_at_all_is_no_success(self):
        setting = training.Setting(pathlib.Path(), pathlib.Path())
        self.assertFalse(compare.losses_beside_cpu(setting, [], [1.0])["passed"])


if __name__ == "__main__":
    unittest.main()
