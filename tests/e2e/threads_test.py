"""Tests that programs report it, or manage without, if the system starts no more threads."""

import json
import os
import signal
import subprocess
import unittest

from processes import BIN, TIMEOUT_S, ProcessTestCase
from servers import die_with_parent, wait_until

FEW_THREADS = os.environ.get("PENSTOCK_FEW_THREADS", str(
    BIN.parent / "tests/libpenstock_few_threads.so"))
HANGING_GRPC = os.environ.get("PENSTOCK_HANGING_GRPC", str(
    BIN.parent / "tests/libpenstock_hanging_grpc.so"))
MOST = 120  # More threads than any of these programs needs here.
CAUSE = ": Resource temporarily unavailable; this process has "
CURE = " threads. Raise the limit of threads (ulimit -u, "


class ThreadsTestCase(ProcessTestCase):
    def prefix(self, threads):
        """Returns a command that limits another one to this many threads beside its first."""
        raise NotImplementedError

    def run_with(self, threads, program, *args):
        return subprocess.run([*self.prefix(threads), str(BIN / program), *map(str, args)],
                              capture_output=True, text=True, timeout=TIMEOUT_S,
                              preexec_fn=die_with_parent)

    def assert_says_why(self, code, text):
        self.assertEqual(code, 1, text)
        for part in ("cannot start a thread ", CAUSE, CURE):
            self.assertIn(part, text)
        self.assertNotIn("terminate", text)

    def first_that_works(self, program, *args):
        """Tries with no thread, one, two, and so on. Returns the first number that is enough, and
        the result. So each thread of the program was once the first one that could not be
        started."""
        for threads in range(MOST):
            result = self.run_with(threads, program, *args)
            if result.returncode == 0:
                self.assertGreater(threads, 0, "nothing limits them")
                return threads, result
            self.assert_says_why(result.returncode, result.stderr)
        self.fail(f"{MOST} threads are not enough: {result.stderr}")

    def digest_of(self, result):
        return json.loads(result.stdout)["digest"]

    def check_reader_that_decodes_itself(self):
        _, result = self.first_that_works("penstock", *self.stream_args("local:", "--threads", 3))
        self.assertEqual(self.digest_of(result), self.stream("local:")["digest"])

    def check_reader_of_servers(self):
        server = self.start_server()
        _, result = self.first_that_works(
            "penstock", *self.stream_args(f"{server.address},file:{self.address_files}"))
        self.assertEqual(self.digest_of(result), self.stream("local:")["digest"])

    def check_index(self):
        made = self.data / "again.pb"
        result = self.run_with(0, "penstock", "index", self.data, "--holdout", "5%", "-o", made)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(made.read_bytes(), self.manifest.read_bytes())

    def first_server(self, *args):
        """Tries with no thread, one, two, and so on. Returns the first number that is enough, and
        the server."""
        for threads in range(MOST):
            server = self.make_server("--threads", 3, *args, prefix=self.prefix(threads))
            server.start()
            wait_until(lambda: server.poll() is not None or server.address_file.exists(),
                       "a server to serve, or to end")
            if server.poll() is None:
                return threads, server.wait_serving()
            self.assert_says_why(server.returncode, server.log())
        self.fail(f"{MOST} threads are not enough")

    def check_server(self, *args):
        threads, server = self.first_server(*args)
        self.assertGreater(threads, 3)
        self.assertEqual(self.stream(server.address)["digest"], self.stream("local:")["digest"])


class OwnThreadsTest(ThreadsTestCase):
    """Limits the programs' own threads, but not those of libraries."""

    def prefix(self, threads):
        return ["env", f"LD_PRELOAD={FEW_THREADS}", f"PENSTOCK_TEST_THREADS={threads}"]

    def test_a_reader_that_decodes_itself(self):
        self.check_reader_that_decodes_itself()

    def test_a_reader_of_servers(self):
        self.check_reader_of_servers()

    def test_a_reader_does_without_shared_memory(self):
        server = self.start_server("--shm-socket", self.folder / "shm.sock")
        command = ["penstock", *self.stream_args(server.address)]
        threads, without = self.first_that_works(*command)
        self.assertEqual(self.digest_of(without), self.stream("local:")["digest"])
        self.assertIn("cannot start a thread that asks for shared memory",
                      json.loads(without.stdout)["servers"][0]["shared_memory"])
        enough = self.run_with(threads + 1, *command)
        self.assertEqual(json.loads(enough.stdout)["servers"][0]["shared_memory"], "ok")

    def test_the_thread_there_is_indexes(self):
        self.check_index()

    def test_a_look_at_servers(self):
        server = self.start_server()
        _, result = self.first_that_works("penstock", "top", "--servers", server.address, "--once",
                                          "--interval", "10ms", "--json", "-")
        self.assertEqual(json.loads(result.stdout)["servers"][0]["state"], "up")

    def test_a_server(self):
        self.check_server("--shm-socket", self.folder / "shm.sock")

    def test_a_training(self):
        self.first_that_works("penstock-train", "--manifest", self.manifest, "--servers", "local:",
                              "--threads", 3, "--steps", 2)

    def test_a_training_of_two_ranks(self):
        self.first_that_works("penstock", "launch", "-np", 2, "--", "penstock-train", "--manifest",
                              self.manifest, "--servers", "local:", "--threads", 1, "--steps", 2)


