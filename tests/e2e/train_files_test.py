"""Tests the files that penstock-train writes and reads: checkpoints, weights, reports on
divergence."""

import json
import pathlib
import struct
import subprocess
import unittest

from processes import REPOSITORY, run
from training import BATCH, TrainingTestCase, read_checkpoint

PYTHON = REPOSITORY / "build" / "python" / "bin" / "python3"  # .ci/python.sh makes it.

# Prints {name: [dtype, shape, sum of the bytes]} of a safetensors file, with the safetensors
# package.
READ_SAFETENSORS = """
import json, pathlib, sys
from safetensors import deserialize
tensors = deserialize(pathlib.Path(sys.argv[1]).read_bytes())
print(json.dumps({name: [t["dtype"], list(t["shape"]), sum(t["data"])] for name, t in tensors}))
"""


def has_safetensors():
    return PYTHON.exists() and subprocess.run(
        [PYTHON, "-c", "import safetensors"], stderr=subprocess.DEVNULL).returncode == 0


def read_safetensors(path):
    """Returns metadata, and {name: (shape, bytes)} in the file's order."""
    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, tensor in header.items():
        assert tensor["dtype"] == "F32", tensor
        begin, end = tensor["data_offsets"]
        tensors[name] = (tensor["shape"], data[8 + size + begin:8 + size + end])
    return metadata, tensors


class WeightsTestCase(TrainingTestCase):
    def export(self, checkpoint, name="weights.safetensors"):
        path = self.folder / name
        self.check_run("penstock-train", "export", "--checkpoint", checkpoint, "-o", path)
        return path


