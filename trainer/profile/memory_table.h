// What a rank keeps in memory, as a table to be printed before it is taken.
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

// A line each and one of the sum, under `title`: "memory of rank 0".
std::string MemoryTable(const std::string& title, const std::vector<MemoryUse>& uses);

// bytes[rank][use] of several ranks. Up to kRankColumns of them have a column each; of more there
// are the smallest, the largest and whose that is. REQUIRES: as many bytes of each as there are
// uses.
inline constexpr size_t kRankColumns = 8;
std::string RanksMemoryTable(const std::vector<MemoryUse>& uses,
                             const std::vector<std::vector<uint64_t>>& bytes);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_MEMORY_TABLE_H_
