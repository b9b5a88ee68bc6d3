// Packs the payload of a record into a row.
#ifndef PENSTOCK_RECORDS_ENGINE_RECORD_PACKER_H_
#define PENSTOCK_RECORDS_ENGINE_RECORD_PACKER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "records/dataset/holdout_rule.h"
#include "records/engine/chunk_layout.h"
#include "records/format/feature_finder.h"

namespace penstock {

// Not thread-safe: keep one for each thread.
class RecordPacker {
 public:
  // kInvalidArgument: the layout is impossible.
  static absl::StatusOr<RecordPacker> Create(const ChunkLayout& layout);

  // Writes layout.row_bytes() bytes to `row`, and the values of variable features to `values`,
  // which then points past them. They take at most as many bytes as the payload. Returns whether
  // the record is held out. REQUIRES: `values` is after `row` in the same memory.
  // kDataLoss: the payload is no tf.train.Example.
  // kInvalidArgument: a feature is missing, or has another type or count.
  absl::StatusOr<bool> Pack(std::span<const uint8_t> payload, uint8_t* row, uint8_t*& values);

 private:
  // Bytes in the row, and the slot of their first value in FoundFeatures.
  struct Copy {
    FeatureType type;
    size_t slot;
    size_t offset;
    size_t size;
  };
  // The entry of a variable feature in the row.
  struct VariableCopy {
    size_t slot;
    size_t offset;
    bool list_of_bytes;
  };

  RecordPacker(FeatureFinder finder, const ChunkLayout& layout, std::optional<HoldoutRule> holdout);
  void AddCopy(const Copy& copy);

  FeatureFinder finder_;
  FoundFeatures found_;
  std::vector<Copy> copies_;
  std::vector<VariableCopy> variable_copies_;
  std::optional<HoldoutRule> holdout_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_RECORD_PACKER_H_
