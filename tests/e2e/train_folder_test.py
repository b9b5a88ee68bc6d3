"""Tests the way from a folder of images to a trained model whose classes have names."""

import json
import unittest

from npy import read_npz
from png import png
from processes import ProcessTestCase, run
from rank_runs import newest

CLASSES = ["ant", "bee", "cat", "dog", "elk", "fox"]
EACH = 6


class TrainFolderTest(ProcessTestCase):
    def setUp(self):
        super().setUp()
        self.photos, self.data = self.folder / "photos", self.folder / "shards"
        for number, name in enumerate(CLASSES):
            (self.photos / name).mkdir(parents=True)
            for i in range(EACH):
                colour = bytes([40 * number, 255 - 40 * number, 30 * i])
                (self.photos / name / f"{i}.png").write_bytes(png(80 + i, 90 - number, lambda x, y: colour))
        self.check_run("penstock", "pack", "--from", "folder", self.photos, "-o", self.data)
        self.check_run("penstock", "index", self.data, "--holdout", "20%")

    def train_args(self, *args, steps=2):
        return ["--manifest", self.data, "--servers", "local:", "--device", "cpu", "--model", "vit",
                "--spec", "images-train:72", "--global-batch-size", 8, "--virtual-shards", 2,
                "--threads", 1, "--seed", 3, "--steps", steps, *args]

    def test_the_model_knows_the_names_of_its_classes(self):
        checkpoints, summary = self.folder / "c", self.folder / "summary.json"
        out = self.check_run("penstock-train", *self.train_args(
            "--checkpoint-dir", checkpoints, "--json", summary)).stdout
        self.assertIn("21,662,662 parameters", out)  # The model has six classes.
        self.assertRegex(out, r"held-out loss [0-9.]+, accuracy [0-9.]+ %, top-5 [0-9.]+ % over")
        trained = json.loads(summary.read_text())
        model = ["--checkpoint", newest(checkpoints)]
        evaluation = json.loads(self.check_run("penstock-train", "evaluate", *model, "--manifest",
                                               self.data, "--json", "-").stdout)
        matrix = self.folder / "matrix.png"
        self.assertEqual(evaluation, json.loads(self.check_run(
            "penstock-train", "evaluate", *model, "--manifest", self.data, "--json", "-",
            "--confusion-matrix", matrix).stdout))
        self.assertTrue(matrix.read_bytes().startswith(b"\x89PNG"))
        self.assertEqual(evaluation, {name: trained[f"holdout_{name}"] for name in
                                      ("records", "loss", "accuracy", "top5")})

        photo = self.photos / "fox" / "3.png"
        (image,) = json.loads(self.check_run("penstock-train", "predict", *model, "--image", photo,
                                             "--json", "-").stdout)
        self.assertEqual([CLASSES[likely["class"]] for likely in image["classes"]],
                         [likely["name"] for likely in image["classes"]])
        self.assertIn(f" %  {image['classes'][0]['name']}\n",
                      self.check_run("penstock-train", "predict", *model, "--image", photo).stdout)
        self.check_run("penstock-train", "predict", *model, "--manifest", self.data, "--split", "all",
                       "-o", self.folder / "p.npz")
        self.assert_among(image, read_npz(self.folder / "p.npz"))

        self.check_run("penstock-train", *self.train_args("--checkpoint-dir", checkpoints, steps=3))

    def train_tiny(self, checkpoints, *args):
        self.check_run("penstock-train", "--manifest", self.data, "--servers", "local:", "--device",
                       "cpu", "--model", "vit-tiny", "--global-batch-size", 8, "--virtual-shards", 2,
                       "--threads", 1, "--steps", 1, "--checkpoint-dir", checkpoints, *args)
        return ["--checkpoint", newest(checkpoints)]

    def test_a_stored_spec_is_evaluated_without_chance(self):
        self.check_run("penstock", "index", self.data, "--holdout", "20%", "--spec", "images-train:72")
        summary = self.folder / "summary.json"
        model = self.train_tiny(self.folder / "c", "--json", summary)
        losses = {json.loads(summary.read_text())["holdout_loss"]}
        for spec in ([], ["--spec", "images-eval:72"], ["--spec", "images-train:72"]):
            losses.add(json.loads(self.check_run("penstock-train", "evaluate", *model, "--manifest",
                                                 self.data, "--json", "-", *spec).stdout)["loss"])
        self.assertEqual(len(losses), 1, losses)

    def test_data_with_other_classes_is_not_evaluated(self):
        model = self.train_tiny(self.folder / "c", "--spec", "images-train:72")
        (self.data / "classes.txt").write_text("\n".join(CLASSES[:2] + CLASSES[3:]) + "\n")
        self.check_run("penstock", "index", self.data, "--holdout", "20%")
        records = [*model, "--manifest", self.data]
        differs = 'class 2 is "cat" in the checkpoint but "dog" in the manifest'
        refused = run("penstock-train", "evaluate", *records)
        self.assertEqual((refused.returncode, differs in refused.stderr), (1, True), refused.stderr)
        self.assertIn(differs, self.check_run("penstock-train", "predict", *records, "-o",
                                              self.folder / "p.npz").stderr)

    def assert_among(self, image, arrays):
        """Checks that a record of the class fox has the probabilities of the image file."""
        flat, labels = arrays["prediction"].values(), arrays["target"].values()
        self.assertEqual(sorted(labels), sorted(list(range(len(CLASSES))) * EACH))
        rows = [flat[i * len(CLASSES):(i + 1) * len(CLASSES)]
                for i, label in enumerate(labels) if label == CLASSES.index("fox")]
        self.assertTrue(any(all(abs(row[likely["class"]] - likely["probability"]) < 1e-6
                                for likely in image["classes"]) for row in rows), (image, rows))


if __name__ == "__main__":
    unittest.main(verbosity=2)
