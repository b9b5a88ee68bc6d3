"""Tests penstock.Server: it serves, ends with its owner, and reports why it does not start."""

import gc
import logging
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import penstock
from penstock.server import Server

# A shell that starts the tests in the background makes them, and their children, ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)

TIMEOUT_S = 60
PACKAGE = str(pathlib.Path(penstock.__file__).resolve().parents[1])


def is_running(pid):
    try:
        status = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


class ServerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="penstock-server-test-")
        self.addCleanup(folder.cleanup)
        self.data = pathlib.Path(folder.name)

    def server(self, **options):
        server = Server(self.data, **options)
        self.addCleanup(server.close)
        return server

    def assert_ends(self, pid):
        deadline = time.monotonic() + TIMEOUT_S
        while is_running(pid):
            self.assertLess(time.monotonic(), deadline, f"process {pid} still runs")
            time.sleep(0.01)

    def wait_for(self, text, logs):
        deadline = time.monotonic() + TIMEOUT_S
        while not any(text in line for line in logs.output):
            self.assertLess(time.monotonic(), deadline, logs.output)
            time.sleep(0.01)

    def connect(self, address):
        host, port = address.rsplit(":", 1)
        socket.create_connection((host, int(port)), timeout=TIMEOUT_S).close()

    def run_python(self, code, **options):
        """Starts Python with the package; `code` finds the folder in sys.argv[1]."""
        child = subprocess.Popen([sys.executable, "-c", code, str(self.data)],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, "PYTHONPATH": PACKAGE}, **options)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def test_serves_until_the_block_ends(self):
        with Server(self.data) as server:
            self.assertRegex(server.address, r"^127\.0\.0\.1:\d+$")
            self.connect(server.address)
            pid = server.pid
            self.assertTrue(is_running(pid))
            self.assertIn(server.address, repr(server))
        self.assertFalse(is_running(pid))
        with self.assertRaises(ConnectionRefusedError):
            self.connect(server.address)
        server.close()
        self.assertIn("ended", repr(server))

    def test_a_loader_reads_from_it_what_it_would_read_itself(self):
        penstock.pack(({"i": i} for i in range(500)), self.data / "numbers")
        penstock.index(self.data / "numbers")
        options = {"global_batch_size": 50, "seed": 1}
        with penstock.Loader(self.data / "numbers", **options) as loader:
            expected = [batch["i"].tolist() for batch in loader]
        with Server(self.data) as server, penstock.Loader(
                "server:numbers/", servers=server.address, **options) as loader:
            self.assertEqual([batch["i"].tolist() for batch in loader], expected)
        self.assertEqual(len(expected), 10)

    def test_a_server_that_is_dropped_ends(self):
        server = Server(self.data)
        pid = server.pid
        del server
        gc.collect()
        self.assertFalse(is_running(pid))

    def test_ends_with_a_process_that_exits(self):
        child = self.run_python("import sys, penstock\n"
                                "s = penstock.Server(sys.argv[1])\n"
                                "print(s.pid)")
        out, err = child.communicate(timeout=TIMEOUT_S)
        self.assertEqual((child.returncode, err), (0, ""))
        self.assertFalse(is_running(int(out)))

    def test_ends_with_a_process_that_is_killed(self):
        child = self.run_python("import sys, time, penstock\n"
                                "s = penstock.Server(sys.argv[1])\n"
                                "print(s.pid, flush=True); time.sleep(600)")
        pid = int(child.stdout.readline())
        child.kill()
        child.wait(TIMEOUT_S)
        self.assert_ends(pid)

    def test_outlives_the_thread_that_made_it(self):
        servers = []
        thread = threading.Thread(target=lambda: servers.append(self.server()))
        thread.start()
        thread.join()
        time.sleep(0.2)  # Enough time for an unwanted end.
        self.connect(servers[0].address)

    def test_ctrl_c_does_not_reach_it(self):
        child = self.run_python(
            "import sys, time, penstock\n"
            "s = penstock.Server(sys.argv[1])\n"
            "try:\n"
            "    print(s.pid, flush=True); time.sleep(600)\n"
            "except KeyboardInterrupt:\n"
            "    import socket\n"
            "    host, port = s.address.split(':')\n"
            "    socket.create_connection((host, int(port))); print('serves')\n",
            start_new_session=True)
        child.stdout.readline()
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=TIMEOUT_S)
        self.assertEqual((out, err), ("serves\n", ""))

    def test_a_forked_child_leaves_it_alone(self):
        server = self.server()
        child = os.fork()
        if child == 0:
            server.close()
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.connect(server.address)

    def test_what_it_logs_goes_to_logging(self):
        with self.assertLogs("penstock.server", logging.INFO) as logs:
            with Server(self.data, threads=1) as server:
                address = server.address
        self.assertTrue(any("serving" in line and address in line for line in logs.output),
                        logs.output)
        self.assertTrue(all(line.startswith("INFO:penstock.server:") for line in logs.output))

    def test_an_end_that_nobody_asked_for_is_logged(self):
        with self.assertLogs("penstock.server", logging.INFO) as logs:
            server = self.server()
            self.wait_for("serving", logs)  # Logged once the server has its address.
            os.kill(server.pid, signal.SIGKILL)
            self.wait_for("ERROR:", logs)
        self.assertRegex(logs.output[-1], r"(?s)ended with -9; its last lines:.*serving")

    def test_options_have_the_names_of_the_command_line(self):
        with self.assertLogs("penstock.server", logging.INFO) as logs:
            self.server(threads=1, memory_budget="64MiB", insecure=True, token_file=None).close()
        options = next(line for line in logs.output if ":options " in line)
        self.assertIn("threads=1 ", options)
        self.assertIn("memory-budget=64MiB", options)
        self.assertIn("insecure=true", options)

    def test_errors_say_what_is_wrong(self):
        with self.assertRaisesRegex(FileNotFoundError, "/nope: No such file or directory"):
            Server(self.data / "nope")
        with self.assertRaisesRegex(ValueError, "there is no option --memory"):
            Server(self.data, memory="4GiB")
        with self.assertRaisesRegex(ValueError, "is not HOST:PORT"):
            Server(self.data, listen="here")
        with self.assertRaisesRegex(TypeError, "takes no address_file"):
            Server(self.data, address_file="x")
        first = self.server()
        with self.assertRaisesRegex(penstock.UnavailableError, first.address):
            Server(self.data, listen=first.address)
        # The main thread, and the thread of `first`.
        self.assertEqual(threading.active_count(), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
