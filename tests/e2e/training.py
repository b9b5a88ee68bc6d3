"""Shared by the tests of penstock-train."""

import json
import struct

from processes import ProcessTestCase, run

STEPS = 12
BATCH = 40  # Five records for each virtual shard: a group that is computed together, and one more.
HOLDOUT = "1%"  # Few records, because evaluating on 5 % would take as long as five steps.


def read_checkpoint(path):
    """Returns the JSON of a checkpoint and the bytes of its numbers
    (docs/reference/checkpoint_format.md)."""
    data = path.read_bytes()
    magic, version, json_size, data_size = struct.unpack_from("<8sIIQ", data)
    fields = json.loads(data[24:24 + json_size])
    biased = fields["model"].get("attention_bias", False)
    assert magic == b"PSTRAIN\n" and version == (3 if biased else 2), (magic, version)
    assert len(data) == 24 + json_size + data_size + 4, len(data)
    return fields, data[24 + json_size:-4]


class TrainingTestCase(ProcessTestCase):
    """Runs penstock-train on the sample."""

    holdout = HOLDOUT

    def train_args(self, *args, steps=STEPS, servers="local:", model="tiny", device="cpu"):
        """Uses the CPU even if there is a GPU, because the tests compare bits."""
        return ["--manifest", self.manifest, "--servers", servers, "--device", device, "--model", model,
                "--global-batch-size", BATCH, "--seed", 3, "--steps", steps,
                *([] if "--json" in args else ["--json", self.folder / "summary.json"]), *args]

    def train(self, *args, **options):
        self.check_run("penstock-train", *self.train_args(*args, **options))
        return json.loads((self.folder / "summary.json").read_text())

    def checkpoints(self, folder):
        """Returns the paths of a folder's checkpoints, oldest first, without the best one."""
        return sorted((self.folder / folder).glob("step-*.ckpt"))

    def checkpoint(self, folder):
        """Returns the last checkpoint in a folder without the results of evaluations. The times of
        evaluations are no part of the training."""
        fields, numbers = read_checkpoint(self.checkpoints(folder)[-1])
        fields.pop("best", None)
        fields.pop("judged_step")
        return fields, numbers

    def assert_fails(self, *args, says, code):
        result = run("penstock-train", *args)
        self.assertEqual(result.returncode, code, result.stderr)
        for words in says:
            self.assertIn(words, result.stderr)
        return result
