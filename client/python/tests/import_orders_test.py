"""Tests Penstock together with TensorFlow, PyTorch, JAX and gRPC, imported in any order.

Each run imports the installed frameworks in one order, and does one thing with each: their
libraries must not clash. Frameworks that are missing are skipped, by name.
"""

import importlib.util
import pathlib
import subprocess
import sys
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
SAMPLE = PACKAGE.parents[1] / "sample"
USES = {
    "penstock": f"""
with penstock.Loader({str(SAMPLE)!r}, global_batch_size=64) as loader:
    assert next(iter(loader)).rows == 64
""",
    "tensorflow": "assert int(tensorflow.reduce_sum(tensorflow.ones([3, 4]))) == 12",
    "torch": "assert float(torch.ones(3, 4).sum()) == 12",
    "jax": "assert float(jax.numpy.ones([3, 4]).sum()) == 12",
    "grpc": """
from concurrent import futures
server = grpc.server(futures.ThreadPoolExecutor(1))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
grpc.channel_ready_future(grpc.insecure_channel(f"127.0.0.1:{port}")).result(timeout=30)
server.stop(None)
""",
}


def installed():
    return [name for name in USES if name == "penstock" or importlib.util.find_spec(name)]


def run(imports, uses):
    """Imports in one order, then uses in another. Returns the process's result."""
    program = "\n".join([f"import {name}" for name in imports] + [USES[name] for name in uses])
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=300, check=False,
                          env={"PYTHONPATH": str(PACKAGE), "PATH": "/usr/bin:/bin",
                               "TF_CPP_MIN_LOG_LEVEL": "3"})


class ImportOrdersTest(unittest.TestCase):
    def setUp(self):
        self.names = installed()
        missing = sorted(set(USES) - set(self.names))
        if missing:
            print("not installed:", ", ".join(missing), file=sys.stderr)
        if len(self.names) == 1:
            self.skipTest("no other framework is installed")

    def check(self, imports, uses):
        result = run(imports, uses)
        self.assertEqual(result.returncode, 0,
                         f"import {', '.join(imports)}; use {', '.join(uses)}:\n{result.stderr}")

    def test_every_rotation(self):
        for first in range(len(self.names)):
            order = self.names[first:] + self.names[:first]
            with self.subTest(order=order):
                self.check(order, order)

    def test_used_in_the_reverse_order(self):
        self.check(self.names, self.names[::-1])

    def test_each_framework_before_and_after(self):
        for name in self.names[1:]:
            for order in ([name, "penstock"], ["penstock", name]):
                with self.subTest(order=order):
                    self.check(order, order)


if __name__ == "__main__":
    unittest.main()
