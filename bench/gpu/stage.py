"""One stage of bench/gpu/contact: its time, its log and its JSON file, which is written part by part."""
import json
import os
import pathlib
import threading
import time

MOST_LOG = 15 << 20  # Size limit in bytes: a file is easy to copy if it has at most 16 MiB.
SAYS_AT_MOST = 60  # Number of failures that are printed. The file has all of them.


class Log:
    """A file of limited size. Each text is in the file when write() returns. Thread-safe."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")
        self.left = MOST_LOG
        self.lock = threading.Lock()

    def write(self, text):
        with self.lock:
            if self.left <= 0:
                return
            self.left -= len(text.encode())
            self.file.write(text if self.left > 0 else "\n(the log is full)\n")
            self.file.flush()

    def close(self):
        self.file.close()


class Stage:
    """The results and failures of a stage. The file is written after each of them, so a stage that is
    cut off leaves what it had. Thread-safe."""

    def __init__(self, name, out, seconds, facts=None):
        self.name, self.out = name, pathlib.Path(out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.path = self.out / f"{name}.json"
        self.log = Log(self.out / f"{name}.log")
        self.begun, self.seconds = time.monotonic(), seconds
        self.results, self.failures = {}, []
        self.lock = threading.Lock()
        self.found = {"stage": name, **(facts or {}), "ended": False, "now": "begins",
                      "failures": self.failures, "results": self.results}
        self._write()

    def _write(self):
        self.found["seconds"] = round(time.monotonic() - self.begun, 1)
        draft = self.path.with_suffix(".part")
        draft.write_text(json.dumps(self.found, indent=1) + "\n")
        os.replace(draft, self.path)

    def seconds_left(self):
        return self.begun + self.seconds - time.monotonic()

    def say(self, text):
        """Prints a line, and adds it to the log."""
        line = f"[{time.monotonic() - self.begun:6.1f} s] {text}"
        print(line, flush=True)
        self.log.write(line + "\n")

    def begin(self, part):
        """Writes which part runs now. The file of a stage that is cut off names that part."""
        with self.lock:
            self.found["now"] = part
            self._write()
        self.log.write(f"== {part}\n")

    def put(self, value, *path):
        """Sets results[path[0]][path[1]]... to `value`."""
        with self.lock:
            place = self.results
            for name in path[:-1]:
                place = place.setdefault(name, {})
            place[path[-1]] = value
            self._write()

    def fail(self, text):
        """Writes and prints a failure. `text` has the numbers that locate it."""
        with self.lock:
            self.failures.append(text)
            self._write()
        if len(self.failures) <= SAYS_AT_MOST:
            self.say(f"FAILED {text}")

    def end(self, next_command):
        with self.lock:
            self.found |= {"ended": True, "now": "", "next": next_command}
            self._write()
        self.say(f"{self.name}: {f'{len(self.failures)} failures' if self.failures else 'no failure'}")
        print(next_command, flush=True)

    def cut_off(self, why):
        """Writes the file without waiting for anything, because the process is about to end. Another
        thread may be changing the results; then the file stays as it was."""
        try:
            self.found["cut_off"] = why
            self._write()
            print(f"{self.name}: cut off: {why}", flush=True)
        except (RuntimeError, OSError):
            pass
