"""A `penstock feed` in Python, whose behaviour its dataset describes. fake_case.py starts it.

The dataset is a query such as "rows=4&steps=10": see DEFAULTS. Row r of an epoch has r in "x" (i64)
and r modulo 256 in each byte of "planes" (u8 [2, 3]).
"""

import collections
import json
import mmap
import os
import pathlib
import select
import signal
import socket
import struct
import sys
import time
import urllib.parse

READY, BATCH, END, ERROR, STATS = 1, 2, 3, 4, 5
START, RELEASE, WAITING, ASK_STATS = 1, 2, 3, 4
FINGERPRINT = "00000000000000ab"

DEFAULTS = {
    "rows": 4,  # Rows of a batch.
    "steps": 10,  # Steps of an epoch.
    "epochs": 0,  # Number of epochs; 0 means no end.
    "slots": 4,
    "short": 0,  # Rows of the last batch of an epoch; 0 means as many as in the others.
    "pad": 0,  # Additional bytes of a slot.
    "last_words": "",  # Written to stderr at the start.
    "version": "",  # The version in READY; if empty, the package's.
    "refuse": "",  # A status that is sent instead of READY: CODE:MESSAGE.
    "usage": "",  # A message with which the feed exits at once, as with wrong options.
    "fail_at": -1,  # The step that fails with this status.
    "failure": "DATA_LOSS:a: damaged",
    "die_at": -1,  # The feed kills itself before this step.
    "exit_at": -1,  # The feed exits before this step.
    "only_waited": 0,  # If 1, it announces a batch only when the consumer waits.
    "stale": 0,  # If 1, it repeats an announcement of the previous generation after each START.
    "journal": "",  # A file for all requests: a JSON list in each line.
    "dtype": "u8",  # Type of planes; bf16 has two bytes.
    "deaf": 0.0,  # Seconds after START during which it reads nothing.
}


