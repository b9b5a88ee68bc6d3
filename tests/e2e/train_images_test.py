"""Tests penstock-train on images: raw pixels in TFRecord, classes, and what is refused."""

import json
import math
import random
import unittest

from npy import read_npz
from png import png
from rank_runs import RanksTestCase, newest, numbers
from processes import run
from tfrecord import example, frame

SIDE, CLASSES = 72, 4
SPEC = """tensor { name: "image" bytes { feature: "pixels" length: 15552 } }
tensor { name: "label" label { feature: "class" } }
"""


def image(rng, label):
    """Returns an image with its class's colour and a brightness of its own."""
    level = rng.randrange(96, 160)
    pixel = bytes(level if channel == label % 3 else (level // 2 if label == 3 else 30)
                  for channel in range(3))
    return pixel * (SIDE * SIDE)


class TrainImagesTest(RanksTestCase):
    def setUp(self):
        super().setUp()
        rng = random.Random(1)
        images = self.data = self.folder / "images"  # This is also the servers' data root.
        images.mkdir()
        # Only few images, because a CRC in Python takes long.
        with open(images / "a.tfrecord", "wb") as out:
            for i in range(48):
                label = i % CLASSES
                out.write(frame(example(pixels=image(rng, label), **{"class": label})))
        self.spec = self.folder / "images.textproto"
        self.spec.write_text(SPEC)
        self.check_run("penstock", "index", images, "--holdout", "15%", "--holdout-feature",
                       "pixels")
        self.manifest = images / "manifest.pb"

    def train_args(self, *args, steps=4, servers="local:", manifest=None, classes=CLASSES):
        return ["--manifest", manifest or self.manifest, "--servers", servers, "--device", "cpu",
                "--spec", self.spec, "--model", "vit", "--classes", classes, "--seed", 3,
                "--global-batch-size", 8, "--virtual-shards", 2, "--threads", 1,
                "--steps", steps, *args]

    def test_two_ranks_have_the_bits_of_one_that_was_stopped_in_between(self):
        server = self.start_server()
        for steps in (2, 4):
            self.check_run("penstock-train", *self.train_args(
                "--checkpoint-dir", self.folder / "one", steps=steps))
        ranks = self.start_ranks(2, "--checkpoint-dir", self.folder / "two", steps=4,
                                 servers=server.address)
        for rank in ranks:
            self.assertEqual(rank.wait(), 0, rank.err)
        self.assertEqual(numbers(newest(self.folder / "two")), numbers(newest(self.folder / "one")))

    def test_it_learns_and_tells_how_many_are_right(self):
        summary = self.folder / "summary.json"
        out = self.check_run("penstock-train", *self.train_args(
            "--json", summary, "--dropout", 0, "--head-dropout", 0, "--lr", 0.0003, steps=24)).stdout
        self.assertRegex(out, r"held-out loss [0-9.]+, accuracy [0-9.]+ % over")
        self.assertIn("images/s", out)
        result = json.loads(summary.read_text())
        self.assertLess(result["loss_end"], result["loss_start"])
        self.assertEqual(result["rows"], 24 * 8)
        self.assertGreater(result["rows_per_second"], 0)
        self.assertNotIn("positions_per_second", result)
        self.assertGreaterEqual(result["holdout_accuracy"], 0.5)

    def test_a_checkpoint_is_evaluated_and_predicts(self):
        summary, checkpoints = self.folder / "summary.json", self.folder / "c"
        self.check_run("penstock-train", *self.train_args(
            "--json", summary, "--checkpoint-dir", checkpoints, "--image-mean", "0.5,0.5,0.5", steps=2))
        model = ["--checkpoint", newest(checkpoints)]
        trained = json.loads(summary.read_text())
        evaluate = ["penstock-train", "evaluate", *model, "--manifest", self.manifest, "--threads", 2]
        # The spec comes from the checkpoint.
        loss = json.loads(self.check_run(*evaluate, "--json", "-").stdout)
        self.assertEqual(loss["loss"], trained["holdout_loss"])
        self.assertEqual(loss["accuracy"], trained["holdout_accuracy"])
        self.assertEqual(loss["records"], trained["holdout_records"])
        self.assertRegex(self.check_run(*evaluate, "--split", "all").stdout,
                         r"^all: loss [0-9.]+, accuracy [0-9.]+ % over 48 records$")
        output = self.folder / "predictions.npz"
        self.check_run("penstock-train", "predict", *model, "--manifest", self.manifest,
                       "--spec", self.spec, "-o", output)
        self.check_predictions(read_npz(output), loss)
        self.assertEqual(list(self.folder.glob("predictions*")), [output])

        picture = self.folder / "red.png"
        picture.write_bytes(png(90, 80, lambda x, y: b"\xff\0\0"))
        predict = ["penstock-train", "predict", *model, "--image", picture, picture]
        first, second = json.loads(self.check_run(*predict, "--json", "-").stdout)
        self.assertEqual(first, second)
        self.assertEqual(first["image"], str(picture))
        self.assertEqual(sorted(likely["class"] for likely in first["classes"]), list(range(CLASSES)))
        self.assertAlmostEqual(sum(likely["probability"] for likely in first["classes"]), 1, delta=1e-5)
        best = first["classes"][0]
        lines = self.check_run(*predict).stdout.splitlines()
        self.assertEqual(lines[:2], [str(picture),
                                     f"  {100 * best['probability']:5.1f} %  {best['class']}"])

    def check_predictions(self, arrays, evaluation):
        records, classes = evaluation["records"], CLASSES
        self.assertEqual({name: (a.dtype, a.shape) for name, a in arrays.items()},
                         {"record_id": ("<i8", [records]), "prediction": ("<f4", [records, classes]),
                          "target": ("<i8", [records])})
        ids, labels = arrays["record_id"].values(), arrays["target"].values()
        self.assertEqual(list(ids), sorted(set(ids)))
        self.assertEqual([i % classes for i in ids], list(labels))
        flat = arrays["prediction"].values()
        rows = [flat[i:i + classes] for i in range(0, len(flat), classes)]
        loss = -sum(math.log(row[label]) for row, label in zip(rows, labels)) / records
        self.assertAlmostEqual(loss, evaluation["loss"], delta=1e-4)
        hits = sum(row.index(max(row)) == label for row, label in zip(rows, labels))
        self.assertEqual(hits / records, evaluation["accuracy"])

    def test_an_evaluation_has_a_spec_of_its_own(self):
        other = self.folder / "other.textproto"
        other.write_text(SPEC.replace("length: 15552", "shape: [72, 72, 3]"))
        self.check_run("penstock-train", *self.train_args("--eval-spec", other, steps=1))
        other.write_text(SPEC.replace('name: "image"', 'name: "picture"'))
        self.assert_refused(["--eval-spec", other],
                            "other.textproto has tensors picture u8 [15552], label i64 [], but --model vit reads "
                            "image u8 [72, 72, 3] and label i64 []")
        other.write_text(SPEC.replace("15552", "15551"))
        self.assert_refused(["--eval-spec", other], "the records have 15552 bytes")
        self.assert_refused(["--eval-spec", "chess"],
                            "--eval-spec chess: the spec expects feature 'd'")

    def test_what_is_not_for_it_is_refused_by_name(self):
        self.assert_refused(["--spec", "chess"], "feature 'd' (bytes), which the records lack")
        self.assert_refused(["--model", "vit-small"], "has tensors image u8 [15552], label i64 [], "
                            "but --model vit-small reads image u8 [224, 224, 3]")
        self.assert_refused(["--classes", 3], "a.tfrecord): its label is 3, but 3 classes "
                            "(from --classes) have labels 0 to 2: if the labels start at 1, give --spec "
                            "images-train:72,label-1")
        self.assert_refused(["--dtype", "packed"], "--dtype packed cannot be used with --model vit")
        self.assert_refused(["--classes", "auto"], "the manifest has no class names; give --classes N")
        self.assert_refused(["--model", "tiny", "--classes", "auto"], "has no mate_score tensor 'score', which "
                            "--model tiny predicts; its tensors are image u8 [15552], label i64 []. These are "
                            "images: give --model vit or --model vit-tiny")
        checkpoints = self.folder / "c"
        self.check_run("penstock-train", *self.train_args("--checkpoint-dir", checkpoints, steps=1))
        self.assert_refused(["--checkpoint-dir", checkpoints, "--classes", 5], "--classes 4")
        self.assert_refused(["--checkpoint-dir", checkpoints, "--image-std", "1,1,1"],
                            "give --image-mean 0.485,0.456,0.406 --image-std 0.229,0.224,0.225")
        self.check_run("penstock-train", *self.train_args("--checkpoint-dir", checkpoints, steps=2,
                                                          # The number of classes comes from the
                                                          # checkpoint.
                                                          classes="auto"))
        fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
        result = run("penstock-train", "predict", "--checkpoint", newest(checkpoints), "--fen", fen)
        self.assertEqual(result.returncode, 1)
        self.assertIn("which classifies images", result.stderr)

    def test_mean_and_deviation_come_from_the_manifest(self):
        photos = self.data / "photos"
        photos.mkdir()
        with open(photos / "a.tfrecord", "wb") as out:
            for i in range(32):
                # Red differs between images; green and blue differ within an image.
                encoded = png(8, 6, lambda x, y: (51 * (i % 2), 255 * (x % 2), 102 * (y % 2)))
                out.write(frame(example(**{"image/encoded": encoded,
                                           "image/class/label": i % CLASSES})))
        auto = ["--model", "vit-tiny", "--spec", "images-train:72", "--image-mean", "auto", "--image-std", "auto"]
        self.check_run("penstock", "index", photos)
        self.assert_refused(["--manifest", photos, *auto],
                            "run penstock index DIR --update --statistics, or give numbers")
        self.check_run("penstock", "index", photos, "--update", "--statistics")
        found = json.loads(self.check_run("penstock", "inspect", photos, "--json", "-").stdout)
        self.assertEqual(found["statistics"][0]["images"], 32)
        for name, channels in (("mean", (0.1, 0.5, 0.2)), ("std", (0.1, 0.5, 0.2))):
            for is_now, expected in zip(found["statistics"][0][name], channels):
                self.assertAlmostEqual(is_now, expected, delta=1e-7)

        checkpoints = self.folder / "c"
        server = self.start_server()
        for servers, manifest in (("local:", photos), (server.address, "server:photos/")):
            out = self.check_run("penstock-train", *self.options(
                ["--manifest", manifest, "--servers", servers, *auto])).stdout
            self.assertRegex(out, r"normalised by --image-mean 0\.1,0\.5,0\.2\d* --image-std 0\.1")
        resumed = ["--manifest", photos, *auto, "--checkpoint-dir", checkpoints]
        self.check_run("penstock-train", *self.options([*resumed, "--image-std", "1,1,1"]))
        self.check_run("penstock", "index", photos)  # The manifest has no statistics.
        out = self.check_run("penstock-train", *self.options(
            [*resumed, "--image-std", "1,1,1", "--steps", 6])).stdout
        self.assertRegex(out, r"normalised by --image-mean 0\.1,0\.5,0\.2\d* --image-std 1,1,1")

    def options(self, args):
        """Returns train_args() with `args`, which replace options of the same names."""
        options = list(map(str, self.train_args()))
        for flag, value in zip(args[::2], args[1::2]):
            if flag in options:
                options[options.index(flag) + 1] = str(value)
            else:
                options += [flag, str(value)]
        return options

    def assert_refused(self, args, says):
        """Runs penstock-train. `args` are those of options()."""
        result = run("penstock-train", *self.options(args))
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertIn(says, result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
