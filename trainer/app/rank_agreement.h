// What the ranks of a training compare and share before its first step.
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

// What must be equal on all ranks: names and values.
using SharedSettings = std::map<std::string, std::string>;

// The options of a printed configuration (--print-config) that ranks may not differ in. Paths,
// addresses and the like may.
SharedSettings SharedOptions(absl::string_view config);

// kInvalidArgument on every rank: one that differs from rank 0's, with both values and the rank.
absl::Status CompareSettings(Communicator& ranks, const SharedSettings& own);

// Rank 0's become every rank's.
absl::Status ShareTraining(Communicator& ranks, const ParameterTable& table, CheckpointInfo& info,
                           TrainState& state);

// bytes[rank][use], on every rank. kFailedPrecondition: a rank has other uses than this one.
absl::StatusOr<std::vector<std::vector<uint64_t>>> GatherMemory(Communicator& ranks,
                                                                const std::vector<MemoryUse>& own);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RANK_AGREEMENT_H_
