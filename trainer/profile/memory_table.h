// What a rank keeps in memory, as a table to be printed before it is taken.
#ifndef PENSTOCK_TRAINER_PROFILE_MEMORY_TABLE_H_
#define PENSTOCK_TRAINER_PROFILE_MEMORY_TABLE_H_

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

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_MEMORY_TABLE_H_
