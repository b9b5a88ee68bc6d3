"""Tests paths that lead to pipes, folders, sockets, devices or nowhere. Each is read if possible;
otherwise the error names it. Nothing waits for ever."""

import os
import pathlib
import shutil
import socket
import subprocess
import threading
import unittest

from processes import run
from servers import BIN, TIMEOUT_S, die_with_parent, obey_permissions, wait_until
from training import TrainingTestCase

SPEC = 'tensor { name: "s" number { feature: "s" count: 1 } }\n'


class InputsTestCase(TrainingTestCase):
    def make_pipe(self, name="pipe"):
        path = self.folder / name
        os.mkfifo(path)
        return path

    def make_socket(self):
        path = self.folder / "socket"
        listening = socket.socket(socket.AF_UNIX)
        self.addCleanup(listening.close)
        listening.bind(str(path))
        return path

    def assert_says(self, program, *args, says, **options):
        result = run(program, *args, **options)
        self.assertIn(result.returncode, (1, 2), f"{args}\n{result.stdout}\n{result.stderr}")
        for words in says:
            self.assertIn(words, result.stderr)

    def bash(self, line):
        """Runs `line`, which may contain <(command). "$@" is the folder of the programs."""
        return subprocess.run(["bash", "-c", line, "bash", str(BIN)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S,
                              preexec_fn=die_with_parent)

    def stream(self, *args):
        return ["stream", self.manifest, "--servers", "local:", "--steps", 1,
                "--global-batch-size", 8, *args]

    # Returns the programs that read a file as text, with the arguments before and after its path.
    def readers(self):
        return [("penstock", self.stream("--spec"), []),
                ("penstock-train", self.train_args("--spec"), []),
                ("penstock-train", ["--config"], []),
                ("penstock-server", ["--config"], []),
                ("penstock", ["launch", "-np", 1, "--hostfile"], ["--", "true"]),
                ("penstock", ["pack", "--from", "chess-tsv", "-o", self.folder / "out"], [])]


class InputsTest(InputsTestCase):
    def test_a_pipe_that_nobody_writes_is_told(self):
        pipe = self.make_pipe()
        threads = [threading.Thread(target=self.assert_says, args=(program, *args, pipe, *rest),
                                    kwargs={"says": [f"{pipe}: is a pipe that no program has "
                                                     "opened"]})
                   for program, args, rest in self.readers()]
        failed = []
        hook, threading.excepthook = threading.excepthook, failed.append
        self.addCleanup(setattr, threading, "excepthook", hook)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_folders_sockets_and_devices_are_told(self):
        for path, what in ((self.folder, "is a folder"), (self.make_socket(), "is a socket"),
                           ("/dev/zero", "is a device")):
            for program, args, rest in self.readers():
                self.assert_says(program, *args, path, *rest,
                                 says=[f"{path}: {what}, not a regular file"])

    def test_binary_files_are_regular(self):
        for path, what in ((self.folder, "is a folder"), (self.make_socket(), "is a socket"),
                           (self.make_pipe(), "is a pipe"), ("/dev/zero", "is a device")):
            for program, args in (("penstock-train", self.train_args("--resume")),
                                  ("penstock-train", self.train_args("--init-from")),
                                  ("penstock-train", ["export", "-o", "x", "--checkpoint"]),
                                  ("penstock-server", ["--data-root", self.data, "--listen",
                                                       "127.0.0.1:0", "--token-file"])):
                self.assert_says(program, *args, path, says=[f"{path}: {what}"])
            if path != self.folder:  # The folder may be a dataset.
                self.assert_says("penstock", "decode", "-o", self.folder / "x", path,
                                 says=[f"{path}: {what}"])

    def test_a_shell_may_write_what_is_read(self):
        spec = self.folder / "spec.textproto"
        spec.write_text(SPEC)
        stream = " ".join(map(str, self.stream("--spec")))
        for line in (f'"$1/penstock" {stream} <(cat {spec})',
                     f'cat {spec} | "$1/penstock" {stream} /dev/stdin',
                     f'"$1/penstock" {stream} /dev/stdin < {spec}'):
            result = self.bash(line)
            self.assertEqual(result.returncode, 0, f"{line}\n{result.stderr}")
        result = self.bash('"$1/penstock-server" --print-config --config <(echo threads=3)')
        self.assertIn("\nthreads=3\n", result.stdout, result.stderr)
        result = self.bash('"$1/penstock-server" --config <(printf "a=1\\nthread=3\\n")')
        self.assertIn("there is no option 'a'", result.stderr)

    def test_an_output_pipe_that_nobody_reads_is_told(self):
        pipe = self.make_pipe()
        for args in (["--ids", pipe], ["--waits", pipe]):
            self.assert_says("penstock", *self.stream(*args),
                             says=[f"{pipe}: is a pipe that no program"])
        self.assert_says("penstock-train", *self.train_args("--events", pipe),
                         says=[f"{pipe}: is a pipe that no program"])


class DataRootTest(InputsTestCase):
    def test_an_absolute_manifest_reads_nothing_elsewhere_unless_it_is_trusted(self):
        manifest = self.folder / "elsewhere.pb"
        self.check_run("penstock", "index", self.data, "--absolute", "-o", manifest)
        args = ["stream", manifest, "--servers", "local:", "--steps", 1, "--global-batch-size", 8]
        self.assert_says("penstock", *args, says=[str(self.data), "is absolute", "--data-root /"])
        self.assert_says("penstock-train", "--manifest", manifest, "--servers", "local:", "--steps",
                         1, "--device", "cpu", "--global-batch-size", 64,
                         says=[str(self.data), "is absolute", "--data-root /"])
        self.check_run("penstock", *args, "--data-root", "/")


class CheckpointFolderTest(InputsTestCase):
    def test_a_folder_that_cannot_be_written_is_told_at_the_start(self):
        folder = self.folder / "read-only"
        folder.mkdir(mode=0o555)
        args = self.train_args("--checkpoint-dir", folder)
        self.assert_says("penstock-train", *args, preexec_fn=obey_permissions,
                         says=["--checkpoint-dir",
                               f"the folder {folder} is not writable"])

    def test_a_folder_that_vanishes_is_told_at_the_save(self):
        folder = self.folder / "gone"
        child = self.spawn("penstock-train", *self.train_args(
            "--checkpoint-dir", folder, "--checkpoint-every", 1, steps=1_000_000))
        wait_until(lambda: list(folder.glob("step-*.ckpt")), "a checkpoint")
        shutil.move(folder, self.folder / "moved")
        _, told = child.communicate(timeout=TIMEOUT_S)
        self.assertEqual(child.returncode, 1, told)
        self.assertIn(f"the folder {folder} no longer exists", told)
        self.assertIn("--checkpoint-dir", told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
