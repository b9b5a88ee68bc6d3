"""Tests what the portable programs need from a machine, and that they run on one that has only
glibc.

PENSTOCK_PORTABLE_BIN: their folder; .ci/portable.sh sets it. PENSTOCK_PORTABLE_ROOT: the root of
another Linux to run them in, instead of a folder that holds only this machine's glibc.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))

from libraries_test import PROGRAMS, needed, output  # noqa: E402
from processes import BIN, SAMPLE, TIMEOUT_S, die_with_parent, pause  # noqa: E402
from rank_runs import newest, numbers  # noqa: E402

PORTABLE = pathlib.Path(os.environ.get("PENSTOCK_PORTABLE_BIN", "/none"))
# The libraries of glibc 2.35, some of which are empty since 2.34.
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
         "ld-linux-x86-64.so.2"}
OLDEST_GLIBC = (2, 35)
MOST_BYTES = 40_000_000
BATCHES = ("--global-batch-size", 64, "--steps", 3)
IN_A_ROOT = unittest.skipUnless(os.geteuid() == 0, "not root: no other root can be entered")


def glibc(program):
    """Returns the newest version of glibc of which the program uses a symbol."""
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output("readelf", "--version-info", program))
    return max((int(major), int(minor)) for major, minor in versions)


class NeedsTest(unittest.TestCase):
    def test_others_would_be_seen(self):
        self.assertIn("libgrpc++.so.1.51", needed(BIN / "penstock-server"))
        self.assertGreater(glibc(BIN / "penstock-server"), (2, 2))


@unittest.skipUnless(PORTABLE.is_dir(), "no portable programs: .ci/portable.sh builds them")
class PortableTest(unittest.TestCase):
    def setUp(self):
        given = os.environ.get("PENSTOCK_PORTABLE_ROOT")
        self.root = pathlib.Path(given or tempfile.mkdtemp(prefix="penstock-root-"))
        self.work = self.root / "penstock"
        self.addCleanup(shutil.rmtree, self.work if given else self.root, ignore_errors=True)

    def fill_root(self):
        if "PENSTOCK_PORTABLE_ROOT" not in os.environ:
            for name in GLIBC:
                folder = self.root / ("lib64" if name.startswith("ld-") else "lib")
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(f"/lib64/{name}" if name.startswith("ld-")
                            else f"/lib/x86_64-linux-gnu/{name}", folder)
        shutil.copytree(PORTABLE, self.work / "bin")
        shutil.copytree(SAMPLE, self.work / "data")

    def start(self, program, *args):
        def enter():
            die_with_parent()
            os.chroot(self.root)
            os.chdir("/penstock")

        child = subprocess.Popen([f"/penstock/bin/{program}", *map(str, args)], preexec_fn=enter,
                                 env={}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, child)
        return child

    @staticmethod
    def end(child):
        if child.poll() is None:
            child.kill()
        child.communicate()

    def run_in_root(self, program, *args):
        child = self.start(program, *args)
        out, err = child.communicate(timeout=TIMEOUT_S)
        self.assertEqual(child.returncode, 0, f"{program} {args}\n{out}\n{err}")
        return out

    def test_the_licences_of_linked_libraries_are_installed_beside_the_programs(self):
        subprocess.run(["cmake", "--install", PORTABLE.parent, "--component", "programs",
                        "--prefix", self.work], check=True, stdout=subprocess.DEVNULL,
                       timeout=TIMEOUT_S)
        licenses = self.work / "share" / "doc" / "penstock" / "licenses"
        sources = (licenses / "SOURCES").read_text()
        for library in ("abseil", "glibc", "grpc", "libjpeg-turbo", "libzstd", "openssl", "protobuf"):
            self.assertRegex(sources, rf"(?m)^{library} \d")
            self.assertTrue((licenses / library / "copyright").stat().st_size, library)
        self.assertTrue(all((self.work / "bin" / name).exists() for name in PROGRAMS))

    def test_they_need_only_glibc_of_2_35_and_are_small(self):
        for name in PROGRAMS:
            with self.subTest(name):
                program = PORTABLE / name
                self.assertLessEqual(needed(program), GLIBC)
                self.assertLessEqual(glibc(program), OLDEST_GLIBC)
                self.assertLess(program.stat().st_size, MOST_BYTES)
                self.assertNotIn(".symtab", output("readelf", "-SW", program))

    def test_programs_for_a_gpu_need_only_glibc_too(self):
        programs = [PORTABLE / name for name in ("kernels_check_bench", "trainer_gpu_test")]
        if not programs[0].exists():
            self.skipTest("a build without CUDA")
        for program in programs:
            with self.subTest(program.name):
                self.assertLessEqual(needed(program), GLIBC)
                self.assertLessEqual(glibc(program), OLDEST_GLIBC)

    def serve(self):
        """Starts a server of indexed data in the root. It writes the file `address`."""
        self.fill_root()
        self.run_in_root("penstock", "index", "data", "--holdout", "5%", "-o", "data/manifest.pb")
        server = self.start("penstock-server", "--data-root", "data", "--listen", "127.0.0.1:0",
                            "--address-file", "address", "--metrics-port", "0")
        while not (self.work / "address").exists():
            self.assertIsNone(server.poll(), "penstock-server ended")
            pause()
        return server

    @staticmethod
    def training(folder, *args):
        return ["--manifest", "data/manifest.pb", "--servers", "file:address", "--device", "cpu",
                "--checkpoint-dir", folder, *BATCHES, *args]

    @IN_A_ROOT
    def test_they_run_where_there_is_only_glibc(self):
        server = self.serve()
        streamed = json.loads(self.run_in_root(
            "penstock", "stream", "data/manifest.pb", "--servers", "file:address", "--split",
            "train", "--dtype", "packed", "--digest", "--json", "-", *BATCHES))
        said = self.run_in_root("penstock-train", *self.training("saved", "--digest", "--json",
                                                                 "summary.json"))
        self.assertIn("no oneDNN: it multiplies matrices with OpenBLAS", said)
        summary = json.loads((self.work / "summary.json").read_text())
        self.assertEqual(summary["steps"], 3)
        self.assertEqual(summary["digest"], streamed["digest"])
        predicted = json.loads(self.run_in_root(
            "penstock-train", "predict", "--checkpoint", "saved/best.ckpt", "--json", "-", "--fen",
            "8/8/8/4k3/8/4K3/4P3/8 w - - 0 1"))
        self.assertLess(abs(predicted[0]["score"]), 1)
        server.terminate()
        self.assertEqual(server.wait(TIMEOUT_S), 0)

    @IN_A_ROOT
    def test_two_ranks_have_the_weights_of_one(self):
        self.serve()
        self.run_in_root("penstock-train", *self.training("one"))
        said = self.run_in_root("penstock", "launch", "-np", 2, "--", "/penstock/bin/penstock-train",
                                *self.training("two"))
        self.assertIn("2 ranks (torchrun)", said)
        one, two = (numbers(newest(self.work / folder)) for folder in ("one", "two"))
        self.assertEqual(one, two)

    def test_what_they_lack_is_said(self):
        for args, says in ((["--gemm", "onednn"], "this build has no oneDNN; use --gemm openblas"),
                           (["--precision", "bf16"], "needs --gemm onednn, which this build")):
            result = subprocess.run([PORTABLE / "penstock-train", "--manifest", SAMPLE, "--device", "cpu",
                                     *args],
                                    stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(says, result.stderr)

    def test_ranks_are_connected_without_gloo(self):
        self.assertIn("[X] sockets (TCP)", output(PORTABLE / "penstock", "launch", "--check-build"))


if __name__ == "__main__":
    unittest.main()
