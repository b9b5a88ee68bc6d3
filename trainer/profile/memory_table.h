// The memory use of a rank, as a table that is printed before the memory is taken.
#ifndef PENSTOCK_TRAINER_PROFILE_MEMORY_TABLE_H_
#define PENSTOCK_TRAINER_PROFILE_MEMORY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct MemoryUse {
  std::string what;  // "gradients"
  uint64_t bytes = 0;
  std::string detail;  // "8 virtual shards"
};

// One line per use and one for the sum, under `title`: "memory of rank 0".
std::string MemoryTable(const std::string& title, const std::vector<MemoryUse>& uses);

// bytes[rank][use] of several ranks. Up to kRankColumns ranks get a column each. With more ranks,
// the columns are the smallest value, the largest, and the rank of the largest. REQUIRES: every
// rank has one number per use.
inline constexpr size_t kRankColumns = 8;
std::string RanksMemoryTable(const std::vector<MemoryUse>& uses,
                             const std::vector<std::vector<uint64_t>>& bytes);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_MEMORY_TABLE_H_
