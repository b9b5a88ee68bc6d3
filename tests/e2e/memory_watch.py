"""Watches the peak of a process's memory."""

import os
import pathlib
import signal


class MemoryWatch:
    """A process's resident memory: `before`, the `peak` since then, and now(). look() updates the
    peak and kills a process that exceeds `limit` bytes; then `exceeded` is true. The peak is the
    kernel's VmHWM, which the constructor resets (proc(5), clear_refs), so no sample misses it."""

    def __init__(self, pid, limit=4 << 30):
        self._pid, self._limit = pid, limit
        self._resets = self._reset()
        self.before = self.peak = self.now()
        self.exceeded = False

    def _reset(self):
        try:
            pathlib.Path(f"/proc/{self._pid}/clear_refs").write_text("5")
        except OSError:
            return False  # Without clear_refs the peak is the highest sample.
        return True

    def _read(self, field):
        try:
            for line in pathlib.Path(f"/proc/{self._pid}/status").read_text().splitlines():
                if line.startswith(field + ":"):
                    return int(line.split()[1]) << 10
        except OSError:
            pass
        return 0  # The process has ended.

    def now(self):
        return self._read("VmRSS")

    def look(self):
        now = self._read("VmHWM" if self._resets else "VmRSS")
        self.peak = max(self.peak, now)
        if now > self._limit and not self.exceeded:
            self.exceeded = True
            os.kill(self._pid, signal.SIGKILL)
