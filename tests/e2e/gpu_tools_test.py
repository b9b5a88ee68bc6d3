"""Tests bench/gpu/pack, and the stages of bench/gpu/contact that run other programs than trainings."""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

from gpu_stage import GPU, StageTestCase, load, program
import checks
import gpu_tests
import machine
import package
import peers
import processes
import stage

from servers import BIN, REPOSITORY, TIMEOUT_S

WITHOUT_GPU = unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a GPU: it would be measured")

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


class PeersTest(StageTestCase):
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

    def run_stage(self, text, seconds=TIMEOUT_S):
        """Runs the stage with a Python that does this; returns what it found."""
        python = program(self.folder / "python", '[ "$1" = -c ] && exit 0\n'
                         'for word; do case "$last" in --json) file=$word;; --models) model=$word;; '
                         '--backends) backend=$word;; esac; last=$word; done\n' + text)
        self.stage.seconds = seconds
        peers.run(self.contact(python=str(python)))
        return self.read()["results"]["peers"]

    ONE = ('echo "{\\"torch\\": \\"2\\", \\"incomplete\\": false, \\"all\\": [{\\"model\\": \\"$model\\", '
           '\\"attention\\": \\"$backend\\", \\"positions_per_second\\": 5}]}" > $file\n')

    def test_all_combinations_are_measured_and_the_next_run_has_nothing_left(self):
        found = self.run_stage(self.ONE)
        self.assertEqual(len(found["all"]), 15)
        self.assertFalse(found["incomplete"])
        self.assertEqual(found["best"]["large"]["positions_per_second"], 5)
        self.assertEqual(self.run_stage("exit 1\n"), found)

    def test_a_process_that_breaks_leaves_the_others(self):
        found = self.run_stage('[ "$model $backend" != "tiny MATH" ] || exit 3\n' + self.ONE)
        self.assertEqual((len(found["all"]), found["incomplete"]), (14, True))
        self.assertIn("peers tiny MATH", self.read()["failures"][0])

    # Only the first combination ends in its time.
    CUT_OFF = 'n=$(cat n 2>/dev/null); echo x$n > n; [ -z "$n" ] || {\n' + ONE.replace(
        "false", "true") + 'exec sleep 60; }\n' + ONE

    def test_what_a_peer_wrote_before_its_time_was_up_stays(self):
        self.patch(peers, LEAST=-12)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        found = self.run_stage(self.CUT_OFF, seconds=8)
        self.assertGreater(len(found["all"]), 1)
        self.assertTrue(found["incomplete"])
        # The next run measures all but the first again, and keeps what was there if that fails.
        self.stage.begun = time.monotonic()
        self.assertEqual(self.run_stage("exit 1\n"), found)
        self.assertEqual(len(self.read()["failures"]), 14)
        self.stage.begun = time.monotonic()
        self.assertFalse(self.run_stage(self.ONE)["incomplete"])

    def test_results_in_out_are_kept_on_the_next_machine_with_the_same_device(self):
        found = self.run_stage(self.ONE)
        (self.folder / peers.KEPT).unlink()
        self.assertEqual(self.run_stage("exit 1\n"), found)
        self.assertEqual(self.read()["failures"], [])
        self.stage.found["device"] = "another"
        self.assertEqual(self.run_stage("exit 1\n"), {"left_out": "out of time"})
        self.assertEqual(len(self.read()["failures"]), 15)

    def test_a_result_that_is_cut_off_is_a_failure(self):
        self.assertEqual(self.run_stage("echo '{' > $file\n"), {"left_out": "out of time"})
        self.assertIn("wrote no result", self.read()["failures"][0])

    def test_without_pytorch_it_is_left_out(self):
        peers.run(self.contact(python="/none"))
        self.assertIn("PyTorch", self.read()["results"]["peers"]["left_out"])


# A check and bench program: `sum/bad` is wrong, and `boom/b` breaks its process. A group has the
# prefix of its checks.
RUNNER = """
import json, os, sys
names = ["sum/good", "sum/bad", "boom/a", "boom/b"]
if sys.argv[1] == "--list":
    print(*names, sep="\\n")
    sys.exit()
prefix, file = sys.argv[2], sys.argv[4]
run = [name for name in names if name.startswith(prefix)]
if "boom/b" in run:
    print("illegal address")
    os.abort()
place = {"array": "output 2 of 3", "index": 7, "value": "nan", "expected": 0.25, "wrong": 2, "elements": 9}
found = [{"check": name, "shape": "rows=3 dim=3", "what": "y", "error": None if "bad" in name else 0,
          "bound": 1, **(place if "bad" in name else {}), "passed": "bad" not in name} for name in run]
json.dump({"device": "Card 1", "checks": found, "benchmarks": [],
           "left_out": {"checks": [{"name": "sum/wide"}] if prefix == "sum/" else [], "benchmarks": []}},
          open(file, "w"))
"""


