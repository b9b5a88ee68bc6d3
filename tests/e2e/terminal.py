"""A terminal for programs that draw on one, and the text that a user would see there."""

import fcntl
import os
import pty
import re
import select
import struct
import termios

from servers import wait_until

# An escape sequence such as "\x1b[2J", or one character. Half a sequence at the end does not match.
TOKEN = re.compile(r"\x1b\[(\d*)([A-Za-z])|([^\x1b])")


class Screen:
    """After a character in the last column, the cursor stays on it until the next one is printed,
    as on a VT100. So erasing there removes that character too."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.wraps = False
        self.scrolled = 0

    def lines(self):
        return ["".join(cells).rstrip() for cells in self.cells]

    def feed(self, text):
        """Processes the text. Returns the unprocessed rest, which is half a sequence."""
        end = 0
        for token in TOKEN.finditer(text):
            end = token.end()
            number, command, character = token.groups()
            if character is None:
                self.control(command, number)
            elif character == "\n":
                self.next_line()
            elif character == "\r":
                self.column, self.wraps = 0, False
            else:
                self.put(character)
        return text[end:]

    def control(self, command, number):
        if command == "H":
            self.row, self.column, self.wraps = 0, 0, False
        elif command in "JK":
            first = 0 if command == "J" and number == "2" else self.row
            for row in range(first, self.row + 1 if command == "K" else self.rows):
                begin = self.column if row == self.row and number != "2" else 0
                self.cells[row][begin:] = [" "] * (self.columns - begin)

    def next_line(self):
        self.wraps = False
        if self.row + 1 < self.rows:
            self.row += 1
            return
        self.scrolled += 1
        self.cells = self.cells[1:] + [[" "] * self.columns]

    def put(self, character):
        if self.wraps:
            self.next_line()
            self.column = 0
        self.cells[self.row][self.column] = character
        self.wraps = self.column + 1 == self.columns
        self.column = min(self.column + 1, self.columns - 1)


class Terminal:
    """A terminal. `device` is for a program's stdout. close() closes it."""

    def __init__(self, rows=24, columns=80):
        self._here, self.device = pty.openpty()
        self._half = ""
        self.resize(rows, columns)

    def close(self):
        os.close(self._here)
        os.close(self.device)

    def resize(self, rows, columns):
        fcntl.ioctl(self.device, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
        self.screen = Screen(rows, columns)

    def lines(self):
        """Returns what the terminal shows after all that was printed until now."""
        while select.select([self._here], [], [], 0)[0]:
            self._half = self.screen.feed(self._half + os.read(self._here, 65536).decode())
        return self.screen.lines()

    def wait_until(self, shown, what):
        """Returns the first lines for which `shown(lines)` is true."""
        def look():
            lines = self.lines()
            return lines if shown(lines) else None
        return wait_until(look, f"a screen with {what}")
