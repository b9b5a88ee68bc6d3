// Runs penstock-train without its command line.
#ifndef PENSTOCK_TRAINER_APP_RUN_H_
#define PENSTOCK_TRAINER_APP_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/app/options.h"
#include "trainer/loop/train_loop.h"

namespace penstock {

struct RunResult {
  // If a signal ended the run before its first step, only `stopped` is set.
  TrainSummary summary;
  int signal = 0;        // Number of the signal that this rank received; 0 if none.
  std::string why = {};  // Names the other rank if such a run ended because of it.
};

// Trains as `options` say, with progress on stderr and results on stdout. Meanwhile blocks SIGINT,
// SIGTERM, SIGHUP and SIGUSR1: they end the training after the step in progress, which is saved.
absl::StatusOr<RunResult> RunTraining(const TrainerOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RUN_H_
