// Defines which bytes of a record the chunk store keeps.
#ifndef PENSTOCK_RECORDS_ENGINE_CHUNK_LAYOUT_H_
#define PENSTOCK_RECORDS_ENGINE_CHUNK_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "records/decode/program.h"

namespace penstock {

// A row has the features of a decode program one after the other, in their order, with numbers in
// little-endian. For a variable feature it has an entry (variable_entry.h), whose bytes follow the
// rows of the chunk. All rows have the same length, so no index is needed to find one.
// Immutable; thread-safe.
class ChunkLayout {
 public:
  // `holdout_feature` decides the split; if it is empty, the whole payload does. It is stored only
  // if the program uses it too. `holdout_threshold` is the held-out share times 2^32; 0 means no
  // holdout.
  ChunkLayout(std::span<const FeatureUse> features, std::string holdout_feature,
              uint32_t holdout_threshold);

  std::span<const FeatureUse> features() const { return features_; }
  size_t row_bytes() const { return row_bytes_; }
  // Offset of feature i in a row, in bytes.
  size_t feature_offset(size_t i) const { return offsets_[i]; }

  // Whether records are split at all.
  bool has_holdout() const { return holdout_threshold_ > 0; }
  const std::string& holdout_feature() const { return holdout_feature_; }
  uint32_t holdout_threshold() const { return holdout_threshold_; }

  // Identifies the layout: equal for layouts that store the same bytes and split records in the
  // same way.
  const std::string& key() const { return key_; }

  // Upper bound for the bytes that values of variable features take in a chunk of `raw_bytes`
  // decompressed bytes. They are stored as the records encode them.
  uint64_t ValueBytes(uint64_t raw_bytes) const { return has_variable_ ? raw_bytes : 0; }

  // Memory in bytes of a chunk with this many records and decompressed bytes. Saturates.
  uint64_t ChunkBytes(uint64_t records, uint64_t raw_bytes) const;

 private:
  std::vector<FeatureUse> features_;
  std::vector<size_t> offsets_;
  size_t row_bytes_ = 0;
  bool has_variable_ = false;
  std::string holdout_feature_;
  uint32_t holdout_threshold_;
  std::string key_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_CHUNK_LAYOUT_H_
