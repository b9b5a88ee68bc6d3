// Decisions that all ranks make together.
#ifndef PENSTOCK_TRAINER_LOOP_AGREEMENT_H_
#define PENSTOCK_TRAINER_LOOP_AGREEMENT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/backend/train_state.h"
#include "trainer/comm/communicator.h"
#include "trainer/input/input.h"

namespace penstock {

// A rank's state before a step.
enum class Intent : uint8_t { kGo, kEnd, kStop, kFailed };

struct Agreed {
  Intent intent;
  std::string why;       // Names the rank that failed and the reason; set with kFailed.
  uint64_t batches = 0;  // The number that every rank has; set with kGo.
};

// One failed rank fails all; else one stopping rank stops all. With a single rank, returns its own
// intent. `batches` is the number that this rank has, from `position` on. kInternal: the ranks are
// at different positions; the message names two of them.
absl::StatusOr<Agreed> Agree(Communicator& ranks, Intent intent, uint64_t position,
                             const absl::Status& status, uint64_t batches = 0);

// Returns the number of batches that every rank would begin. `batches` is that of this rank, from
// `position` on. If any rank would begin none, the result is 0, and unlike in Agree() its position
// and reason do not matter. Errors are those of Agree().
absl::StatusOr<uint64_t> AgreeOnBatches(Communicator& ranks, uint64_t position, uint64_t batches);

// kInternal: the state differs between ranks; the message names those that differ from rank 0.
absl::Status CompareStates(Communicator& ranks, const TrainState& state);

// Reads the next batch of `input`. Returns kGo if `batch` is filled, kEnd at the end, and kFailed
// if `status` has an error. Returns kStop if should_stop() returned true before the wait for the
// batch, or after the input was closed to interrupt that wait. An empty `should_stop` never stops.
Intent ReadBatch(Input& input, const std::function<bool()>& should_stop, InputBatch& batch,
                 absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOOP_AGREEMENT_H_
