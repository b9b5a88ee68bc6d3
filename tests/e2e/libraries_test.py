"""Tests that the programs are not linked to CUDA's libraries, so that they start without them."""

import pathlib
import re
import subprocess
import tempfile
import unittest

from servers import BIN, TIMEOUT_S

PROGRAMS = ("penstock", "penstock-server", "penstock-train")
# Matches the driver, cudart, cuDNN, cuBLAS, CUPTI, NCCL, nvrtc, nvJitLink, NVML and similar ones.
OF_CUDA = re.compile(r"lib(cud|cublas|cupti|nccl|nv)")


def output(*command):
    return subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True,
                          timeout=TIMEOUT_S).stdout


def needed(program):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", program)))


def of_cuda(program):
    return {name for name in needed(program) if OF_CUDA.match(name)}


class LibrariesTest(unittest.TestCase):
    def test_no_program_needs_a_library_of_cuda(self):
        for program in PROGRAMS:
            with self.subTest(program):
                self.assertEqual(of_cuda(BIN / program), set())

    def test_one_would_be_seen(self):
        names = {"libcudart.so.13", "libcublasLt.so.13", "libnccl.so.2", "libcupti.so.13"}
        with tempfile.TemporaryDirectory() as folder:
            libraries = [pathlib.Path(folder) / name for name in sorted(names)]
            for library in libraries:
                output("cc", "-shared", "-x", "c", "/dev/null", "-o", library,
                       f"-Wl,-soname,{library.name}")
            linked = pathlib.Path(folder) / "linked.so"
            output("cc", "-shared", "-Wl,--no-as-needed", *libraries, "-o", linked)
            self.assertEqual(of_cuda(linked), names)
            self.assertIn("libc.so.6", needed(linked))


if __name__ == "__main__":
    unittest.main()
