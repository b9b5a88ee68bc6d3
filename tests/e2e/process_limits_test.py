"""Tests limits of address space and of descriptors that are too low: the programs report them at
the start."""

import os
import resource
import unittest

from processes import ProcessTestCase, run
from servers import TIMEOUT_S, die_with_parent, wait_until

MIB = 1 << 20


def limit(kind, value):
    """Returns a function that sets the limit, for preexec_fn."""
    def set_limit():
        die_with_parent()
        resource.setrlimit(kind, (value, value))
    return set_limit


class AddressSpaceTest(ProcessTestCase):
    """A server without enough addresses says so; with enough it serves clients."""

    def serve(self, mebibytes, *args):
        server = self.make_server(*args, prefix=["prlimit", f"--as={mebibytes * MIB}"])
        server.start()
        wait_until(lambda: server.poll() is not None or server.address_file.exists(),
                   "a server to serve, or to end")
        return server

    def check_works_or_says_why(self, mebibytes, *args):
        server = self.serve(mebibytes, *args)
        if server.poll() is not None:
            self.assertEqual(server.returncode, 1, server.log())
            self.assertIn("too little address space: ", server.log())
            self.assertIn("raise the limit (ulimit -v), or give a smaller --memory-budget",
                          server.log())
            return False
        server.wait_serving()
        expected = self.stream("local:")["digest"]
        clients = [self.spawn("penstock", *self.stream_args(server.address)) for _ in range(4)]
        for client in clients:
            output, errors = client.communicate(timeout=TIMEOUT_S)
            self.assertEqual(client.returncode, 0, f"{errors}\n{server.log()}")
            self.assertIn(expected, output)
        server.drain()
        self.assertEqual(server.wait(TIMEOUT_S), 0, server.log())
        return True

    def test_a_server_works_or_says_why_it_cannot(self):
        for mebibytes in (150, 300, 500, 700, 900, 1200, 2000):
            with self.subTest(mebibytes=mebibytes):
                self.check_works_or_says_why(mebibytes)

    def test_the_cure_is_one(self):
        few = ("--threads", 2, "--read-threads", 32, "--memory-budget", "1GiB")
        self.assertFalse(self.check_works_or_says_why(1000, *few))
        cured = ("--threads", 2, "--read-threads", 0, "--memory-budget", "64MiB")
        self.assertTrue(self.check_works_or_says_why(1000, *cured))


class AddressSpaceOfClientsTest(ProcessTestCase):
    """A client without enough addresses says so; with enough it reads."""

    def test_a_client_works_or_says_why_it_cannot(self):
        args = self.stream_args(self.start_server().address)
        expected = self.stream("local:")["digest"]
        codes = []
        for mebibytes in (100, 150, 200, 250, 300, 400, 600, 1000):
            result = run("penstock", *args,
                         preexec_fn=limit(resource.RLIMIT_AS, mebibytes * MIB))
            codes.append(result.returncode)
            if result.returncode == 0:
                self.assertIn(expected, result.stdout)
            else:
                self.assertEqual(result.returncode, 1, (mebibytes, result.stderr))
                self.assertIn("too little address space: ", result.stderr)
        self.assertEqual(codes, sorted(codes, reverse=True))

    def test_a_training_says_why_it_cannot(self):
        address = self.start_server().address
        # Otherwise OpenBLAS's threads would try to get 128 MiB each, for ever.
        result = run("penstock-train", "--manifest", self.manifest, "--servers", address,
                     "--steps", 1, preexec_fn=limit(resource.RLIMIT_AS, 250 * MIB),
                     env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("too little address space: ", result.stderr)


class DescriptorsTest(ProcessTestCase):
    """Programs that use gRPC report at the start that there are too few descriptors."""

    def check(self, program, *args):
        result = run(program, *args, preexec_fn=limit(resource.RLIMIT_NOFILE, 8))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"too few file descriptors: the limit is 8, \d are open, and "
                         r"at least \d+ are needed; raise the limit \(ulimit -n;")
        self.assertNotIn("still waiting", result.stderr)

    def test_a_server(self):
        self.check("penstock-server", "--data-root", self.data, "--listen", "127.0.0.1:0")

    def test_a_server_works_or_says_why_it_cannot(self):
        for most in range(8, 40):
            server = self.make_server("--health-listen", "127.0.0.1:0", "--shm-socket",
                                      self.folder / "shm.sock",
                                      prefix=["prlimit", f"--nofile={most}"])
            server.start()
            wait_until(lambda: server.poll() is not None or server.address_file.exists(),
                       "a server to serve, or to end")
            if server.poll() is None:
                break
            self.assertEqual(server.returncode, 1, server.log())
            self.assertIn(f"too few file descriptors: the limit is {most}, ", server.log())
        server.wait_serving()
        server.drain()
        self.assertEqual(server.wait(TIMEOUT_S), 0, server.log())

    def test_a_stream(self):
        self.check("penstock", *self.stream_args(self.reserve_address()))

    def test_a_manifest_of_a_server(self):
        self.check("penstock", "stream", "server:manifest.pb", "--servers", self.reserve_address(),
                   "--server-timeout", "1s")

    def test_a_look_at_servers(self):
        self.check("penstock", "top", "--servers", self.reserve_address(), "--once")

    def test_a_benchmark(self):
        self.check("penstock", "bench", self.manifest, "--servers", self.reserve_address())

    def test_a_training(self):
        self.check("penstock-train", "--manifest", self.manifest, "--servers",
                   self.reserve_address(), "--steps", 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