class ChecksTest(StageTestCase):
    def setUp(self):
        super().setUp()
        self.runner = self.folder / "bin" / checks.PROGRAM
        program(self.runner, f"exec {sys.executable} -c '{RUNNER}' \"$@\"\n")

    def sanitizer(self, text):
        tool = program(self.folder / "compute-sanitizer", text)
        checks.run_checks(self.contact(compute_sanitizer=lambda: tool, wanted="sum/good"))
        return self.read()["results"]["sanitizer"]

    def test_a_wrong_number_is_located_and_a_check_that_breaks_leaves_the_others(self):
        checks.run_checks(self.contact())
        results, failures = self.read()["results"], self.read()["failures"]
        passed = {one["check"]: one["passed"] for one in results["checks"]}
        self.assertEqual(passed, {"sum/good": True, "sum/bad": False, "boom/a": True, "boom/b": False})
        self.assertEqual(
            failures[0], "check sum/bad, shape rows=3 dim=3, what y, error nan or inf, bound 1, "
            "array output 2 of 3, index 7, value nan, expected 0.25, wrong 2, elements 9; "
            f"to repeat it: {self.runner} --check sum/bad")
        self.assertIn(f"FAILED {failures[0]}\n", (self.stage.out / "test.log").read_text())
        self.assertEqual(results["checks"][1]["index"], 7)
        self.assertIn("check boom/b: ended by SIGABRT: illegal address", failures[1])
        self.assertIn(f"; to repeat it: {self.runner} --check boom/b", failures[1])
        self.assertEqual(results["left_out"], {"checks": [{"name": "sum/wide"}]})

    def test_without_a_sanitizer_it_is_not_run(self):
        checks.run_checks(self.contact())
        self.assertIn("no compute-sanitizer", self.read()["results"]["sanitizer"]["not_run"])

    def test_a_sanitizers_finding_is_a_failure(self):
        found = self.sanitizer('[ "$2" = racecheck ] && { echo "========= Race reported at x"; '
                               'echo "========= RACECHECK SUMMARY: 1 hazard displayed"; exit 9; }\n'
                               'echo "========= ERROR SUMMARY: 0 errors"\n')
        self.assertEqual(found["memcheck"], {checks.ONCE[0]: {"passed": True}})
        self.assertIn("Race reported at x", found["racecheck"][checks.ONCE[0]]["failed"])
        self.assertEqual(len(self.read()["failures"]), 1)

    def test_a_sanitizer_that_refuses_the_device_is_not_run_and_no_failure(self):
        found = self.sanitizer('echo "========= Error: Device not supported"\n'
                               'echo "========= ERROR SUMMARY: 0 errors"; exit 1\n')
        self.assertIn("Device not supported", found["memcheck"][checks.ONCE[0]]["not_run"])
        self.assertEqual(self.read()["failures"], [])

    def test_a_sanitizer_without_a_verdict_is_not_run(self):
        found = self.sanitizer("exit 3\n")
        self.assertIn("exit 3", found["memcheck"][checks.ONCE[0]]["not_run"])
        self.assertEqual(self.read()["failures"], [])

    def test_benchmarks_are_shares_of_a_copy(self):
        measured = [{"benchmark": "copy", "gb_per_s": 200.0}, {"benchmark": "sum", "gb_per_s": 50.0}]
        found = {"benchmarks": measured, "left_out": {"benchmarks": [{"name": "wide"}]}}
        program(self.runner, f"echo '{json.dumps(found)}' > \"$3\"\n")
        checks.run_kernels(self.contact())
        self.assertEqual(self.read()["results"],
                         {"benchmarks": measured, "left_out": {"benchmarks": [{"name": "wide"}]}})
        self.assertIn("sum: 50 GB/s, 25 % of a copy", (self.stage.out / "test.log").read_text())

    def test_results_that_are_cut_off_are_those_of_a_failed_process(self):
        program(self.runner, 'case "$1" in --list) echo sum/a;; --check) echo "[{" > "$4"; kill -9 $$;; '
                '*) echo "[{" > "$3"; echo lost; exit 3;; esac\n')
        checks.run_checks(self.contact())
        checks.run_kernels(self.contact())
        results, failures = self.read()["results"], self.read()["failures"]
        self.assertEqual([one["passed"] for one in results["checks"]], [False])
        self.assertIn("check sum/a: ended by SIGKILL", failures[0])
        self.assertEqual(results["benchmarks"], {"failed": "exit 3: lost"})
        self.assertEqual(failures[1], "benchmarks: exit 3: lost")

    @unittest.skipUnless((BIN / "kernels_emulated").exists(), "no emulated kernels in this build")
    def test_each_kernel_and_type_meets_the_sanitizer_once(self):
        names = checks.list_checks(BIN / "kernels_emulated")
        for one in checks.ONCE:
            self.assertTrue(any(name.startswith(one) for name in names), one)
        families = lambda names: {(name.split("/")[0], kind) for name in names for kind in ("f32", "bf16")
                                  if kind in name.split("/")}
        self.assertLessEqual(families(names) - {("attention", "f32"), ("attention", "bf16")},
                             families(checks.ONCE))
        heads = {name.rpartition("/")[0] for name in names
                 if name.startswith("attention/") and name.split("/")[2:3] and name.split("/")[2].isdigit()}
        self.assertLessEqual(heads, {name.rpartition("/")[0] for name in checks.ONCE})