class WeightsTest(WeightsTestCase):
    def test_exported_weights_are_the_checkpoints(self):
        self.train("--checkpoint-dir", self.folder / "a", steps=3)
        checkpoint = self.checkpoints("a")[-1]
        fields, numbers = read_checkpoint(checkpoint)
        metadata, tensors = read_safetensors(self.export(checkpoint))
        self.assertEqual([metadata["model"], metadata["layers"], metadata["step"]],
                         ["tiny", "4", "3"])
        self.assertEqual([(p["name"], p["shape"]) for p in fields["parameters"]],
                         [(name, shape) for name, (shape, _) in tensors.items()])
        self.assertEqual(sum(len(data) // 4 for _, data in tensors.values()), 144_577)
        weights = b"".join(data for _, data in tensors.values())
        self.assertEqual(weights, numbers[:len(weights)])

    @unittest.skipUnless(has_safetensors(), "safetensors is not installed: run .ci/python.sh")
    def test_the_safetensors_package_reads_them(self):
        self.train("--checkpoint-dir", self.folder / "a", steps=2)
        path = self.export(self.checkpoints("a")[-1])
        read = json.loads(subprocess.run([PYTHON, "-c", READ_SAFETENSORS, path], check=True,
                                         stdout=subprocess.PIPE, text=True).stdout)
        _, tensors = read_safetensors(path)
        self.assertEqual(read, {name: ["F32", shape, sum(data)]
                                for name, (shape, data) in tensors.items()})

    def test_a_training_can_start_with_given_weights(self):
        self.train("--checkpoint-dir", self.folder / "a", steps=3)
        weights = self.export(self.checkpoints("a")[-1])
        self.train("--init-from", weights, "--lr", 1e-30, "--weight-decay", 0,
                   "--checkpoint-dir", self.folder / "b", steps=1)
        # Such steps change nothing, so the weights are the same.
        again = self.export(self.checkpoints("b")[-1], "again.safetensors")
        self.assertEqual(read_safetensors(weights)[1], read_safetensors(again)[1])

    def test_weights_of_another_model_are_refused_by_name(self):
        self.train("--checkpoint-dir", self.folder / "a", steps=1)
        weights = self.export(self.checkpoints("a")[-1])
        self.assert_fails(*self.train_args("--init-from", weights, model="default"),
                          says=[weights.name, "blocks.4.norm1.weight"], code=1)
        cut = self.folder / "cut.safetensors"
        cut.write_bytes(weights.read_bytes()[:5000])
        self.assert_fails(*self.train_args("--init-from", cut), says=["truncated"], code=1)
        self.assert_fails("export", "--checkpoint", weights, "-o", self.folder / "x",
                          says=["not a checkpoint"], code=1)
        self.assert_fails("export", "-o", "x", says=["--checkpoint"], code=2)
        checkpoint = self.checkpoints("a")[-1]
        link = self.folder / "link"
        link.symlink_to(checkpoint)
        for target in (checkpoint, self.folder / "new.ckpt", link):
            self.assert_fails("export", "--checkpoint", checkpoint, "-o", target,
                              says=["names a checkpoint"], code=1)
        self.export(checkpoint)


class AttentionBiasTest(WeightsTestCase):
    def test_it_is_learned_saved_and_goes_on_bit_for_bit(self):
        args = ["--attention-bias", "--checkpoint-dir", self.folder / "parts"]
        result = self.check_run("penstock-train", *self.train_args(*args, steps=6))
        self.assertIn("model tiny with attention bias: 210,113 parameters", result.stdout)
        self.train(*args, "--require-same-bits", steps=12)
        self.train("--attention-bias", "--checkpoint-dir", self.folder / "whole", steps=12)
        whole = self.checkpoints("whole")[-1]
        self.assertEqual(read_checkpoint(self.checkpoints("parts")[-1])[1],
                         read_checkpoint(whole)[1])
        self.assertIs(read_checkpoint(whole)[0]["model"]["attention_bias"], True)
        metadata, tensors = read_safetensors(self.export(whole))
        self.assertEqual(metadata["attention_bias"], "true")
        for layer in range(4):
            shape, values = tensors[f"blocks.{layer}.attention_bias"]
            self.assertEqual(shape, [4, 64, 64])
            self.assertTrue(any(values))

    def test_another_model_is_refused_where_there_is_or_is_none(self):
        fen = "8/8/8/4k3/8/4K3/4P3/8 w - - 0 1"
        for folder, option, other, says in (
                ("with", ["--attention-bias"], [], "; give --attention-bias"),
                ("without", [], ["--attention-bias"], "leave --attention-bias out")):
            folder = self.folder / folder
            self.train(*option, "--checkpoint-dir", folder, steps=1)
            self.assert_fails(*self.train_args(*other, "--checkpoint-dir", folder), says=[says],
                              code=1)
            checkpoint = self.checkpoints(folder)[-1]
            # Without a given model, commands take the checkpoint's.
            self.check_run("penstock-train", "predict", "--checkpoint", checkpoint, "--fen", fen)
            weights = self.export(checkpoint)
            self.train(*option, "--init-from", weights, steps=1)
            self.assert_fails(*self.train_args(*other, "--init-from", weights),
                              says=["blocks.0.attention_bias"], code=1)


class CheckpointTest(TrainingTestCase):
    def test_other_arithmetic_warns_and_can_be_refused(self):
        folder = self.folder / "a"
        self.train("--checkpoint-dir", folder, steps=2)
        other = ["--checkpoint-dir", folder, "--virtual-shards", 4]
        refused = self.assert_fails(*self.train_args(*other, "--require-same-bits"),
                                    says=["--require-same-bits", "--virtual-shards was 8 and is now 4"],
                                    code=1)
        self.assertNotIn("resuming from", refused.stdout)
        result = run("penstock-train", *self.train_args(*other))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("resuming from", result.stdout)
        self.assertIn("--virtual-shards was 8 and is now 4: results may not be bit-identical", result.stderr)
        self.train("--checkpoint-dir", folder, "--require-same-bits", "--virtual-shards", 4,
                   steps=14)

    def test_other_targets_are_told_and_no_evaluation_of_them_is_compared(self):
        folder = self.folder / "a"
        spec = self.folder / "flat.textproto"
        chess = REPOSITORY / "records" / "decode" / "specs" / "chess.textproto"
        spec.write_text(chess.read_text().replace("k: 400", "k: 4000"))
        self.train("--checkpoint-dir", folder, steps=4)
        self.assertLess(0.1, read_checkpoint(folder / "best.ckpt")[0]["best"]["loss"])
        args = ["--checkpoint-dir", folder, "--spec", spec]
        says = "the target formula of --spec was a 0.8, b 11, k 400 and is now a 0.8, b 11, k 4000"
        self.assert_fails(*self.train_args(*args, "--require-same-bits", steps=6), says=[says],
                          code=1)
        result = self.check_run("penstock-train", *self.train_args(*args, "--lr", 0.5, steps=6))
        self.assertIn(says, result.stderr)
        self.assertIn("its best evaluation (step 4) does not count", result.stderr)
        best, _ = read_checkpoint(folder / "best.ckpt")
        self.assertEqual(best["step"], 6)
        self.assertEqual(best["score_count"], 2 * BATCH)
        # The spec has the same targets, but is written differently.
        spec.write_text("# of the same\n" + spec.read_text())
        self.train(*args, "--require-same-bits", steps=7)

    def test_bf16_is_written_down_and_learns_the_same(self):
        result = run("penstock-train", *self.train_args("--precision", "bf16", "--checkpoint-dir",
                                                        self.folder / "bf16"))
        if "cannot multiply bfloat16" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        bf16 = json.loads((self.folder / "summary.json").read_text())
        fields, _ = read_checkpoint(self.checkpoints("bf16")[-1])
        self.assertEqual(fields["precision"], "bf16")
        fp32 = self.train("--resume", "never")
        self.assertNotEqual(bf16["loss_end"], fp32["loss_end"])
        self.assertAlmostEqual(bf16["loss_end"], fp32["loss_end"], delta=0.02 * fp32["loss_end"])
        self.assert_fails(*self.train_args("--checkpoint-dir", self.folder / "bf16",
                                           "--require-same-bits", steps=20),
                          says=["--precision was bf16 and is now fp32"], code=1)

    def test_no_better_evaluations_end_it_and_the_best_stays(self):
        folder = self.folder / "a"
        # At such a learning rate the first evaluations are the best ones.
        args = ["--checkpoint-dir", folder, "--eval-every", 2, "--early-stop", 2, "--lr", 0.5]
        result = self.check_run("penstock-train", *self.train_args(*args, steps=200))
        summary = json.loads((self.folder / "summary.json").read_text())
        self.assertIn("stopped early", result.stdout)
        self.assertTrue(summary["early_stopped"])
        self.assertEqual(summary["steps"], summary["best_step"] + 4)
        best, _ = read_checkpoint(folder / "best.ckpt")
        self.assertEqual(best["step"], summary["best_step"])
        self.assertEqual(best["best"]["loss"], summary["best_holdout_loss"])
        # A resumed training is still over: no more steps are made.
        again = self.train(*args, steps=200)
        self.assertEqual(again["positions"], 0)
        self.assertEqual(again["steps"], summary["steps"])
        self.assert_fails(*self.train_args("--early-stop", 2), says=["--eval-every"], code=2)

    def test_divergence_names_the_records(self):
        folder = self.folder / "a"
        args = self.train_args("--checkpoint-dir", folder, "--lr", 1e30, steps=6)
        result = run("penstock-train", *args)
        self.assertEqual(result.returncode, 1, result.stdout)
        report_path = next(folder.glob("diverged-step-*.json"))
        self.assertIn(str(report_path), result.stderr)
        report = json.loads(report_path.read_text())
        which = json.loads(self.check_run(
            "penstock", "which", self.manifest, "--global-batch-size", BATCH, "--seed", 3, "--split",
            "train", "--step", report["step"], "--json", "-").stdout)
        self.assertEqual([(row["shard"], row["record"]) for row in report["rows"]],
                         [(row["shard"], row["record"]) for row in which["rows"]])
        self.assertEqual(len({row["record_id"] for row in report["rows"]}), BATCH)
        self.assertIn(False, [row["finite"] for row in report["rows"]])
        self.assertEqual(list(folder.glob("step-*.ckpt")), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
