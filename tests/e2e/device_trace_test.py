"""Tests the trace of steps on a GPU (an emulated one with a fake CUPTI) by reading it like
Perfetto."""

import json
import os
import pathlib
import tempfile
import unittest

from processes import run
from servers import BIN

PROGRAM = "trainer_device_trace_test"
TEST = "DeviceCuptiTraceTest.EveryKernelIsOnTheTrackOfItsStream"


class DeviceTraceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not (BIN / PROGRAM).exists():
            raise unittest.SkipTest(f"{PROGRAM} is not built")
        if TEST.split(".")[1] not in run(PROGRAM, "--gtest_list_tests").stdout:
            raise unittest.SkipTest("a build without CUPTI's headers")
        with tempfile.TemporaryDirectory(prefix="penstock-e2e-") as folder:
            path = pathlib.Path(folder) / "trace.json"
            result = run(PROGRAM, f"--gtest_filter={TEST}",
                         env={**os.environ, "PENSTOCK_TRACE_COPY": str(path)})
            assert result.returncode == 0, result.stdout + result.stderr
            cls.stdout = result.stdout
            cls.events = json.loads(path.read_text())["traceEvents"]
        cls.tracks = {event["tid"]: event["args"]["name"] for event in cls.events
                      if event["name"] == "thread_name"}
        cls.spans = [event for event in cls.events if event["ph"] == "X"]

    def test_the_process_and_every_track_have_a_name(self):
        self.assertEqual([event["args"]["name"] for event in self.events
                          if event["name"] == "process_name"], ["penstock-train"])
        self.assertLessEqual({span["tid"] for span in self.spans}, set(self.tracks))
        self.assertLessEqual({"training", "compute", "copies"}, set(self.tracks.values()))
        self.assertEqual(len(self.tracks), len(set(self.tracks.values())))

    def test_events_are_in_order_and_last_no_negative_time(self):
        begins = [span["ts"] for span in self.spans]
        self.assertEqual(begins, sorted(begins))
        for span in self.spans:
            self.assertGreaterEqual(span["dur"], 0, span)

    def test_spans_of_a_track_lie_apart_or_within_each_other(self):
        nanosecond = 1e-3 + 1e-6
        for track in self.tracks:
            open_ends = []
            for span in (span for span in self.spans if span["tid"] == track):
                while open_ends and open_ends[-1] <= span["ts"] + nanosecond:
                    open_ends.pop()
                end = span["ts"] + span["dur"]
                if open_ends:
                    self.assertLessEqual(end, open_ends[-1] + nanosecond, span)
                open_ends.append(end)

    def test_an_arrow_begins_at_a_call_and_ends_at_a_later_kernel(self):
        starts = {event["id"]: event for event in self.events if event["ph"] == "s"}
        ends = {event["id"]: event for event in self.events if event["ph"] == "f"}
        self.assertEqual(set(starts), set(ends))
        self.assertGreaterEqual(len(starts), 3)
        for number, start in starts.items():
            self.assertTrue(self.tracks[start["tid"]].startswith("CUDA calls of thread"))
            self.assertIn(self.tracks[ends[number]["tid"]], ["compute", "copies"])
            self.assertLessEqual(start["ts"], ends[number]["ts"])
            for event in (start, ends[number]):
                self.assertTrue(any(span["tid"] == event["tid"] and span["ts"] == event["ts"]
                                    for span in self.spans), event)

    def test_host_and_device_share_a_clock(self):
        host = [span for span in self.spans if self.tracks[span["tid"]] == "training"]
        begin = min(span["ts"] for span in host)
        end = max(span["ts"] + span["dur"] for span in host)
        kernels = [span for span in self.spans if self.tracks[span["tid"]] == "compute"]
        # The first step is launched while the previous one is still computed.
        self.assertLess(min(span["ts"] for span in kernels), end)
        self.assertGreater(max(span["ts"] for span in kernels), begin)

    def test_a_line_tells_how_busy_it_was(self):
        self.assertRegex(self.stdout, r"device, by CUPTI API \d+: steps 3 to 5, .* busy, .* idle "
                                      r"between steps, .* inside launches")


if __name__ == "__main__":
    unittest.main(verbosity=2)
