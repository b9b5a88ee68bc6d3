#include "trainer/app/rank_memory.h"

#include <span>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/comm/gather.h"

namespace penstock {

absl::StatusOr<std::vector<std::vector<uint64_t>>> GatherMemory(Communicator& ranks,
                                                                const std::vector<MemoryUse>& own) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint64_t> counts,
                            GatherOne<uint64_t>(ranks, own.size()));
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] == counts[0]) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank, " lists ", counts[rank], " uses of memory and rank 0 ",
                     counts[0], ": they are no ranks of one build on one kind of device"));
  }
  std::vector<std::vector<uint64_t>> bytes(ranks.size(), std::vector<uint64_t>(own.size()));
  for (size_t use = 0; use < own.size(); ++use) bytes[ranks.rank()][use] = own[use].bytes;
  std::vector<std::span<uint8_t>> parts;
  for (std::vector<uint64_t>& of_rank : bytes) parts.push_back(AsBytes(std::span(of_rank)));
  PENSTOCK_RETURN_IF_ERROR(ranks.AllGather(parts));
  return bytes;
}

}  // namespace penstock
