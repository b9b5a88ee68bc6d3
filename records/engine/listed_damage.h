// Records of a chunk that servers agreed are damaged.
#ifndef PENSTOCK_RECORDS_ENGINE_LISTED_DAMAGE_H_
#define PENSTOCK_RECORDS_ENGINE_LISTED_DAMAGE_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "records/engine/messages.h"

namespace penstock {

// The list counts, not the bytes: a listed record is not looked at even where it is sound, so that
// servers whose copies differ give the same rows. Plain data.
struct ListedDamage {
  std::vector<uint32_t> records;  // Ascending, below `rest`.
  // It and all that follow in the chunk are damaged too.
  uint32_t rest = std::numeric_limits<uint32_t>::max();

  bool empty() const { return records.empty() && rest == std::numeric_limits<uint32_t>::max(); }
  bool Contains(uint32_t record) const;
  // Of the first `num_records`.
  uint32_t Count(uint32_t num_records) const;

  friend bool operator==(const ListedDamage&, const ListedDamage&) = default;
};

// Puts window.damaged into the order that DamageOf() needs.
void SortDamage(OpenWindow& window);

// What `window` lists of chunks[chunk]. REQUIRES: SortDamage() was called.
ListedDamage DamageOf(const OpenWindow& window, uint32_t chunk);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_LISTED_DAMAGE_H_
