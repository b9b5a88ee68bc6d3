// Decodes records that were read here, as an engine does.
#ifndef PENSTOCK_CLI_DATA_RECORD_DECODER_H_
#define PENSTOCK_CLI_DATA_RECORD_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "records/decode/program.h"
#include "records/engine/record_packer.h"

namespace penstock {

// Collects rows of features and decodes them in blocks. Not thread-safe.
class RecordDecoder {
 public:
  static absl::StatusOr<RecordDecoder> Create(const Program& program);

  // Keeps the record's features; the payload may go. kDataLoss: no tf.train.Example;
  // kInvalidArgument: a feature is missing or of another type or count.
  absl::Status Add(std::span<const uint8_t> payload);

  // How many were added since the last Decode().
  size_t pending() const { return pending_; }
  // Decodes these: blocks()[t] then has their rows of tensor t, and nothing is pending. An error
  // names the row, counted from the first record of all.
  absl::Status Decode();

  std::span<const std::vector<uint8_t>> blocks() const { return blocks_; }
  const Program& program() const { return program_; }
  const DecodeCounters& counters() const { return counters_; }

 private:
  RecordDecoder(const Program& program, ChunkLayout layout, RecordPacker packer);

  Program program_;
  ChunkLayout layout_;
  RecordPacker packer_;
  std::vector<std::vector<uint8_t>> rows_;  // The first pending_ are in use.
  size_t pending_ = 0;
  uint64_t decoded_ = 0;
  std::vector<std::vector<uint8_t>> blocks_;
  DecodeCounters counters_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_RECORD_DECODER_H_
