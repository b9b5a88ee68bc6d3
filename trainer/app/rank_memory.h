// What the ranks of a training keep in memory, on all of them.
#ifndef PENSTOCK_TRAINER_APP_RANK_MEMORY_H_
#define PENSTOCK_TRAINER_APP_RANK_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/comm/communicator.h"
#include "trainer/profile/memory_table.h"

namespace penstock {

// bytes[rank][use], on every rank. kFailedPrecondition: a rank has other uses than this one.
absl::StatusOr<std::vector<std::vector<uint64_t>>> GatherMemory(Communicator& ranks,
                                                                const std::vector<MemoryUse>& own);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RANK_MEMORY_H_