class LimitTest(ThreadsTestCase):
    """Sets the system's limit, for a user with no other processes, because the limit does not bind
    root."""

    def setUp(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        super().setUp()
        for path in [self.folder, *self.folder.iterdir(), *self.data.iterdir()]:
            path.chmod(0o777)
        version = self.run_with(0, "penstock", "--version")
        if version.returncode != 0:
            self.skipTest(f"another user cannot run {BIN}/penstock: {version.stderr}")

    def prefix(self, threads):
        user = 100_000 + os.getpid()
        return ["prlimit", f"--nproc={threads + 1}", "setpriv", f"--reuid={user}",
                f"--regid={user}", "--clear-groups", "--pdeathsig", "KILL"]

    def test_a_reader_that_decodes_itself(self):
        self.check_reader_that_decodes_itself()

    def test_a_reader_of_servers(self):
        self.check_reader_of_servers()

    def test_the_thread_there_is_indexes(self):
        self.check_index()

    def test_a_server(self):
        self.check_server()

    def test_a_server_that_met_the_limit_ends(self):
        enough, server = self.first_server()
        server.kill()
        for more in (4, 12):  # Fewer than the threads that reading takes.
            server = self.make_server("--threads", 3, prefix=self.prefix(enough + more))
            server.start()
            server.wait_serving()
            self.assertEqual(self.stream(server.address)["digest"], self.stream("local:")["digest"])
            server.drain()
            self.assertEqual(server.wait(TIMEOUT_S), 0, server.log())


class EndTest(ProcessTestCase):
    """A server ends in bounded time after SIGTERM, whatever hangs."""

    def test_grpc_hangs(self):
        server = self.make_server(prefix=["env", f"LD_PRELOAD={HANGING_GRPC}"])
        server.start()
        server.wait_serving()
        server.drain()
        self.assertEqual(server.wait(TIMEOUT_S), 3, server.log())
        self.assertIn('error ended by force reason="it did not end in time" '
                      'doing="threads of gRPC and the engine end" limit=5s exit_code=3',
                      server.log())

    def test_the_start_hangs(self):
        server = self.make_server(prefix=["env", f"LD_PRELOAD={HANGING_GRPC}",
                                          "PENSTOCK_TEST_HANG=start"])
        server.start()
        wait_until(lambda: self.blocks_sigterm(server.pid), "the server to handle signals")
        server.drain()
        self.assertEqual(server.wait(TIMEOUT_S), 128 + signal.SIGTERM, server.log())
        self.assertIn("stopped during start-up signal=TERM", server.log())

    def blocks_sigterm(self, pid):
        with open(f"/proc/{pid}/status") as status:
            blocked = next(line for line in status if line.startswith("SigBlk:"))
        return int(blocked.split()[1], 16) >> (signal.SIGTERM - 1) & 1

    def test_nobody_reads_its_log(self):
        log, its_end = os.pipe()
        self.addCleanup(os.close, log)
        address_file = self.folder / "address"
        server = self.spawn("penstock-server", "--data-root", self.data, "--listen", "127.0.0.1:0",
                            "--address-file", address_file, "--grace", "1s", stderr=its_end)
        logged = ""
        while " options " not in logged:
            logged += os.read(log, 1 << 16).decode()
        os.set_blocking(its_end, False)
        try:
            while True:
                os.write(its_end, b"x")
        except BlockingIOError:
            pass
        os.set_blocking(its_end, True)
        os.close(its_end)
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(TIMEOUT_S), 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