class GpuTestsTest(StageTestCase):
    LISTED = 'if [ "$1" = --gtest_list_tests ]; then printf "GpuTest.\\n  A\\n  B\\n  C\\n"; exit; fi\n'

    def run_tests(self, text):
        program(self.folder / "bin" / gpu_tests.PROGRAM, self.LISTED + text)
        gpu_tests.run(self.contact())
        return self.read()["results"]["tests"]

    def test_each_test_runs_by_itself_and_a_failure_has_its_text(self):
        found = self.run_tests(
            'case "$1" in *A) echo "[  PASSED  ] 1 test.";; *B) echo "[ RUN      ] B"; '
            'echo "gpu_test.cc:112: 3e-4 exceeds 2e-5"; echo "[  FAILED  ] B"; exit 1;; '
            '*) kill -SEGV $$;; esac\n')
        self.assertTrue(found["GpuTest.A"]["passed"])
        self.assertEqual(found["GpuTest.B"]["failed"], "B\ngpu_test.cc:112: 3e-4 exceeds 2e-5")
        self.assertIn("ended by SIGSEGV", found["GpuTest.C"]["failed"])
        self.assertEqual(len(self.read()["failures"]), 2)

    def test_a_skipped_test_says_why(self):
        found = self.run_tests('echo "[ RUN      ] A"; echo "no CUPTI"; echo "[  SKIPPED ] A"; '
                               'echo "[  PASSED  ] 0 tests."\n')
        self.assertEqual(found["GpuTest.A"]["skipped"], "A no CUPTI")

    def test_without_the_program_it_is_left_out(self):
        gpu_tests.run(self.contact())
        self.assertIn("bench/gpu/pack", self.read()["results"]["tests"]["left_out"])


