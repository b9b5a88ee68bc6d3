// A record's payload becomes a packed row.
#ifndef PENSTOCK_RECORDS_ENGINE_RECORD_PACKER_H_
#define PENSTOCK_RECORDS_ENGINE_RECORD_PACKER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "records/engine/chunk_layout.h"
#include "records/format/feature_finder.h"

namespace penstock {

// Not thread-safe: one per thread.
class RecordPacker {
 public:
  // kInvalidArgument: the layout cannot be: an unnamed feature, a holdout feature that the program
  // reads as numbers.
  static absl::StatusOr<RecordPacker> Create(const ChunkLayout& layout);

  // Writes layout.row_bytes() bytes to `row` and says whether the record is held out.
  // kDataLoss: no tf.train.Example; kInvalidArgument: a feature is missing or of another type or
  // length.
  absl::StatusOr<bool> Pack(std::span<const uint8_t> payload, uint8_t* row);

 private:
  // A feature's bytes in the row, and which value of its type it is.
  struct Copy {
    FeatureType type;
    size_t slot;
    size_t offset;
    size_t size;
  };

  RecordPacker(FeatureFinder finder, const ChunkLayout& layout);

  FeatureFinder finder_;
  FoundFeatures found_;
  std::vector<Copy> copies_;
  std::optional<size_t> holdout_slot_;
  uint32_t holdout_threshold_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_RECORD_PACKER_H_
