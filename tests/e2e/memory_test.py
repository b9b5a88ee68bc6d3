"""What a long stream costs in memory, on both sides (VmRSS and VmHWM of proc(5))."""

import pathlib
import statistics
import unittest

from processes import ProcessTestCase, pause

MIB = 1 << 20


def memory(process, field):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0  # It has ended.


class MemoryTest(ProcessTestCase):
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
        # Medians: what is on its way at one moment is no growth. From about batch 1,000 on.
        early = samples[len(samples) // 100:len(samples) // 10]
        late = samples[-len(samples) // 10:]
        for name, before, after in zip(("client", "server"), zip(*early), zip(*late)):
            growth = statistics.median(after) - statistics.median(before)
            self.assertLess(growth, 8 * MIB, f"the {name} grew by {growth} bytes")

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
