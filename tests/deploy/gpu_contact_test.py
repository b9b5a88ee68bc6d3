"""A dry run of how a machine with a GPU is checked and measured: bench/gpu/pack here, all stages of
bench/gpu/contact there, bench/gpu/report.py here.

"There" is a bare root folder (bare_root.py) with a fake nvidia-smi, and with an emulated GPU in place of
a real one: penstock-train and trainer_gpu_test of the folder `emulated`, and the emulation of the kernels,
which the stage `checks` builds there with Ninja."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))

from bare_root import BareRoot, own_mounts  # noqa: E402
from servers import BIN, REPOSITORY, TIMEOUT_S, die_with_parent  # noqa: E402

GPU = REPOSITORY / "bench" / "gpu"
EMULATED = BIN / "emulated"
NVCC = pathlib.Path("/usr/local/cuda/bin/nvcc")
WITH_CUDA = os.environ.get("PENSTOCK_WITH_CUDA") == "ON"  # CMake sets it.
MOST_PACKED, MOST_TREE, MOST_FILES, MOST_FILE = 48 << 20, 64, 8, 16 << 20
# Few checks and one test, because the emulation is slow.
ONLY = {"checks": "pool_mean", "tests": "*Bf16StepIsNearTheReference"}
NVIDIA_SMI = """case "$*" in
  *query-gpu=name*) echo "Emulated GPU" ;;
  *query-gpu=driver_version*) echo 1.2.3 ;;
  *) echo "GPU 0: Emulated GPU" ;;
esac
"""
REFUSES = 'echo "========= Error: the device is not supported"; exit 1\n'


@unittest.skipUnless((EMULATED / "penstock-train").exists(), "no emulated GPU in this build")
@unittest.skipUnless(os.geteuid() == 0, "not root: no other root can be entered")
class GpuContactTest(unittest.TestCase):
    def setUp(self):
        own_mounts()
        self.here = pathlib.Path(tempfile.mkdtemp(prefix="penstock-contact-"))
        self.addCleanup(shutil.rmtree, self.here)

    def make_root(self):
        root = BareRoot(self.here / "root")
        self.addCleanup(root.close)  # Before its folder is removed.
        root.script("nvidia-smi", NVIDIA_SMI)
        root.script("compute-sanitizer", REFUSES)
        if NVCC.exists():
            root.bind(NVCC.resolve().parents[1], "usr/local/cuda")
        return root

    def pack(self, root):
        """Packs the emulated programs; their libraries stand for those of a portable program."""
        programs = self.here / "programs"
        programs.mkdir()
        for program in (BIN / "penstock", BIN / "penstock-server", EMULATED / "penstock-train",
                        EMULATED / "trainer_gpu_test"):
            (programs / program.name).symlink_to(program)
        root.add_libraries(list(programs.iterdir()), "opt/emulated/lib")
        subprocess.run([GPU / "pack", "--programs", programs, "--out", self.here / "pack", "--commit",
                        "dry-run"], check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        files = [path for path in (self.here / "pack").rglob("*") if path.is_file()]
        self.assertLess(sum(path.stat().st_size for path in files), MOST_PACKED)
        shutil.copytree(self.here / "pack", root.limit("travelled", MOST_TREE) / "pack")

    def run_stage(self, root, name):
        """Runs the stage; returns (its output, its file)."""
        only = ["--only", ONLY[name]] if name in ONLY else []
        child = root.start("/travelled/pack", [
            "bench/gpu/contact", name, "--out", f"/tmp/out/{name}", "--state", "/tmp/state", "--emulated",
            *only], preexec=die_with_parent, LD_LIBRARY_PATH="/opt/emulated/lib")
        said, _ = child.communicate(timeout=TIMEOUT_S)
        out = root.folder / "tmp" / "out" / name
        self.assertEqual(child.returncode, 0, f"{said}\n{(out / f'{name}.log').read_text()[-5000:]}")
        files = list(out.iterdir())
        self.assertLessEqual(len(files), MOST_FILES)
        for file in files:
            self.assertLess(file.stat().st_size, MOST_FILE)
        return said, json.loads((out / f"{name}.json").read_text())

    def run_stages(self, root):
        """Runs the stage `first`, and then each that the one before names as the next."""
        found, name = {}, "first"
        while name:
            self.assertNotIn(name, found)
            said, found[name] = self.run_stage(root, name)
            last = said.splitlines()[-1].split()
            print(f"{name}: {found[name]['seconds']} s", flush=True)
            name = last[last.index("bench/gpu/contact") + 1] if "bench/gpu/contact" in last else None
        self.assertIn("bench/gpu/report.py", last)
        return found

    def check(self, found):
        for name, stage in found.items():
            self.assertTrue(stage["ended"], name)
            self.assertEqual(stage["failures"], [], name)
            self.assertEqual((stage["commit"], stage["device"]), ("dry-run", "Emulated GPU"))
        results = {key: value for stage in found.values() for key, value in stage["results"].items()}
        self.assertTrue(results["first"]["tiny"]["bf16_graphs"]["passed"])
        self.assertTrue(results["checks"])
        self.assertIn("not supported", str(results["sanitizer"]["memcheck"]))
        self.assertTrue(results["bits"]["tiny"]["ranks_2"]["passed"])
        self.assertTrue(results["bits"]["tiny"]["steps_per_launch"]["passed"])
        self.assertTrue(results["tests"]["GpuTest.Bf16StepIsNearTheReference"]["passed"])
        self.assertEqual(results["trace"]["tiny"]["source"], "marks")
        if WITH_CUDA:  # A build without CUDA has no ranges.
            self.assertGreaterEqual(results["trace"]["nvtx"]["ranges"]["step"], 3)
        self.assertGreater(results["fed"]["tiny"]["shared_memory"]["positions_per_second"], 0)
        self.assertTrue(results["images"]["vit-tiny"]["bf16_beside_cpu"]["passed"])
        self.assertIn("PyTorch", results["peers"]["left_out"])

    def test_from_pack_to_report(self):
        root = self.make_root()
        for tool in ("make", "git"):
            self.assertIsNone(shutil.which(tool, path=str(root.folder / "usr" / "bin")))
        self.pack(root)
        found = self.run_stages(root)
        self.check(found)
        figures = self.here / "figures.json"
        subprocess.run([GPU / "report.py", root.folder / "tmp" / "out", "--out", figures], check=True,
                       timeout=TIMEOUT_S)
        figures = json.loads(figures.read_text())
        self.assertEqual(set(figures["stages"]), set(found))
        self.assertIn("peers", figures["incomplete"])


if __name__ == "__main__":
    unittest.main()