class FakeFeed:
    """One run of the fake."""

    def __init__(self, arguments):
        self.behaviour = behaviour_of(arguments)
        self.sock = socket.socket(fileno=int(value_of(arguments, "--control-fd")))
        self.version = self.behaviour["version"] or version()
        self.rows = self.behaviour["rows"]
        last = self.behaviour["short"] or self.rows
        self.records = (self.behaviour["steps"] - 1) * self.rows + last
        self.planes = 8 * self.rows
        row_bytes = 12 if self.behaviour["dtype"] == "bf16" else 6
        self.ids = -(-(self.planes + row_bytes * self.rows) // 64) * 64
        self.slot_bytes = -(-(self.ids + 8 * self.rows) // 64) * 64 + self.behaviour["pad"]
        self.bytes_in = b""
        self.generation = 0
        self.free = collections.deque()
        self.memory = None
        self.out = b""
        self.waited = -1
        self.step = 0
        self.ended = True

    def run(self):
        if self.behaviour["usage"]:
            print("penstock: " + self.behaviour["usage"], file=sys.stderr)
            sys.exit(2)
        if self.behaviour["refuse"]:
            code, _, message = self.behaviour["refuse"].partition(":")
            self.say(ERROR, {"code": code, "message": message})
            self.sock.sendall(self.out)
            sys.exit(1)
        self.say(READY, self.ready())
        try:
            while self.serve():
                pass
        except ConnectionError:
            pass  # The consumer is gone.

    def ready(self):
        dtype = self.behaviour["dtype"]
        return {
            "protocol": 1,
            "version": self.version,
            "tensors": [
                {"name": "x", "dtype": "i64", "shape": [], "row_bytes": 8, "offset": 0,
                 "lengths": None},
                {"name": "planes", "dtype": dtype, "shape": [2, 1, 3], "row_bytes": 6,
                 "offset": self.planes, "lengths": None},
            ],
            "record_ids_offset": self.ids,
            "slot_bytes": self.slot_bytes,
            "slots": self.behaviour["slots"],
            "rows": self.rows,
            "steps_per_epoch": self.behaviour["steps"],
            "order_fingerprint": FINGERPRINT,
            "rank": 0,
            "world_size": 1,
            "global_batch_size": self.rows,
            "records": self.records,
            "spec": "fake",
            "metrics": "",
            "classes": [],
        }

    def serve(self):
        """Serves for one round. Returns False if the consumer is gone."""
        self.announce()
        events = select.POLLIN | (select.POLLOUT if self.out else 0)
        poll = select.poll()
        poll.register(self.sock, events)
        for _, event in poll.poll():
            if event & select.POLLOUT:
                self.out = self.out[self.sock.send(self.out, socket.MSG_DONTWAIT):]
            if event & select.POLLIN:
                data, fds, _, _ = socket.recv_fds(self.sock, 1 << 16, 1)
                if not data:
                    return False
                self.take(data, fds)
            elif event & (select.POLLHUP | select.POLLERR):
                return False
        return True

    def take(self, data, fds):
        self.bytes_in += data
        while len(self.bytes_in) >= 16:
            kind, generation, value = struct.unpack_from("<IIQ", self.bytes_in)
            self.bytes_in = self.bytes_in[16:]
            text = None
            if kind == START:
                text = json.loads(self.bytes_in[:value])
                self.bytes_in = self.bytes_in[value:]
                self.start(generation, text, fds)
                fds = []
            elif kind == RELEASE and generation == self.generation:
                self.free.append(value)
            elif kind == WAITING and generation == self.generation:
                self.waited = max(self.waited, value)
            elif kind == ASK_STATS:
                self.say(STATS, {"rows": self.step * self.rows, "servers": [],
                                 "replaced_records": 2, "undecodable_rows": 3})
            self.note([kind, generation, text if text is not None else value])

    def note(self, line):
        if self.behaviour["journal"]:
            with open(self.behaviour["journal"], "a", encoding="utf-8") as journal:
                journal.write(json.dumps(line) + "\n")

    def start(self, generation, text, fds):
        if fds:
            self.memory = mmap.mmap(fds[0], text["slots"] * self.slot_bytes)
            self.note(["memory", os.fstat(fds[0]).st_size])
            os.close(fds[0])
        before, self.generation = self.generation, generation
        self.free = collections.deque(range(text["slots"]))
        self.step, self.waited, self.ended = text["step"], -1, False
        self.epoch, self.position = 0, 0
        if text["cursor"]:
            self.epoch, self.position = (int(part) for part in text["cursor"].split("-")[2:])
        if self.behaviour["stale"] and before:
            self.out += record(BATCH, before, slot=0, step=0, rows=self.rows)
        if self.behaviour["last_words"]:
            print(self.behaviour["last_words"], file=sys.stderr, flush=True)
        time.sleep(self.behaviour["deaf"])

    def announce(self):
        while not self.ended and self.free:
            if self.behaviour["only_waited"] and self.waited < self.step:
                return
            self.step_on()

    def step_on(self):
        if self.position >= self.records:
            self.epoch, self.position = self.epoch + 1, 0
        if self.behaviour["epochs"] and self.epoch >= self.behaviour["epochs"]:
            self.ended = True
            return self.say(END, {})
        if self.step == self.behaviour["die_at"]:
            self.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.step == self.behaviour["exit_at"]:
            self.flush()
            sys.exit(3)
        if self.step == self.behaviour["fail_at"]:
            self.ended = True
            code, _, message = self.behaviour["failure"].partition(":")
            return self.say(ERROR, {"code": code, "message": message, "shard": "a",
                                    "offset": 21, "record": 2})
        self.fill()

    def fill(self):
        slot = self.free.popleft()
        end = min(self.position + self.rows, self.records)
        rows = end - self.position
        numbers = range(self.position, self.position + rows)
        begin = slot * self.slot_bytes
        ids = struct.pack(f"<{rows}q", *numbers)
        self.memory[begin : begin + 8 * rows] = ids
        self.memory[begin + self.ids : begin + self.ids + 8 * rows] = ids
        width = 12 if self.behaviour["dtype"] == "bf16" else 6
        planes = b"".join(bytes([n % 256]) * width for n in numbers)
        self.memory[begin + self.planes : begin + self.planes + len(planes)] = planes
        self.out += record(BATCH, self.generation, slot=slot, flags=int(end == self.records),
                           step=self.step, epoch=self.epoch, position=self.position, rows=rows, global_rows=rows,
                           end_epoch=self.epoch, end_position=end)
        self.step += 1
        self.position = end

    def say(self, kind, value):
        text = b"" if kind == END else json.dumps(value).encode()
        self.out += record(kind, self.generation, rows=len(text)) + text

    def flush(self):
        self.sock.setblocking(True)
        self.sock.sendall(self.out)


def record(kind, generation, slot=0, flags=0, step=0, epoch=0, position=0, first_row=0, rows=0,
           global_rows=0, end_epoch=0, end_position=0):
    """Returns the 72 bytes of an announcement."""
    return struct.pack("<IIIIQQQQIIQQ", kind, generation, slot, flags, step, epoch, position,
                       first_row, rows, global_rows, end_epoch, end_position)


def value_of(arguments, option):
    for index, argument in enumerate(arguments):
        if argument == option:
            return arguments[index + 1]
        if argument.startswith(option + "="):
            return argument.partition("=")[2]
    return ""


def behaviour_of(arguments):
    given = dict(urllib.parse.parse_qsl(value_of(arguments, "--manifest")))
    return {
        name: type(default)(given.get(name, default)) for name, default in DEFAULTS.items()
    }


def version():
    path = pathlib.Path(__file__).resolve().parent.parent / "penstock" / "_version.py"
    return path.read_text(encoding="utf-8").split('"')[-2]


if __name__ == "__main__":
    sys.stdin.close()
    FakeFeed(sys.argv[1:]).run()
