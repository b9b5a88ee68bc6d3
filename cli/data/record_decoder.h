// Decodes records that were read here, as an engine does.
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
  // The first record has ordinal 0.
  static absl::StatusOr<RecordDecoder> Create(const Program& program,
                                              uint64_t augmentation_key = 0);

  // Keeps the record's features; the payload may go. kDataLoss: no tf.train.Example;
  // kInvalidArgument: a feature is missing or of another type or count.
  absl::Status Add(std::span<const uint8_t> payload);

  // How many were added since the last Decode().
  size_t pending() const { return pending_; }
  // Decodes these: blocks()[t] then has their rows of tensor t, and nothing is pending. An error
  // names the row, counted from the first record of all.
  absl::Status Decode();
  // Adds and decodes one record alone, with this ordinal; an error does not name it. Ordinals go on
  // from there. REQUIRES: nothing is pending.
  absl::Status DecodeOne(std::span<const uint8_t> payload, uint64_t ordinal);

  std::span<const std::vector<uint8_t>> blocks() const { return blocks_; }
  const Program& program() const { return program_; }

 private:
  RecordDecoder(const Program& program, uint64_t augmentation_key, ChunkLayout layout,
                RecordPacker packer);

  // The first of the pending rows that failed, if one did.
  std::optional<DecodeFailure> DecodePending();

  Program program_;
  uint64_t augmentation_key_;
  std::unique_ptr<ImageTransform> images_ = std::make_unique<ImageTransform>();  // At one place.
  ChunkLayout layout_;
  RecordPacker packer_;
  std::vector<std::vector<uint8_t>> rows_;  // The first pending_ are in use.
  size_t pending_ = 0;
  uint64_t decoded_ = 0;
  std::vector<std::vector<uint8_t>> blocks_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_RECORD_DECODER_H_