class ProcessesTest(StageTestCase):
    def wait_for_the_end(self, pid):
        stat, deadline = pathlib.Path(f"/proc/{pid}/stat"), time.monotonic() + 30
        while stat.exists() and stat.read_text().split()[2] != "Z":
            self.assertLess(time.monotonic(), deadline, "the process still runs")
            time.sleep(0.01)

    def test_the_log_has_output_before_the_program_ends(self):
        log = self.stage.out / "test.log"
        tool = program(self.folder / "tool", "echo first; sleep 1; echo last\n")
        seen = []
        self.stage.log.write = lambda text, write=self.stage.log.write: (
            write(text), seen.append(log.read_text()))
        ended = processes.run([tool], TIMEOUT_S, self.stage.log)
        self.assertEqual((ended.code, ended.output), (0, "first\nlast\n"))
        self.assertTrue(any("first" in text and "last" not in text for text in seen))

    def test_a_program_that_ignores_the_end_is_ended_with_all_it_started(self):
        self.patch(processes, ENDS_WITHIN=0.2)
        tool = program(self.folder / "tool", f"trap '' TERM; sleep {TIMEOUT_S} & echo $!; wait; wait\n")
        ended = processes.run([tool], 1)
        self.assertIsNone(ended.code)
        self.wait_for_the_end(int(ended.output))

    # A process like a rank of penstock launch: in a group of its own, and SIGTERM does not end it.
    LAUNCH = ("import os, signal, time\nif os.fork() == 0:\n    os.setpgid(0, 0)\n"
              "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    print(os.getpid(), flush=True)\n"
              "time.sleep(600)\n")

    def test_a_child_in_a_group_of_its_own_is_ended(self):
        self.patch(processes, ENDS_WITHIN=0.2)
        ended = processes.run([sys.executable, "-c", self.LAUNCH], 2)
        self.assertIsNone(ended.code)
        self.wait_for_the_end(int(ended.output))

    def test_all_that_run_are_ended_with_their_children(self):
        with open(self.folder / "said", "w+") as said, \
                processes.background([sys.executable, "-c", self.LAUNCH], said) as process:
            deadline = time.monotonic() + TIMEOUT_S
            while not (child := (self.folder / "said").read_text()):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            self.patch(processes, _ending=threading.Event())  # Later tests run programs again.
            processes.stop_all()
            self.assertEqual(process.wait(TIMEOUT_S), -signal.SIGKILL)
        self.wait_for_the_end(int(child))

    def test_once_all_are_ended_no_other_runs(self):
        self.patch(processes, _ending=threading.Event())
        processes.stop_all()
        self.assertEqual(processes.run(["sleep", TIMEOUT_S], TIMEOUT_S).code, -signal.SIGKILL)

    def test_a_log_does_not_grow_without_end(self):
        self.patch(stage, MOST_LOG=100)
        log = stage.Log(self.folder / "log")
        self.addCleanup(log.close)
        for _ in range(10):
            log.write("x" * 40)
        self.assertLess((self.folder / "log").stat().st_size, 150)


