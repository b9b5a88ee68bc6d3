// penstock-train without its command line.
#ifndef PENSTOCK_TRAINER_APP_RUN_H_
#define PENSTOCK_TRAINER_APP_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/app/options.h"
#include "trainer/loop/train_loop.h"

namespace penstock {

struct RunResult {
  // Of a run that a signal ended before its first step: only that it stopped.
  TrainSummary summary;
  int signal = 0;        // That this rank got; 0: none.
  std::string why = {};  // Of such a run, where it is not this rank's signal alone: of which rank.
};

// Trains as `options` say; progress on stderr, results on stdout. Blocks SIGINT, SIGTERM and
// SIGUSR1 meanwhile: they end the training after the step in progress, saved.
absl::StatusOr<RunResult> RunTraining(const TrainerOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RUN_H_
