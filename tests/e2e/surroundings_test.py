"""Tests unusual surroundings of programs: closed streams, full disks, names that are not UTF-8, a
folder that is used twice."""

import json
import os
import resource
import signal
import subprocess
import unittest

import tfrecord
from processes import ProcessTestCase, run
from servers import BIN, TIMEOUT_S, die_with_parent, obey_permissions, wait_until
from training import TrainingTestCase


class OutputTest(TrainingTestCase):
    def test_what_cannot_be_printed_is_an_error(self):
        train = self.train_args("--checkpoint-dir", self.folder / "c", steps=1)
        self.check_run("penstock-train", *train)
        checkpoint = next((self.folder / "c").glob("step-*.ckpt"))
        for program, *args in (
                ("penstock", "index", self.data, "--json", "-"),
                ("penstock", "inspect", self.data, "--json", "-"),
                ("penstock", *self.stream_args("local:", epochs=1)),
                ("penstock-server", "--print-config"),
                ("penstock-train", "--print-config"),
                ("penstock-train", *self.train_args(steps=1)),
                ("penstock-train", "predict", "--checkpoint", checkpoint, "--fen",
                 "8/8/8/8/8/4k3/8/4K3 w - - 0 1")):
            with open("/dev/full", "w") as full:
                result = subprocess.run([str(BIN / program), *map(str, args)], stdout=full,
                                        stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
            self.assertEqual(result.returncode, 1, (program, args))
            self.assertIn("cannot write to standard output", result.stderr)

    def test_arrays_that_do_not_fit_the_disk_are_an_error_with_what_to_do(self):
        def little_room():
            die_with_parent()
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

        for output in ("arrays", "arrays.npz"):
            result = run("penstock", "decode", self.data, "-o", self.folder / output,
                         preexec_fn=little_room)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(output, result.stderr)
            self.assertIn("File too large; free space there, or give another path", result.stderr)

    def test_a_reader_that_has_read_enough_is_no_error(self):
        reader, writer = os.pipe()
        os.close(reader)
        words = [(program, option) for program in ("penstock", "penstock-server", "penstock-train")
                 for option in ("--help", "--version", "--print-config")
                 if (program, option) != ("penstock", "--print-config")]
        for program, *args in (("penstock", "inspect", self.data),
                               ("penstock", *self.stream_args("local:", epochs=1)),
                               ("penstock", "stream", "--help"), *words):
            result = subprocess.run([str(BIN / program), *map(str, args)], stdout=writer,
                                    stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
            self.assertEqual(result.returncode, 0, (program, args, result.stderr))
            self.assertNotIn("standard output", result.stderr)
        os.close(writer)

    def test_no_file_gets_the_place_of_a_stream_that_was_closed(self):
        address, events = self.address_files / "closed", self.folder / "events"
        programs = {
            address: ("penstock-server", "--data-root", self.data, "--listen", "127.0.0.1:0",
                      "--address-file", address),
            events: ("penstock-train", *self.train_args("--events", events, steps=10**6))}
        for appears, (program, *args) in programs.items():
            process = subprocess.Popen(
                ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", str(BIN / program), *map(str, args)],
                preexec_fn=die_with_parent)
            self.addCleanup(self._end, process)
            wait_until(appears.exists, appears)
            # Standard input does not count: it may belong to a library that took it before main().
            streams = [os.readlink(f"/proc/{process.pid}/fd/{stream}") for stream in (1, 2)]
            self.assertEqual(streams, 2 * ["/dev/null"], program)

    def test_a_server_whose_log_has_no_room_goes_on(self):
        server = self.make_server("--log-level", "debug", prefix=["prlimit", "--fsize=400"])
        server.start()
        server.wait_serving()
        for _ in range(3):
            self.check_run("penstock", *self.stream_args(server.address, epochs=1))
        self.assertIsNone(server.poll())
        self.assertLessEqual(len(server.log()), 400)

    def test_a_trace_that_cannot_be_written_is_told_before_the_training(self):
        self.assert_fails(*self.train_args("--profile-steps", "1:2", "--profile-file",
                                           self.folder / "nowhere/trace.json", steps=10**6),
                          says=["--profile-file", "nowhere/trace.json: No such file"], code=1)


class NamesTest(ProcessTestCase):
    def shard(self, name):
        folder = self.folder / "named"
        folder.mkdir(exist_ok=True)
        with open(os.fsencode(folder) + b"/" + name, "wb") as file:
            for number in range(50):
                file.write(tfrecord.frame(tfrecord.chess_record(number)))
        return folder

    def test_a_shard_whose_name_is_no_utf8_is_told_in_json_too(self):
        folder = self.shard(b"caf\xe9.tfrecord")
        self.check_run("penstock", "index", folder)
        args = [folder / "manifest.pb", "--servers", "local:", "--global-batch-size", 8]
        rows = json.loads(self.check_run("penstock", "which", *args, "--step", 1, "--json", "-").stdout)
        self.assertEqual(rows["rows"][0]["shard"], "caf\N{REPLACEMENT CHARACTER}.tfrecord")
        path = os.fsencode(folder) + b"/caf\xe9.tfrecord"
        with open(path, "r+b") as file:
            file.seek(100)
            file.write(b"\xff\xff\xff\xff")
        result = run("penstock", "stream", *args, "--on-error", "replace", "--json", "-",
                     errors="replace")
        self.assertIn("caf\N{REPLACEMENT CHARACTER}.tfrecord", json.loads(result.stdout)["damaged"][0])

    def test_a_path_that_cannot_be_looked_at_is_named(self):
        name = "x" * 5000
        for args in (["index", name], ["inspect", name], ["stream", name], ["which", name, "--step", 0],
                     ["decode", name, "-o", self.folder / "arrays"]):
            result = run("penstock", *args)
            self.assertEqual(result.returncode, 1, (args[0], result.stderr))
            self.assertIn("File name too long", result.stderr)
        result = run("penstock-train", "--manifest", name)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("File name too long", result.stderr)

    def test_a_link_to_a_folder_that_it_lies_in_is_refused(self):
        inner = self.data / "inner"
        inner.mkdir()
        (inner / "loop").symlink_to(self.data)
        result = run("penstock", "index", self.data)
        self.assertEqual(result.returncode, 1)
        self.assertIn("inner/loop: is a link to a folder that contains it", result.stderr)
        (inner / "loop").unlink()
        (inner / "elsewhere").symlink_to(self.address_files)  # Other links are followed.
        self.check_run("penstock", "index", self.data)

    def test_a_folder_that_may_not_be_entered_is_named(self):
        locked = self.data / "locked"
        locked.mkdir(mode=0)
        self.addCleanup(locked.chmod, 0o755)
        result = run("penstock", "index", self.data, preexec_fn=obey_permissions)
        self.assertEqual(result.returncode, 1)
        self.assertIn("data/locked: Permission denied", result.stderr)

    def test_a_relative_name_where_the_folder_is_gone(self):
        gone = self.folder / "gone"
        gone.mkdir()
        def leave():
            die_with_parent()
            os.chdir(gone)
            gone.rmdir()
        result = run("penstock", "index", self.data, "-o", "m.pb", preexec_fn=leave)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("-o: m.pb: No such file or directory", result.stderr)


class TwiceTest(TrainingTestCase):
    def test_a_second_training_in_one_folder_is_refused(self):
        folder = self.folder / "checkpoints"
        args = self.train_args("--checkpoint-dir", folder, "--checkpoint-every", 1, steps=10**6)
        first = self.spawn("penstock-train", *args)
        wait_until(lambda: list(folder.glob("step-*.ckpt")), "a checkpoint")
        self.assert_fails(*args, says=[str(folder), "another penstock-train"], code=1)
        first.send_signal(signal.SIGTERM)
        self.assertEqual(first.wait(TIMEOUT_S), 0)

    def test_a_server_leaves_the_address_of_its_successor(self):
        first = self.start_server()
        self._servers -= 1  # Use the same address file.
        second = self.start_server()
        first.drain()
        self.assertEqual(first.wait(TIMEOUT_S), 0)
        self.assertEqual(second.address_file.read_text().strip(), second.address)
        second.drain()
        self.assertEqual(second.wait(TIMEOUT_S), 0)
        self.assertFalse(second.address_file.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
