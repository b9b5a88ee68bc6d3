// A record's payload becomes a packed row.
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

// Not thread-safe: one per thread.
class RecordPacker {
 public:
  // kInvalidArgument: the layout cannot be.
  static absl::StatusOr<RecordPacker> Create(const ChunkLayout& layout);

  // Writes layout.row_bytes() bytes to `row`, the values of variable features from `values` on, and
  // says whether the record is held out; `values` then points behind them. They take no more than
  // the payload. REQUIRES: `values` lies behind `row`, in the same memory.
  // kDataLoss: no tf.train.Example; kInvalidArgument: a feature is missing or of another type or
  // count.
  absl::StatusOr<bool> Pack(std::span<const uint8_t> payload, uint8_t* row, uint8_t*& values);

 private:
  // Bytes in the row, and which value of their type is the first of them.
  struct Copy {
    FeatureType type;
    size_t slot;
    size_t offset;
    size_t size;
  };
  // A variable feature's entry in the row.
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
