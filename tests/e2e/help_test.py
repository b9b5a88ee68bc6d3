"""Tests --help: its width, its groups, `help COMMAND`, and colours on a terminal."""
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios
import unittest

BIN = pathlib.Path(os.environ["PENSTOCK_BIN"])
MAN_INDENT = 7  # Columns before the text of a section.
PROGRAMS = ("penstock", "penstock-server", "penstock-train")


def pages():
    """Yields the page of each command of each program."""
    for program in PROGRAMS:
        yield from json.loads((BIN.parent / "share/penstock" / f"{program}.json").read_text())


def commands():
    """Returns the words of each command."""
    return (page["name"].split(" ") for page in pages())


def run(*words, **variables):
    """A program whose output is no terminal."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run([BIN / words[0], *words[1:]], text=True, capture_output=True, check=False,
                          env={**environment, **variables})


def widest(text):
    """The longest line of a help text, apart from examples."""
    return max(len(line) for line in re.sub(r"\nExample:\n(  .*\n)*", "", text).splitlines())


def on_terminal(words, columns=80, **variables):
    """Returns what a program prints on a terminal of its own, with its colours."""
    ours, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", **variables}
    for name in {"NO_COLOR", "COLUMNS"} - set(variables):
        environment.pop(name, None)
    with subprocess.Popen([BIN / words[0], *words[1:]], stdin=terminal, stdout=terminal,
                          stderr=terminal, env=environment):
        os.close(terminal)
        shown = b""
        try:
            while data := os.read(ours, 65536):
                shown += data
        except OSError:
            pass  # The program has ended.
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


class HelpTest(unittest.TestCase):
    """Tests the help of all commands."""

    def test_no_line_is_wider_than_80_columns(self):
        for words in commands():
            for line in run(*words, "--help").stdout.splitlines():
                self.assertLessEqual(len(line), 80, f"{words}: {line}")

    def test_no_example_of_a_man_page_is_wider_than_80_columns(self):
        """man breaks all other lines itself."""
        for page in pages():
            for line in page["examples"]:
                self.assertLessEqual(MAN_INDENT + len(line), 80, f"{page['name']}: {line}")

    def assert_fills(self, text, columns):
        self.assertLessEqual(widest(text), columns)
        self.assertGreater(widest(text), columns - 12)

    def test_it_is_as_wide_as_the_terminal(self):
        for columns in (50, 70, 95):
            self.assert_fills(on_terminal(["penstock", "stream", "--help"], columns, NO_COLOR="1"),
                              columns)
            server = on_terminal(["penstock-server", "--help"], columns, NO_COLOR="1")
            self.assert_fills(server.rpartition("\n\n")[2], columns)  # Its notes.

    def test_it_is_as_wide_as_columns_says(self):
        for columns in (50, 70, 95):
            self.assert_fills(run("penstock", "stream", "--help", COLUMNS=str(columns)).stdout,
                              columns)
            self.assert_fills(on_terminal(["penstock", "stream", "--help"], 60, NO_COLOR="1",
                                          COLUMNS=str(columns)), columns)

    def test_columns_that_are_no_width_do_not_count(self):
        usual = run("penstock", "stream", "--help").stdout
        self.assert_fills(usual, 80)
        for value in ("", "0", "-5", "wide"):
            self.assertEqual(run("penstock", "stream", "--help", COLUMNS=value).stdout, usual)

    def test_every_option_has_a_description_and_values_have_a_name(self):
        for page in pages():
            for option in (option for group in page["groups"] for option in group["options"]):
                name = f"{page['name']} {option['names']}"
                self.assertNotEqual(option["description"], "", name)
                if option["names"][0].startswith("-"):  # The names of arguments have no dash.
                    self.assertNotIn(option["placeholder"], ("VALUE", "TEXT"), name)

    def test_help_as_a_command_is_the_option(self):
        for words in commands():
            asked = run(words[0], "help", *words[1:])
            self.assertEqual((asked.returncode, asked.stdout),
                             (0, run(*words, "--help").stdout), words)

    def test_help_is_a_command_itself(self):
        for program in ("penstock", "penstock-train"):
            listed = run(program, "--help").stdout
            self.assertRegex(listed, r"(?m)^  help +Show a command's options and an example$")
            for words in (["help", "help"], ["help", "--help"], ["help", "-h"]):
                asked = run(program, *words)
                self.assertEqual(asked.returncode, 0, asked.stderr)
                self.assertIn(f"Usage: {program} help [OPTIONS] [COMMAND...]", asked.stdout)

    def test_help_of_a_command_that_does_not_exist(self):
        for program, word, meant in (("penstock", "steam", "stream"),
                                     ("penstock-train", "predcit", "predict")):
            asked = run(program, "help", word)
            self.assertEqual(asked.returncode, 2)
            self.assertIn(f"there is no command '{word}'; did you mean '{meant}'?", asked.stderr)

    def test_help_of_words_after_a_command(self):
        for words, told in (
                (["penstock", "help", "chess", "gen"],
                 "there is no command 'chess gen'; did you mean 'chess generate'?"),
                (["penstock", "help", "pack", "csv"], "there is no command 'pack csv'"),
                (["penstock-train", "help", "predict", "images"],
                 "there is no command 'predict images'"),
                (["penstock-server", "help", "start"],
                 "there is no command 'start': this program has only options")):
            asked = run(*words)
            self.assertEqual((asked.returncode, asked.stdout), (2, ""), words)
            self.assertIn(f"{words[0]}: {told}", asked.stderr)

    def test_colours_are_for_terminals_whose_user_wants_them(self):
        words = ["penstock", "stream", "--remainde"]
        self.assertIn("\x1b[1;31mpenstock:\x1b[0m there is no option", on_terminal(words))
        self.assertIn("\x1b[1mServers:\x1b[0m\n", on_terminal(["penstock", "stream", "--help"]))
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", on_terminal(words, **variables))
        self.assertNotIn("\x1b", run(*words).stderr)


if __name__ == "__main__":
    unittest.main()
