"""bash and zsh complete the commands, options and values of the programs."""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["PENSTOCK_BIN"])
SHARE = BIN.parent / "share"


def in_bash(line):
    """Returns the words that bash offers for the last word of `line`."""
    words = line.split(" ")
    script = f"""
      source {SHARE}/bash-completion/completions/{words[0]}
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _{words[0].replace("-", "_")}
      printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    ran = subprocess.run(["bash", "--norc", "-c", script, "bash", *words], check=True, text=True,
                         capture_output=True)
    assert ran.stderr == "", ran.stderr
    return ran.stdout.split()


class BashTest(unittest.TestCase):
    """Tests the completion functions, called as bash calls them."""

    def test_commands(self):
        self.assertEqual(in_bash("penstock st"), ["stream"])
        self.assertEqual(in_bash("penstock chess g"), ["generate"])
        self.assertEqual(in_bash("penstock-train pre"), ["predict"])

    def test_commands_of_help(self):
        self.assertEqual(in_bash("penstock he"), ["help"])
        self.assertEqual(in_bash("penstock help st"), ["stream"])
        self.assertEqual(in_bash("penstock help chess g"), ["generate"])
        self.assertEqual(in_bash("penstock help stream --s"), [])
        self.assertEqual(in_bash("penstock-train help pre"), ["predict"])

    def test_options(self):
        self.assertEqual(in_bash("penstock stream --digest-"), ["--digest-by-record"])
        self.assertEqual(in_bash("penstock stream data --remaind"), ["--remainder"])
        self.assertIn("--listen", in_bash("penstock-server --"))
        self.assertIn("--checkpoint", in_bash("penstock-train predict --"))

    def test_values(self):
        self.assertEqual(in_bash("penstock stream --split t"), ["train"])
        self.assertEqual(in_bash("penstock stream --split = h"), ["holdout"])
        self.assertIn("packed", in_bash("penstock stream --dtype "))

    def test_names_of_files_are_left_to_bash(self):
        self.assertEqual(in_bash("penstock index -o "), [])


class InteractiveShell:
    """A shell on a terminal, as a user has it, in a folder with one file."""

    def start(self, words, setup):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "notes.txt").touch()
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.chdir(folder.name)
            os.environ.update({"TERM": "dumb", "PS1": "% ", "ZDOTDIR": "/nonexistent"})
            os.execvp(words[0], words)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.close, self.terminal)
        self.send(f"{setup} && echo lo''aded\n")
        self.read_until("loaded")

    def send(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, expected, seconds=60):
        """Reads what the terminal shows until `expected` is in it."""
        shown, deadline = "", time.monotonic() + seconds
        while expected not in shown:
            left = max(0, deadline - time.monotonic())
            ready, _, _ = select.select([self.terminal], [], [], left)
            self.assertTrue(ready, f"{expected!r} is not in {shown!r}")
            read = os.read(self.terminal, 65536).decode(errors="replace")
            shown += read.replace("\a", "")  # A shell rings if there is nothing to complete.
        return shown

    def assert_completes(self, begin, rest, then=""):
        """Types `begin`, a tab and `then`; the line must become `begin`, `rest` and `then`."""
        self.send(begin + "\t" + then)
        self.read_until(begin + rest + then)
        self.send("\x15")  # Clears the line.

    def test_it_completes_commands_options_and_values(self):
        for begin, rest in (("penstock str", "eam"), ("penstock stream --digest-", "by-record"),
                            ("penstock stream --split tr", "ain"), ("penstock chess g", "enerate"),
                            ("penstock he", "lp"), ("penstock help str", "eam"),
                            ("penstock help chess g", "enerate"),
                            ("penstock-train pre", "dict"),
                            ("penstock-train predict --checkp", "oint")):
            self.assert_completes(begin, rest)

    def test_it_completes_files_only_if_the_value_is_one(self):
        for option in ("stream --json", "stream --spec", "stream --npy", "index"):
            self.assert_completes(f"penstock {option} no", "tes.txt")
        for option in ("stream --seed", "stream --servers", "stream --tls-server-name",
                       "stream --split", "help stream"):
            self.assert_completes(f"penstock {option} no", "", "thing")


class BashTerminalTest(InteractiveShell, unittest.TestCase):
    def setUp(self):
        scripts = SHARE / "bash-completion/completions"
        self.start(["bash", "--norc", "-i"],
                   "bind 'set enable-bracketed-paste off' && "
                   f". {scripts}/penstock && . {scripts}/penstock-train")


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class ZshTest(InteractiveShell, unittest.TestCase):
    def setUp(self):
        self.start(["zsh", "-f", "-i"],
                   f"fpath=({SHARE}/zsh/site-functions $fpath); unsetopt zle_bracketed_paste; "
                   "autoload -U compinit && compinit -u -D")


if __name__ == "__main__":
    unittest.main()
