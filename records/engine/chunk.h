// A loaded chunk: the packed features of its records.
#ifndef PENSTOCK_RECORDS_ENGINE_CHUNK_H_
#define PENSTOCK_RECORDS_ENGINE_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "records/engine/listed_damage.h"
#include "records/engine/page_memory.h"

namespace penstock {

// Row r begins at rows() + r * row_bytes of the layout. Rows of damaged records are undefined.
// Values of variable features follow the last row.
// The chunk loader fills it; afterwards it is immutable. Thread-compatible.
class Chunk {
 public:
  Chunk() = default;
  // Allocates memory for `records` rows and `value_bytes` after them, not initialised. `memory`
  // must outlive the chunk.
  Chunk(PageMemory& memory, uint32_t records, size_t row_bytes, size_t value_bytes)
      : rows_(memory.TakeOwned(records * row_bytes + value_bytes)), num_records_(records) {}
  // Makes a chunk in which no record is sound.
  explicit Chunk(uint32_t records) : num_records_(records) {}

  uint8_t* rows() { return rows_.get(); }
  const uint8_t* rows() const { return rows_.get(); }
  uint32_t num_records() const { return num_records_; }

  uint32_t num_holdout() const { return num_holdout_; }
  bool InHoldout(uint32_t record) const {
    return !holdout_.empty() && (holdout_[record / 64] >> (record % 64) & 1) != 0;
  }
  void SetHoldout(uint32_t record) {
    if (holdout_.empty()) holdout_.resize((num_records_ + 63) / 64);
    holdout_[record / 64] |= uint64_t{1} << (record % 64);
    ++num_holdout_;
  }

  const ListedDamage& damage() const { return damage_; }
  void SetDamage(ListedDamage damage) { damage_ = std::move(damage); }

 private:
  PageMemory::Taken rows_;
  uint32_t num_records_ = 0;
  uint32_t num_holdout_ = 0;
  std::vector<uint64_t> holdout_;  // One bit per record; empty if all are 0.
  ListedDamage damage_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_CHUNK_H_
