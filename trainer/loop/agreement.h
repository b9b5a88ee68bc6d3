// What all ranks do next, decided together.
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

// What a rank has to say before a step.
enum class Intent : uint8_t { kGo, kEnd, kStop, kFailed };

struct Agreed {
  Intent intent;
  std::string why;       // Of kFailed: which rank failed, and with what.
  uint64_t batches = 0;  // Of kGo: that every rank has.
};

// One failed rank fails all, else one that stops stops all. With one rank, what it says.
// `batches`: how many this rank has, from `position` on. kInternal: the ranks are not at the same
// place, naming two that differ.
absl::StatusOr<Agreed> Agree(Communicator& ranks, Intent intent, uint64_t position,
                             const absl::Status& status, uint64_t batches = 0);

// How many batches every rank would begin, of `batches` that this one would from `position` on; 0
// where one would begin none. Unlike Agree() it is no matter then where, or why. Errors as Agree().
absl::StatusOr<uint64_t> AgreeOnBatches(Communicator& ranks, uint64_t position, uint64_t batches);

// kInternal: the state differs between ranks, naming those that do not have rank 0's.
absl::Status CompareStates(Communicator& ranks, const TrainState& state);

// What a rank has to say of the next batch of `input`: kGo, and `batch` is filled; kEnd; kFailed,
// and `status` is why; or kStop, because should_stop() said so, before or while it was waited for:
// the input is closed to interrupt that. An empty `should_stop` never does.
Intent ReadBatch(Input& input, const std::function<bool()>& should_stop, InputBatch& batch,
                 absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOOP_AGREEMENT_H_
