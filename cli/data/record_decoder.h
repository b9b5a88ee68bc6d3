// Decodes records that this process reads, in the same way as an engine.
#ifndef PENSTOCK_CLI_DATA_RECORD_DECODER_H_
#define PENSTOCK_CLI_DATA_RECORD_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "records/decode/program.h"
#include "records/engine/record_packer.h"
#include "records/image/image_transform.h"

namespace penstock {

// Collects rows of features and decodes them in blocks. Not thread-safe.
class RecordDecoder {
 public:
  // Creates a decoder whose first record has ordinal 0.
  static absl::StatusOr<RecordDecoder> Create(const Program& program,
                                              uint64_t augmentation_key = 0);

  // Adds a record. Copies its features, so the payload may be freed. kDataLoss: it is not a
  // tf.train.Example. kInvalidArgument: a feature is missing or has another type or count.
  absl::Status Add(std::span<const uint8_t> payload);

  // Number of records that were added since the last Decode().
  size_t pending() const { return pending_; }
  // Decodes the pending records: blocks()[t] then has their rows of tensor t, and nothing is
  // pending. An error names the row, counted from the first record of all.
  absl::Status Decode();
  // Adds and decodes one record, which gets this ordinal. Ordinals of later records continue from
  // there. An error does not name the record. REQUIRES: nothing is pending.
  absl::Status DecodeOne(std::span<const uint8_t> payload, uint64_t ordinal);

  std::span<const std::vector<uint8_t>> blocks() const { return blocks_; }
  const Program& program() const { return program_; }

 private:
  RecordDecoder(const Program& program, uint64_t augmentation_key, ChunkLayout layout,
                RecordPacker packer);

  // Returns the first pending row that failed, if any.
  std::optional<DecodeFailure> DecodePending();

  Program program_;
  uint64_t augmentation_key_;
  // A pointer, so that moving does not change its address.
  std::unique_ptr<ImageTransform> images_ = std::make_unique<ImageTransform>();
  ChunkLayout layout_;
  RecordPacker packer_;
  std::vector<std::vector<uint8_t>> rows_;  // Only the first pending_ rows are in use.
  size_t pending_ = 0;
  uint64_t decoded_ = 0;
  std::vector<std::vector<uint8_t>> blocks_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_RECORD_DECODER_H_
