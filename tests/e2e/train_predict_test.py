"""penstock-train predict: a checkpoint's model on positions."""

import json
import unittest

from training import TrainingTestCase

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
        both = json.loads(self.predict("--fen", START, "--fen", AFTER_E4, "--json"))
        self.assertEqual([position["fen"] for position in both], [START, AFTER_E4])
        self.assertNotEqual(both[0]["score"], both[1]["score"])
        for position in both:
            self.assertLess(abs(position["score"]), 1)
            alone = json.loads(self.predict("--fen", position["fen"], "--json"))
            self.assertAlmostEqual(alone[0]["score"], position["score"], delta=1e-6)
        lines = self.predict("--fen", START, "--fen", AFTER_E4).splitlines()
        self.assertEqual(lines[1], f"score {both[1]['score']:+.4f}, "
                                   f"{both[1]['centipawns']:+.0f} centipawns: {AFTER_E4}")

    def test_what_is_no_position_or_no_checkpoint_is_named(self):
        predict = ["predict", "--checkpoint", self.model]
        self.assert_fails(*predict, "--fen", START, "--fen", "8/8/8/8/8/8/8/8 w - - 0 1",
                          says=["--fen 2", "king"], code=1)
        self.assert_fails("predict", "--checkpoint", self.folder / "none", "--fen", START,
                          says=["none"], code=1)
        self.assert_fails(*predict, says=["--fen"], code=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
