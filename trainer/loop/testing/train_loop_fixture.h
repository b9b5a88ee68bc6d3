// One rank's training on records in memory, for tests.
#ifndef PENSTOCK_TRAINER_LOOP_TESTING_TRAIN_LOOP_FIXTURE_H_
#define PENSTOCK_TRAINER_LOOP_TESTING_TRAIN_LOOP_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/temp_folder.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/input/board_reader.h"
#include "trainer/input/testing/memory_input.h"
#include "trainer/loop/train_loop.h"
#include "trainer/model/initialize.h"

namespace penstock {

inline const ModelConfig kModel{"small", 1, 32, 2, 32};

inline std::unique_ptr<CpuBackend> MakeBackend(size_t threads = 2) {
  auto backend = CpuBackend::Create(kModel, {.threads = threads}).value();
  InitializeParameters(backend->table(), 5, backend->state().parameters);
  return backend;
}

class TrainLoopTest : public testing::Test {
 protected:
  // Trains `backend` on the records after `info`'s cursor.
  absl::StatusOr<TrainSummary> Train(CpuBackend& backend, TrainLoopOptions options,
                                     CheckpointInfo info = {.model = kModel}) {
    MemoryInput input(/*records=*/128, /*batch_size=*/16, /*seed=*/1, info.cursor);
    return TrainLoop(backend, reader_, input, std::move(info), std::move(options)).Run();
  }
  TrainLoopOptions WithHoldout(TrainLoopOptions options = {}) {
    options.open_holdout = []() -> absl::StatusOr<std::unique_ptr<Input>> {
      return std::make_unique<MemoryInput>(/*records=*/37, /*batch_size=*/16, /*seed=*/9);
    };
    return options;
  }

  const TempFolder temp_;
  const std::string folder_ = temp_.File("checkpoints");
  BoardReader reader_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOOP_TESTING_TRAIN_LOOP_FIXTURE_H_
