// The records of a chunk that servers agreed are damaged.
#ifndef PENSTOCK_RECORDS_ENGINE_LISTED_DAMAGE_H_
#define PENSTOCK_RECORDS_ENGINE_LISTED_DAMAGE_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "records/engine/messages.h"

namespace penstock {

// The list decides, not the bytes: a listed record is ignored even if it is sound, so that servers
// whose copies differ give the same rows. Plain data.
struct ListedDamage {
  std::vector<uint32_t> records;  // Ascending, all below `rest`.
  // This record and all later ones in the chunk are damaged too.
  uint32_t rest = std::numeric_limits<uint32_t>::max();

  bool empty() const { return records.empty() && rest == std::numeric_limits<uint32_t>::max(); }
  bool Contains(uint32_t record) const;
  // Returns how many of the first `num_records` records are listed.
  uint32_t Count(uint32_t num_records) const;

  friend bool operator==(const ListedDamage&, const ListedDamage&) = default;
};

// Sorts window.damaged as DamageOf() requires.
void SortDamage(OpenWindow& window);

// Returns the damage that `window` lists for chunks[chunk]. REQUIRES: SortDamage() was called.
ListedDamage DamageOf(const OpenWindow& window, uint32_t chunk);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_LISTED_DAMAGE_H_
