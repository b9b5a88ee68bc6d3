"""Tests penstock-server as a process: its address file, its exit codes, draining."""
import contextlib
import os
import pathlib
import resource
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests/e2e"))

from servers import TIMEOUT_S, die_with_parent, obey_permissions, wait_until  # noqa: E402

SERVER = os.path.join(os.environ["PENSTOCK_BIN"], "penstock-server")


HTTP2_CLIENT = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=TIMEOUT_S)


def speaks_http2(address):
    """Returns whether a server answers at `address`."""
    with connect(address) as connection:
        try:
            connection.sendall(HTTP2_CLIENT)
            return len(connection.recv(9)) > 0
        except ConnectionError:
            return False


def run(*args, **options):
    done = subprocess.run([SERVER, *args], capture_output=True, text=True, timeout=TIMEOUT_S, **options)
    return done.returncode, done.stdout, done.stderr


class ServerProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.address_file = os.path.join(self.folder.name, "address")

    def start(self, *args, preexec_fn=die_with_parent):
        """Starts a server and waits until its log says that it serves. Its address file is there by
        then."""
        process = subprocess.Popen(
            [SERVER, "--data-root", self.folder.name, "--listen", "127.0.0.1:0",
             "--address-file", self.address_file, "--threads", "1", *args],
            stderr=subprocess.PIPE, text=True, preexec_fn=preexec_fn)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertIn("serving address=127.0.0.1:", process.stderr.readline())
        return process

    def test_writes_its_address_and_removes_it_at_its_end(self):
        process = self.start()
        with open(self.address_file) as file:
            host, port = file.read().strip().rsplit(":", 1)
        socket.create_connection((host, int(port)), timeout=10).close()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.assertFalse(os.path.exists(self.address_file))

    def test_raises_its_soft_limit_of_descriptors(self):
        def few_descriptors():
            die_with_parent()
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))

        process = self.start(preexec_fn=few_descriptors)
        self.assertEqual(resource.prlimit(process.pid, resource.RLIMIT_NOFILE), (200, 200))

    def check_health_connections_leave_room(self, says):
        def few_descriptors():
            die_with_parent()
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

        process = self.start("--health-listen", "127.0.0.1:0", preexec_fn=few_descriptors)
        line = ""
        while "health address=" not in line:
            line = process.stderr.readline()
            self.assertTrue(line, "the server ended")
        health = line.split("address=")[1].strip()
        connections = [connect(health) for _ in range(220)]
        try:
            for connection in connections:
                with contextlib.suppress(ConnectionError):
                    connection.sendall(says)
            address = pathlib.Path(self.address_file).read_text().strip()
            # A connection that waits among so many of its own host may be closed, and is then tried
            # again.
            wait_until(lambda: speaks_http2(address), "the data port")
            self.assertLess(len(os.listdir(f"/proc/{process.pid}/fd")), 100)
        finally:
            for connection in connections:
                connection.close()
        wait_until(lambda: speaks_http2(health), "the health port")
        process.send_signal(signal.SIGTERM)
        self.assertNotIn("out of descriptors", process.stderr.read())

    def test_silent_connections_to_the_health_port_leave_room_for_others(self):
        self.check_health_connections_leave_room(says=b"")

    def test_so_do_those_that_speak(self):
        self.check_health_connections_leave_room(says=HTTP2_CLIENT)

    def test_a_budget_beyond_the_memory_is_warned_of(self):
        for budget, warned in (("1MiB", False), ("1000000GiB", True)):
            process = self.start("--memory-budget", budget)
            process.send_signal(signal.SIGTERM)
            log = process.stderr.read()  # communicate() loses what readline() has buffered.
            self.assertEqual("memory budget exceeds the memory limit of this process" in log,
                             warned, log)

    def test_ctrl_c_and_a_closed_terminal_drain_too(self):
        for number in (signal.SIGINT, signal.SIGHUP):
            process = self.start()
            process.send_signal(number)
            self.assertEqual(process.wait(TIMEOUT_S), 0)

    def test_sigusr1_has_no_effect(self):
        process = self.start()
        process.send_signal(signal.SIGUSR1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.assertIn("draining signal=TERM", process.stderr.read())

    def test_a_port_in_use_names_its_holder(self):
        process = self.start()
        with open(self.address_file) as file:
            address = file.read().strip()
        code, _, error = run("--data-root", self.folder.name, "--listen", address)
        self.assertEqual(code, 1)
        self.assertIn(address, error)
        self.assertIn("process %d" % process.pid, error)

    def test_a_missing_data_root_is_an_error(self):
        code, _, error = run("--data-root", "/no/such/folder", "--listen", "127.0.0.1:0")
        self.assertEqual(code, 1)
        self.assertIn("/no/such/folder", error)
        self.assertIn("; give the folder with the shards", error)

    def test_an_unreadable_data_root_is_an_error(self):
        folder = os.path.join(self.folder.name, "locked")
        os.mkdir(folder)
        os.chmod(folder, 0)
        self.addCleanup(os.chmod, folder, stat.S_IRWXU)
        code, _, error = run("--data-root", folder, "--listen", "127.0.0.1:0",
                             preexec_fn=obey_permissions)
        self.assertEqual(code, 1)
        self.assertIn("locked: Permission denied", error)

    def test_wrong_flags_are_usage_errors(self):
        root = ("--data-root", self.folder.name)
        for args, said in [(("--bogus",), "--bogus"), ((), "--data-root"),
                           ((*root, "--listen", "0.0.0.0:0"), "--insecure"),
                           ((*root, "--listen", "nonsense"), "--listen"),
                           ((*root, "--listen", "no..host:0"), "cannot be resolved"),
                           ((*root, "--health-listen", "nonsense"), "--health-listen"),
                           ((*root, "--metrics-listen", "nonsense:x"), "--metrics-listen"),
                           ((*root, "--threads", "5000"), "--threads: '5000' is not a whole "
                                                          "number from 0 to 1024"),
                           ((*root, "--threads", ""), "--threads"),
                           ((*root, "--memory-budget", "x"), "--memory-budget"),
                           ((*root, "--memory-budget", "4"), "--memory-budget: '4' is 4 bytes"),
                           ((*root, "--advertise", "a"), "--address-file"),
                           ((*root, "--address-file", self.address_file,
                             "--advertise", "host:7070"),
                            "--advertise: \"host:7070\" is not a host name or address"),
                           ((*root, "--grace", "soon"), "--grace"),
                           ((*root, "--log-level", "loud"), "--log-level")]:
            code, _, error = run(*args)
            self.assertEqual(code, 2, args)
            self.assertIn(said, error)

    def test_what_print_config_prints_is_a_config(self):
        code, printed, _ = run("--data-root", "/x", "--grace", "7s", "--print-config")
        self.assertEqual(code, 0)
        config = os.path.join(self.folder.name, "config")
        with open(config, "w") as file:
            file.write(printed)
        code, again, _ = run("--config", config, "--print-config")
        self.assertEqual(code, 0)
        self.assertEqual(again, printed)
        self.assertIn('grace="7s"', printed)

    def test_says_its_version_and_an_example(self):
        self.assertIn("commit", run("--version")[1])
        self.assertIn("penstock-server --data-root", run("--help")[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
