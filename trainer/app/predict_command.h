// penstock-train predict: what a checkpoint's model says of positions.
#ifndef PENSTOCK_TRAINER_APP_PREDICT_COMMAND_H_
#define PENSTOCK_TRAINER_APP_PREDICT_COMMAND_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

struct PredictOptions {
  std::string checkpoint;
  std::vector<std::string> fens;
  bool json = false;
};

// `options` must outlive `app`.
void AddPredictOptions(CLI::App& app, PredictOptions& options);

// The model's score of each position, in order: as trained on, in (-1, 1).
// kInvalidArgument: a FEN that is none, by its number and with the reason; an error of
// LoadCheckpoint().
absl::StatusOr<std::vector<float>> Predict(const std::string& checkpoint,
                                           const std::vector<std::string>& fens);

// Prints a line a position, or JSON.
absl::Status RunPredict(const PredictOptions& options);

// The centipawns that have this score by the formula of docs/reference/decode_spec.md with its
// default numbers (A = 0.8, K = 400); beyond +-1,600 they are +-1,600: there scores mean mates.
double CentipawnsOf(float score);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_PREDICT_COMMAND_H_
