"""Tests penstock-train predict and evaluate: a checkpoint's model on positions and on records."""

import json
import subprocess
import unittest

from npy import read_npz
from processes import REPOSITORY
from training import TrainingTestCase

PYTHON = REPOSITORY / "build" / "python" / "bin" / "python3"  # .ci/python.sh makes it.

# Prints {name: [dtype, shape, sum of the bytes]} of an .npz file, with NumPy.
NUMPY_SHOW = """
import json, sys
import numpy
arrays = numpy.load(sys.argv[1])
print(json.dumps({name: [a.dtype.str, list(a.shape), sum(a.tobytes())] for name, a in arrays.items()}))
"""


def has_numpy():
    return PYTHON.exists() and subprocess.run(
        [PYTHON, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0


START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
AFTER_E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"


class PredictTest(TrainingTestCase):
    def setUp(self):
        super().setUp()
        self.train("--checkpoint-dir", self.folder / "a", steps=4)
        self.model = self.checkpoints("a")[-1]

    def predict(self, *args):
        return self.check_run("penstock-train", "predict", "--checkpoint", self.model, *args).stdout

    def test_positions_are_scored_in_order_and_alone_as_together(self):
        both = json.loads(self.predict("--fen", START, "--fen", AFTER_E4, "--json", "-"))
        self.assertEqual([position["fen"] for position in both], [START, AFTER_E4])
        self.assertNotEqual(both[0]["score"], both[1]["score"])
        for position in both:
            self.assertLess(abs(position["score"]), 1)
            alone = json.loads(self.predict("--fen", position["fen"], "--json", "-"))
            self.assertAlmostEqual(alone[0]["score"], position["score"], delta=1e-6)
        lines = self.predict("--fen", START, "--fen", AFTER_E4).splitlines()
        self.assertEqual(lines[1], f"score {both[1]['score']:+.4f}, "
                                   f"{both[1]['centipawns']:+.0f} centipawns: {AFTER_E4}")

    def test_the_records_of_a_manifest_are_evaluated_and_predicted(self):
        trained = json.loads((self.folder / "summary.json").read_text())
        records = ["--checkpoint", self.model, "--manifest", self.manifest]
        evaluation = json.loads(self.check_run("penstock-train", "evaluate", *records, "--json", "-").stdout)
        self.assertEqual(evaluation, {"records": trained["holdout_records"],
                                      "loss": trained["holdout_loss"],
                                      "baseline": trained["holdout_baseline"],
                                      "own_mean_baseline": trained["holdout_own_mean_baseline"]})
        server = self.start_server()
        for flags in ([], ["--servers", server.address, "--dtype", "i8"]):
            output = self.folder / "p.npz"
            out = self.check_run("penstock-train", "predict", *records, "-o", output, *flags).stdout
            self.assertEqual(out, f"{output}: predictions of {evaluation['records']} records\n")
            shape = [evaluation["records"]]
            for name in ("-", self.folder / "p.json"):
                out = self.check_run("penstock-train", "predict", *records, "-o", output, *flags,
                                     "--json", name).stdout
                text = out if name == "-" else name.read_text()
                self.assertEqual(json.loads(text), {
                    "records": shape[0], "output": str(output),
                    "shapes": {"record_id": shape, "prediction": shape, "target": shape}})
            arrays = read_npz(output)
            scores, targets = arrays["prediction"].values(), arrays["target"].values()
            errors = [(score - target) ** 2 for score, target in zip(scores, targets)]
            self.assertAlmostEqual(sum(errors) / len(errors), evaluation["loss"], delta=1e-9)
            self.assertEqual(len(set(arrays["record_id"].values())), evaluation["records"])

    @unittest.skipUnless(has_numpy(), "NumPy is not installed: run .ci/python.sh")
    def test_numpy_reads_the_predictions(self):
        output = self.folder / "p.npz"
        self.predict("--manifest", self.manifest, "-o", output)
        result = subprocess.run([PYTHON, "-c", NUMPY_SHOW, output], check=True, capture_output=True,
                                text=True)
        ours = read_npz(output)
        self.assertEqual(json.loads(result.stdout),
                         {name: [a.dtype, a.shape, sum(a.bytes)] for name, a in ours.items()})

    def test_what_is_no_position_or_no_checkpoint_is_named(self):
        predict = ["predict", "--checkpoint", self.model]
        self.assert_fails(*predict, "--fen", START, "--fen", "8/8/8/8/8/8/8/8 w - - 0 1",
                          says=["--fen 2", "king"], code=1)
        self.assert_fails("predict", "--checkpoint", self.folder / "none", "--fen", START,
                          says=["none"], code=1)
        self.assert_fails(*predict, says=["give exactly one of --fen, --image and DATASET"], code=2)
        self.assert_fails(*predict, "--fen", START, "--manifest", self.manifest, says=["give exactly one of"], code=2)
        self.assert_fails(*predict, "--image", "a.png", says=["which scores positions and cannot read --image: give --fen"], code=1)
        self.assert_fails("evaluate", "--checkpoint", self.model, says=["no dataset given"], code=2)
        self.assert_fails("evaluate", "--checkpoint", self.model, "--manifest", self.manifest,
                          "--look-ahead", "many", says=["--look-ahead"], code=2)
        self.assert_fails("evaluate", "--checkpoint", self.model, "--manifest", self.manifest,
                          "--confusion-matrix", self.folder / "a.png", code=1,
                          says=["--confusion-matrix: the checkpoint's model tiny scores positions"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