class ContactTest(StageTestCase):
    def run_contact(self, *args, **env):
        folder = program(self.folder / "tools" / "nvidia-smi", "echo Card 1\n").parent
        return subprocess.Popen(
            [GPU / "contact", *args, "--state", self.folder / "state", "--out", self.folder / "found",
             "--commit", "abc", "--programs", self.folder / "bin"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", **env})

    def found(self, name):
        return json.loads((self.folder / "found" / f"{name}.json").read_text())

    def test_it_says_what_to_run_next(self):
        contact = load("contact")
        options = argparse.Namespace(stage="first", state=self.folder, only="sum", commit="abc")
        (self.folder / "done-abc").mkdir()
        with mock.patch.object(sys, "argv", ["bench/gpu/contact", "first", "--only", "sum", "--out", "a b"]):
            contact.done_file(options, "first").touch()
            self.assertEqual(contact.next_command(options),
                             "next: bench/gpu/contact checks --out 'a b'")
            for name in contact.SECONDS:
                contact.done_file(options, name).touch()
            self.assertIn("report.py", contact.next_command(options))

    def test_every_stage_ends_within_nine_minutes_and_the_first_five_within_22(self):
        contact = load("contact")
        self.assertEqual(set(contact.SECONDS), set(contact.STAGES))
        self.assertLessEqual(max(contact.SECONDS.values()) + contact.GRACE, 9 * 60)
        five = ["first", "checks", "tests", "bits", "model"]
        self.assertEqual(list(contact.SECONDS)[:5], five)
        self.assertLessEqual(sum(contact.SECONDS[name] + contact.GRACE for name in five), 22 * 60)

    def test_the_first_rates_need_less_than_15_minutes(self):
        contact = load("contact")
        page = (REPOSITORY / "docs" / "internals" / "gpu_figures.md").read_text()
        self.assertIn("`first`, `model` and `kernels`, which end within 14 minutes", " ".join(page.split()))
        self.assertLessEqual(sum(contact.SECONDS[name] + contact.GRACE
                                 for name in ("first", "model", "kernels")), 14 * 60)

    def test_a_stage_that_is_ended_leaves_what_it_had(self):
        program(self.folder / "bin" / gpu_tests.PROGRAM, GpuTestsTest.LISTED +
                'case "$1" in *A) echo "[  PASSED  ] 1 test.";; *) echo begun; sleep 600;; esac\n')
        running = self.run_contact("tests")
        log, deadline = self.folder / "found" / "tests.log", time.monotonic() + TIMEOUT_S
        while not log.exists() or "begun" not in log.read_text():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        self.assertIn("cut off: SIGTERM", running.communicate(timeout=TIMEOUT_S)[0])
        self.assertEqual(running.returncode, 1)
        found = self.found("tests")
        self.assertEqual((found["cut_off"], found["now"], found["ended"]), ("SIGTERM", "GpuTest.B", False))
        self.assertTrue(found["results"]["tests"]["GpuTest.A"]["passed"])

    def test_an_error_that_nothing_expects_is_a_failure_with_its_place(self):
        program(self.folder / "bin" / "penstock", "exit 4\n")
        running = self.run_contact("fed")
        said = running.communicate(timeout=TIMEOUT_S)[0]
        self.assertEqual(running.returncode, 1, said)
        self.assertIn("fed, data: CalledProcessError", self.found("fed")["failures"][0])
        self.assertIn("next: ", said)

    def test_state_inside_out_is_refused(self):
        ended = subprocess.run([GPU / "contact", "fed", "--out", self.folder, "--state",
                                self.folder / "state", "--commit", "a"], capture_output=True, text=True,
                               timeout=TIMEOUT_S, check=False)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("name a folder outside it", ended.stderr)

    @WITHOUT_GPU
    def test_no_gpu_is_said(self):
        ended = subprocess.run([GPU / "contact", "fed", "--out", self.folder / "found", "--commit", "a"],
                               capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(ended.returncode, 77, ended.stderr)
        self.assertIn("no GPU here", ended.stderr)

    def test_pythons_libraries_are_found_for_the_programs(self):
        lib = self.folder / "nvidia" / "cu13" / "lib"
        lib.mkdir(parents=True)
        tool = program(self.folder / "nvidia" / "cu13" / "bin" / "compute-sanitizer", "")
        with mock.patch.dict(os.environ, PYTHONPATH=str(self.folder), PENSTOCK_CUDA_LIBS="/mine",
                             CUDA_HOME="/none"):
            self.assertEqual(machine.nvidia_folders(sys.executable), f"/mine:{lib}")
            self.assertEqual(machine.compute_sanitizer(sys.executable), str(tool))


class PackTest(StageTestCase):
    def setUp(self):
        super().setUp()
        program(self.folder / "bin" / "penstock", "echo here\n")

    def pack(self, *args):
        return subprocess.run([GPU / "pack", "--programs", self.folder / "bin", "--out",
                               self.folder / "pack", "--commit", "abc", *args], capture_output=True,
                              text=True, timeout=TIMEOUT_S, check=False)

    def said(self, command):
        """Returns what the command writes on a machine without a GPU."""
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False).stderr

    def test_programs_can_be_run_once_unpacked(self):
        ended = self.pack()
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(package.facts(self.folder / "pack")["commit"], "abc")
        for _ in range(2):
            programs = package.unpack(self.folder / "pack", self.folder)
            self.assertEqual(subprocess.run([programs / "penstock"], capture_output=True, text=True,
                                            check=True).stdout, "here\n")
        self.assertIsNone(package.unpack(REPOSITORY, self.folder))

    @WITHOUT_GPU
    def test_sources_without_git_and_without_a_name_are_refused(self):
        self.pack()
        contact = [self.folder / "pack" / "bench" / "gpu" / "contact", "fed", "--out", self.folder / "out"]
        self.assertNotIn("--commit", self.said(contact))
        (self.folder / "pack" / package.FACTS).unlink()
        self.assertIn("name the commit with --commit", self.said(contact))
        self.assertIn("name the commit with --commit", self.said(
            [self.folder / "pack" / "bench" / "gpu" / "pack", "--out", self.folder / "other"]))

    def test_a_folder_that_is_too_large_is_not_made(self):
        self.patch(package, MOST_BYTES=1 << 20)  # The sample alone is larger.
        with mock.patch.object(sys, "argv", ["pack", "--programs", str(self.folder / "bin"), "--out",
                                             str(self.folder / "pack"), "--commit", "abc"]):
            with self.assertRaisesRegex(SystemExit, "at most 1048576"):
                load("pack").main()
        self.assertFalse((self.folder / "pack").exists())

    def test_a_folder_that_is_no_package_is_not_replaced(self):
        (self.folder / "pack").mkdir()
        self.assertIn("is no package", self.pack().stderr)


if __name__ == "__main__":
    unittest.main()
