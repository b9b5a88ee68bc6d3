"""Tests penstock-train --tensorboard by reading its files with TensorBoard's own reader."""

import json
import subprocess
import unittest

from processes import REPOSITORY
from training import TrainingTestCase

PYTHON = REPOSITORY / "build" / "python" / "bin" / "python3"  # .ci/python.sh makes it.

# Prints [[step, tag, value]] of all event files of a folder, in the order in which TensorBoard
# reads them.
READ_EVENTS = """
import json, pathlib, sys
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto import event_pb2
scalars = []
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    for data in RawEventFileLoader(str(path)).Load():
        event = event_pb2.Event.FromString(data)
        assert event.wall_time > 1.7e9, event
        scalars += [[event.step, v.tag, v.simple_value] for v in event.summary.value]
        if event.HasField("file_version"):
            assert event.file_version == "brain.Event:2"
print(json.dumps(scalars))
"""


def has_tensorboard():
    return PYTHON.exists() and subprocess.run(
        [PYTHON, "-c", "import tensorboard.backend.event_processing.event_file_loader"],
        stderr=subprocess.DEVNULL).returncode == 0


@unittest.skipUnless(has_tensorboard(), "tensorboard is not installed: run .ci/python.sh")
class TensorBoardTest(TrainingTestCase):
    def test_tensorboard_reads_what_the_events_say(self):
        folder, events = self.folder / "board", self.folder / "events.jsonl"
        self.train("--tensorboard", folder, "--events", events, "--eval-every", 2, steps=4)
        result = subprocess.run([PYTHON, "-c", READ_EVENTS, folder], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        read = {(step, tag): value for step, tag, value in json.loads(result.stdout)}
        written = {}
        for line in events.read_text().splitlines():
            event = json.loads(line)
            step = event["step"]
            if event["event"] == "evaluation":
                written[step, "holdout/loss"] = event["loss"]
                written[step, "holdout/below_mean_percent"] = (
                    100 * (1 - event["loss"] / event["baseline"]))
                continue
            wait, compute = event["input_wait_s"], event["compute_s"]
            written[step, "train/loss"] = event["loss"]
            written[step, "train/learning_rate"] = event["learning_rate"]
            written[step, "train/gradient_norm"] = event["gradient_norm"]
            written[step, "input/wait_share"] = wait / (wait + compute)
            written[step, "train/rows_per_second"] = event["rows"] / (wait + compute)
            written[step, "train/positions_per_second"] = written[step, "train/rows_per_second"]
        self.assertEqual(sorted(read), sorted(written))
        self.assertEqual(len([key for key in read if key[1] == "holdout/loss"]), 2)
        for key, value in written.items():
            self.assertAlmostEqual(read[key], value, delta=1e-6 * abs(value) + 1e-12, msg=key)


if __name__ == "__main__":
    unittest.main(verbosity=2)
