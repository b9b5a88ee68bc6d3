"""Runs the code of docs/tutorial/python.md and compares its output with the page.

The Python blocks run in order in one session, in a folder of their own. A block whose first line
is `# NAME.py` is saved as that file. A block without a language after a block is its output,
where `...` stands for any text. These comments before a block are hidden from readers:

    <!-- needs: A, B -->      skipped if one of these modules or datasets is missing
    <!-- not run: REASON -->  skipped
    <!-- output varies -->    numbers of the output may differ
    <!-- run -->              this block has commands for the shell
"""

import contextlib
import doctest
import importlib.util
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass, field

import penstock
from penstock._programs import program

TIMEOUT_S = 60
PACKAGE = pathlib.Path(penstock.__file__).resolve().parents[1]
ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/tutorial/python.md"
FENCE = re.compile(r"```(\w*)\n(.*?)^```\n", re.M | re.S)
MARK = re.compile(r"<!-- (needs: |not run: |output varies|run)(.*?) ?-->")
# A block's output is the block behind it, unless there is text between them.
BEHIND = re.compile(r"\s*```\n(.*?)^```\n", re.M | re.S)


@dataclass
class Block:
    line: int
    language: str
    code: str
    output: str | None = None
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def needs(self) -> list[str]:
        return [name.strip() for name in self.marks.get("needs", "").split(",") if name.strip()]

    @property
    def file(self) -> str | None:
        match = re.match(r"# (\w+\.py)\n", self.code)
        return match[1] if match else None


def marks_before(text: str) -> dict[str, str]:
    """Returns the comments directly before the end of `text`."""
    marks = {}
    for line in reversed(text.rstrip("\n").split("\n")):
        match = MARK.fullmatch(line)
        if match is None:
            break
        marks[match[1].rstrip(": ")] = match[2]
    return marks


def blocks_of(text: str) -> list[Block]:
    """Returns the blocks of Python, and those that are marked as commands."""
    blocks = []
    for match in FENCE.finditer(text):
        marks = marks_before(text[: match.start()])
        if match[1] == "python" or "run" in marks:
            behind = BEHIND.match(text, match.end())
            line = text.count("\n", 0, match.start()) + 1
            blocks.append(Block(line, match[1], match[2], behind[1] if behind else None, marks))
    return blocks


def without_numbers(text: str) -> str:
    return re.sub(r"\d[\d.,]*", "0", text)


class Session:
    """Runs blocks in one folder, in one namespace."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._names = {"__name__": "__main__"}
        path = [str(folder), str(pathlib.Path(program("penstock")).parent), os.environ["PATH"]]
        self._environment = {**os.environ, "PYTHONPATH": str(PACKAGE),
                             "PATH": os.pathsep.join(path)}
        # Not a link, because an interpreter of a virtual environment would not find its packages.
        python = folder / "python"
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)

    def run(self, block: Block) -> str:
        """Returns the block's output."""
        if block.language != "python":
            return self._shell(block.code)
        if block.file:
            (self._folder / block.file).write_text(block.code)
            return ""
        # Line numbers in errors are those of the page.
        code = compile("\n" * block.line + block.code, str(PAGE), "exec")
        printed = io.StringIO()
        before = pathlib.Path.cwd()
        os.chdir(self._folder)
        try:
            with contextlib.redirect_stdout(printed):
                exec(code, self._names)
        finally:
            os.chdir(before)
        return printed.getvalue()

    def _shell(self, commands: str) -> str:
        result = subprocess.run(["sh", "-ec", commands], cwd=self._folder, env=self._environment,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=TIMEOUT_S)
        if result.returncode != 0:
            raise AssertionError(f"ended with {result.returncode}:\n{result.stderr}")
        # Ranks print in any order.
        return "".join(sorted(result.stdout.splitlines(keepends=True)))


class BlocksTest(unittest.TestCase):
    TEXT = """
<!-- needs: torch, photos -->
<!-- output varies -->
```python
print(1.5)
```

```
2.5
```

Text.

```
penstock stream
```

<!-- run -->
```
ls
```
"""

    def test_finds_blocks_with_their_marks_and_outputs(self):
        first, second = blocks_of(self.TEXT)
        self.assertEqual((first.line, first.code, first.output), (4, "print(1.5)\n", "2.5\n"))
        self.assertEqual(first.needs, ["torch", "photos"])
        self.assertIn("output varies", first.marks)
        self.assertEqual((second.language, second.code, second.output), ("", "ls\n", None))

    def test_numbers_are_all_that_may_vary(self):
        self.assertEqual(without_numbers("loss 0.25 of 1,000"), without_numbers("loss 7 of 3.5"))
        self.assertNotEqual(without_numbers("loss 0.25"), without_numbers("loss nan"))

    def test_first_batch_of_the_page_takes_less_than_15_lines(self):
        first = next(block for block in blocks_of(PAGE.read_text()) if block.language == "python")
        self.assertLess(len(first.code.splitlines()), 15)


class PageTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-docs-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # The page tells readers to have a checkout and a folder of images.
        shutil.copytree(ROOT / "sample", self.folder / "sample",
                        ignore=shutil.ignore_patterns("manifest.pb"))
        subprocess.run([sys.executable, ROOT / "deploy/demo/patterns.py", self.folder / "photos"],
                       check=True, timeout=TIMEOUT_S)

    def missing(self, block: Block) -> list[str]:
        return [name for name in block.needs if not (self.folder / name).exists()
                and importlib.util.find_spec(name.partition(".")[0]) is None]

    def check_output(self, block: Block, printed: str) -> None:
        expected = block.output or ""
        if "output varies" in block.marks:
            expected, printed = without_numbers(expected), without_numbers(printed)
        expected, printed = expected.rstrip(), printed.rstrip()
        if not doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS):
            self.assertEqual(printed, expected)

    def test_code_prints_what_the_page_says(self):
        blocks = blocks_of(PAGE.read_text())
        self.assertGreater(len(blocks), 10)
        session = Session(self.folder)
        for block in blocks:
            with self.subTest(line=block.line):
                if "not run" in block.marks:
                    self.skipTest(f"line {block.line}: {block.marks['not run']}")
                if missing := self.missing(block):
                    self.skipTest(f"line {block.line} needs {', '.join(missing)}")
                self.check_output(block, session.run(block))


if __name__ == "__main__":
    unittest.main(verbosity=2)
