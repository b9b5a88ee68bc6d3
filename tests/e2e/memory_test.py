"""What a long stream costs in memory, on both sides (VmRSS and VmHWM of proc(5))."""

import json
import pathlib
import shutil
import signal
import statistics
import time
import unittest

from processes import ProcessTestCase, pause
from servers import wait_until

MIB = 1 << 20
BUDGET = 32 * MIB
STREAM = 16 * MIB  # Of parts that a client has asked for, and not read: beside the budget.
PROCESS = 32 * MIB  # Of gRPC's buffers and of what malloc() keeps for each thread.


def memory(process, field):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0  # It has ended.


def cpu_ticks(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])  # utime and stime of proc(5).


class MemoryTest(ProcessTestCase):
    def copy_shards(self, copies):
        """So many more of each shard of the sample, indexed."""
        for shard in list(self.data.glob("*.tfrecord")):
            for copy in range(copies):
                shutil.copy(shard, shard.with_name(f"{copy}-{shard.name}"))
        self.check_run("penstock", "index", self.data, "-o", self.manifest)

    def pause_a_client(self, server):
        """A client that has stopped reading, once the server has done all that it can for it."""
        waits = self.folder / "paused"
        client = self.spawn("penstock", *self.stream_args(
            server.address, "--dtype", "f32", "--look-ahead", "64MiB", "--waits", waits, epochs=0))
        wait_until(lambda: waits.exists() and waits.stat().st_size > 1000, "batches")
        client.send_signal(signal.SIGSTOP)
        idle_since = [time.monotonic(), cpu_ticks(server)]

        def idle():
            if cpu_ticks(server) != idle_since[1]:
                idle_since[:] = time.monotonic(), cpu_ticks(server)
            return time.monotonic() - idle_since[0] > 0.5
        wait_until(idle, "the server to have nothing to do")
        return client

    def test_a_client_that_stops_reading_costs_a_bounded_number_of_bytes(self):
        server = self.start_server("--memory-budget", "64MiB")
        self.stream(server.address, "--dtype", "f32")
        one = memory(server, "VmRSS")
        self.pause_a_client(server)
        # Its parts, and what it asked for of a data set that is small.
        self.assertLess(memory(server, "VmRSS") - one, STREAM + 16 * MIB)

    def test_memory_stays_within_the_budget_over_a_hundred_thousand_windows(self):
        self.copy_shards(20)  # 44 MB, more than the budget: chunks come and go.
        server = self.start_server("--memory-budget", f"{BUDGET}")
        self.stream(server.address, "--dtype", "packed", "--steps", 1)
        idle = memory(server, "VmRSS")
        self.pause_a_client(server)
        paused = memory(server, "VmRSS")
        client = self.spawn("penstock", *self.stream_args(
            server.address, "--window-chunks", 1, "--dtype", "packed", "--global-batch-size", 1024,
            "--look-ahead", "8MiB", "--server-timeout", "100s", epochs=13))
        samples = [after for _, after in self.watch(client, server)]
        out, err = client.communicate()
        self.assertEqual(client.returncode, 0, err)
        windows = json.loads(out)["servers"][0]["windows"]
        self.assertGreaterEqual(windows, 100_000)
        print(f"{windows} windows; server {idle}, with a paused client {paused}, largest "
              f"{max(samples)} bytes", flush=True)
        self.assertLess(max(samples) - idle, 1.1 * BUDGET + 2 * STREAM + PROCESS)
        half = len(samples) // 2
        growth = statistics.median(samples[half:]) - statistics.median(samples[half // 4:half])
        self.assertLess(growth, 16 * MIB)

    def watch(self, client, server):
        """VmRSS of both, again and again until the client ends: [(client, server), ...]."""
        samples = []
        while client.poll() is None:
            both = memory(client, "VmRSS"), memory(server, "VmRSS")
            if all(both):
                samples.append(both)
            pause()
        return samples

    def test_a_hundred_thousand_batches_leave_no_trace(self):
        server = self.start_server("--memory-budget", "64MiB")
        client = self.spawn("penstock", *self.stream_args(
            server.address, "--global-batch-size", 64, "--steps", 100_000, "--dtype", "packed",
            "--look-ahead", "16MiB", epochs=0))
        samples = self.watch(client, server)
        self.assertEqual(client.returncode, 0, client.communicate()[1])
        self.assertGreater(len(samples), 50)
        # Medians: what is on its way at one moment is no growth, and comes to several MiB. From about
        # batch 1,000 on; a leak of 200 bytes a batch would be found.
        early = samples[len(samples) // 100:len(samples) // 10]
        late = samples[-len(samples) // 10:]
        for name, before, after in zip(("client", "server"), zip(*early), zip(*late)):
            growth = statistics.median(after) - statistics.median(before)
            self.assertLess(growth, 16 * MIB, f"the {name} grew by {growth} bytes")

    def test_both_sides_stay_within_what_was_promised(self):
        server = self.start_server("--memory-budget", "64MiB")
        client = self.spawn("penstock", *self.stream_args(
            server.address, "--dtype", "f32", "--look-ahead", "64MiB", epochs=20))
        peak = 0
        while client.poll() is None:
            peak = max(peak, memory(client, "VmHWM"))
            pause()
        self.assertEqual(client.returncode, 0, client.communicate()[1])
        self.assertLess(peak, (64 + 128) * MIB)
        self.assertLess(memory(server, "VmHWM"), (64 + 256) * MIB)


if __name__ == "__main__":
    unittest.main(verbosity=2)
