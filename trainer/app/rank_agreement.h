// Settings that the ranks of a training compare, and values that they share, before the first step.
#ifndef PENSTOCK_TRAINER_APP_RANK_AGREEMENT_H_
#define PENSTOCK_TRAINER_APP_RANK_AGREEMENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/comm/communicator.h"
#include "trainer/profile/memory_table.h"

namespace penstock {

// Names and values that must be equal on all ranks.
using SharedSettings = std::map<std::string, std::string>;

// Returns the options of a printed configuration (--print-config) that must be equal on all ranks.
// Leaves out paths, addresses and other options that may differ.
SharedSettings SharedOptions(absl::string_view config);

// kInvalidArgument on every rank: a setting differs from rank 0's; the message has both values and
// the rank.
absl::Status CompareSettings(Communicator& ranks, const SharedSettings& own);

// Copies rank 0's training state to every rank.
absl::Status ShareTraining(Communicator& ranks, const ParameterTable& table, CheckpointInfo& info,
                           TrainState& state);

// Returns bytes[rank][use] on every rank. kFailedPrecondition: a rank has other uses than this one.
absl::StatusOr<std::vector<std::vector<uint64_t>>> GatherMemory(Communicator& ranks,
                                                                const std::vector<MemoryUse>& own);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RANK_AGREEMENT_H_
