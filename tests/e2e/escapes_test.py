"""Tests names from files, checkpoints and options that contain escape sequences. The programs print
no control character except the line feeds and tabs of their own lines."""

import json
import os
import pathlib
import re
import struct
import subprocess
import unittest

import tfrecord
from processes import ProcessTestCase
from servers import BIN, TIMEOUT_S, die_with_parent
from training import TrainingTestCase, read_checkpoint

# Sets a terminal's title, clears it, returns to the beginning of the line, turns the text red (also
# with a C1 character), rings, ends the line, and is not UTF-8.
EVIL = b"\x1b]0;owned\x07\x1b[2J\r\xc2\x9b31mred\x7f\n\xff\x9b32m"
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

ONE_LINE = EVIL.replace(b"\n", b"").replace(b"\r", b"")

# C0 without tab and line feed, DEL, and C1 as UTF-8. Lone bytes of C1 are not UTF-8.
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


def run_bytes(program, *args, **options):
    """Like processes.run(), but with bytes."""
    words = [a if isinstance(a, bytes) else os.fsencode(str(a)) for a in args]
    return subprocess.run([os.fsencode(BIN / program), *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=TIMEOUT_S, preexec_fn=die_with_parent,
                          **options)


class EscapesTestCase(TrainingTestCase):
    def assert_clean(self, result, says=b"owned"):
        """Checks that the output cannot control a terminal, and that it contains the name escaped
        and on one line: no line begins with the text after the name's line feed."""
        for printed in (result.stdout, result.stderr):
            found = CONTROL.search(printed)
            self.assertIsNone(found, printed)
            printed.decode()  # Fails unless it is UTF-8.
            for line in printed.split(b"\n"):
                self.assertFalse(line.startswith((b"\\xff", b"\xff")), printed)
        self.assertIn(says, result.stdout + result.stderr)
        return result

    def clean(self, program, *args, code=0, says=b"owned", **options):
        result = run_bytes(program, *args, **options)
        self.assertEqual(result.returncode, code, f"{args}\n{result.stdout}\n{result.stderr}")
        return self.assert_clean(result, says)

    def evil_folder(self, records=64, **features):
        folder = self.folder / "evil"
        folder.mkdir()
        payload = b"".join(tfrecord.frame(tfrecord.chess_record(i) + tfrecord.example(**features))
                           for i in range(records))
        path = os.path.join(os.fsencode(folder), b"shard" + EVIL + b".tfrecord")
        pathlib.Path(os.fsdecode(path)).write_bytes(payload)
        return folder, pathlib.Path(os.fsdecode(path))


class ToolTest(EscapesTestCase):
    def test_names_of_shards_and_features(self):
        folder, shard = self.evil_folder(**{"feature\x1b]0;owned\x07\u009b31m\r": b"x"})
        self.clean("penstock", "index", folder, "--verify", says=b"evil")
        manifest = folder / "manifest.pb"
        for args in (["inspect", manifest], ["inspect", manifest, "--json", "-"], ["inspect", shard],
                     ["inspect", shard, "--json", "-"],
                     ["which", manifest, "--step", 0, "--global-batch-size", 8],
                     ["which", manifest, "--step", 0, "--global-batch-size", 8, "--json", "-"]):
            self.clean("penstock", *args)
        found = json.loads(run_bytes("penstock", "inspect", manifest, "--json", "-").stdout)
        self.assertIn("feature\x1b]0;owned\x07\u009b31m\r",
                      [feature["name"] for feature in found["features"]])

    def test_a_shard_is_named_in_errors(self):
        folder, shard = self.evil_folder()
        manifest = folder / "manifest.pb"
        self.clean("penstock", "index", folder, says=b"evil")
        data = bytearray(shard.read_bytes())
        data[100] ^= 1
        shard.write_bytes(bytes(data))
        stream = ["stream", manifest, "--servers", "local:", "--global-batch-size", 8]
        self.clean("penstock", *stream, code=1)
        self.clean("penstock", *stream, "--on-error", "replace")
        self.clean("penstock", "index", folder, "--verify", code=1)
        self.clean("penstock", "inspect", shard, code=1)
        self.clean("penstock", "decode", shard, "-o", self.folder / "x", code=1)
        shard.unlink()
        self.clean("penstock", *stream, code=1)
        self.clean("penstock", "inspect", manifest, code=1)

    def test_words_of_the_command_line(self):
        self.clean("penstock", EVIL, code=2)
        self.clean("penstock", "inspect", self.data, b"--" + EVIL, code=2)
        self.clean("penstock", "inspect", EVIL, code=1)
        self.clean("penstock", "stream", self.manifest, "--servers", EVIL, code=2)
        self.clean("penstock", "stream", self.manifest, "--cursor", EVIL, code=2, says=b"cursor")
        self.clean("penstock", "stream", self.manifest, "--spec", EVIL, code=1)
        self.clean("penstock", "pack", "--from", "chess-tsv", EVIL, "-o", self.folder / "out",
                   code=1)
        self.clean("penstock", "launch", "-np", "1", "--", EVIL, code=127)

    def test_lines_of_a_text_file(self):
        path = self.folder / "positions.tsv"
        path.write_bytes(b"8/8" + ONE_LINE + b" w - - 0 1\t+10\n")
        self.clean("penstock", "pack", "--from", "chess-tsv", path, "-o", self.folder / "out",
                   code=1, says=b"positions.tsv")
        path.write_bytes(b'feature { name: "' + ONE_LINE + b'" what: 1 }')
        self.clean("penstock", "stream", self.manifest, "--spec", path, code=1,
                   says=b"positions.tsv")

    def test_what_a_rank_said_last(self):
        script = "printf '\\033]0;owned\\007\\n' >&2; exit 3"
        result = run_bytes("penstock", "launch", "-np", "1", "--", "sh", "-c", script)
        self.assertEqual(result.returncode, 3, result)
        # The launcher passes the ranks' output on unchanged, but escapes it in its own messages.
        self.assertIn(b"its last lines:\n  \\x1b]0;owned\\x07",
                      result.stderr[result.stderr.index(b"penstock: "):])

    def test_addresses_that_top_shows(self):
        result = run_bytes("penstock", "top", "--servers", "file:" + str(self.folder / "none"),
                           "--once", "--interval", "100ms")
        self.assertIsNone(CONTROL.search(result.stdout + result.stderr), result)


class ServerTest(EscapesTestCase):
    def test_names_in_options_and_files(self):
        self.clean("penstock-server", "--data-root", EVIL, "--listen", "127.0.0.1:0", code=1)
        self.clean("penstock-server", b"--" + EVIL, code=2)
        self.clean("penstock-server", "--data-root", ONE_LINE, "--print-config")
        config = self.folder / "server.toml"
        config.write_bytes(b"key" + ONE_LINE + b" = 1\n")
        self.clean("penstock-server", "--config", config, code=2)
        self.clean("penstock-server", "--data-root", self.data, "--token-file", EVIL, "--listen",
                   "127.0.0.1:0", code=1)


class TrainerTest(EscapesTestCase):
    def forge(self, path, **fields):
        """Changes fields of a checkpoint's JSON, and its CRC to match."""
        data = path.read_bytes()
        (size,) = struct.unpack_from("<I", data, 12)
        known, _ = read_checkpoint(path)
        text = json.dumps({**known, **fields}, separators=(",", ":")).encode()
        body = data[:12] + struct.pack("<I", len(text)) + data[16:24] + text + data[24 + size:-4]
        path.write_bytes(body + struct.pack("<I", tfrecord.crc(body)))

    def test_fields_of_a_checkpoint(self):
        evil = "\x1b]0;owned\x07\x1b[2J\r\u009b31m\nred"
        self.train("--checkpoint-dir", self.folder / "a", steps=1)
        checkpoint = self.checkpoints("a")[-1]
        known, _ = read_checkpoint(checkpoint)
        resume = self.train_args("--checkpoint-dir", self.folder / "a", steps=2)
        for fields in ({"cursor": evil}, {"numerics": evil, "libraries": evil, "reduction": evil},
                       {"model": {**known["model"], "name": evil}}, {"step": evil}):
            self.forge(checkpoint, **{**known, **fields})
            for args in (resume, [*resume, "--require-same-bits"]):
                result = run_bytes("penstock-train", *args)
                self.assert_clean(result, says=b"owned" if "step" not in fields else b"field step")
                self.assertFalse(re.search(rb"^red", result.stdout + result.stderr, re.M), result)
                # The training continued; the next iteration forges again.
                if result.returncode == 0:
                    self.checkpoints("a")[-1].unlink()

    def test_names_in_options_and_files(self):
        folder = os.fsencode(self.folder) + b"/" + EVIL
        self.clean("penstock-train", *self.train_args("--checkpoint-dir", folder, steps=1))
        self.clean("penstock-train", *self.train_args("--init-from", EVIL), code=1)
        self.clean("penstock-train", *self.train_args("--resume", EVIL), code=1)
        self.clean("penstock-train", *self.train_args("--spec", EVIL), code=1)
        self.clean("penstock-train", b"--" + EVIL, code=2)
        self.clean("penstock-train", "--print-config", *self.train_args("--events", ONE_LINE))
        self.clean("penstock-train", "export", "--checkpoint", EVIL, "-o", "x", code=1)
        self.clean("penstock-train", "predict", "--checkpoint", EVIL, "--fen", START,
                   code=1)
        config = self.folder / "train.toml"
        config.write_bytes(b"key" + ONE_LINE + b" = 1\n")
        self.clean("penstock-train", "--config", config, code=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
