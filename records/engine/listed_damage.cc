#include "records/engine/listed_damage.h"

#include <algorithm>

namespace penstock {

bool ListedDamage::Contains(uint32_t record) const {
  return record >= rest || std::binary_search(records.begin(), records.end(), record);
}

uint32_t ListedDamage::Count(uint32_t num_records) const {
  return static_cast<uint32_t>(records.size()) + (rest < num_records ? num_records - rest : 0);
}

void SortDamage(OpenWindow& window) {
  std::ranges::sort(window.damaged, {}, [](const DamagedRecord& damaged) {
    return uint64_t{damaged.chunk} << 32 | damaged.record;
  });
}

ListedDamage DamageOf(const OpenWindow& window, uint32_t chunk) {
  ListedDamage result;
  auto it = std::ranges::lower_bound(window.damaged, chunk, {}, &DamagedRecord::chunk);
  for (; it != window.damaged.end() && it->chunk == chunk; ++it) {
    if (it->rest_of_chunk) {
      result.rest = it->record;
      if (!result.records.empty() && result.records.back() == it->record) {
        result.records.pop_back();
      }
      break;
    }
    if (result.records.empty() || result.records.back() != it->record) {
      result.records.push_back(it->record);
    }
  }
  return result;
}

}  // namespace penstock
