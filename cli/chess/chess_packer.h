// FEN<TAB>score lines to TFRecord shards.
#ifndef PENSTOCK_CLI_CHESS_CHESS_PACKER_H_
#define PENSTOCK_CLI_CHESS_CHESS_PACKER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "records/chess/tsv_line.h"
#include "records/format/compression.h"

namespace penstock {

// Positions in blocks, so that growing never copies them. Not thread-safe.
class PositionStore {
 public:
  void Add(const chess::PackedPosition& position);
  // REQUIRES: index < size().
  const chess::PackedPosition& operator[](uint64_t index) const {
    return blocks_[index / kBlock][index % kBlock];
  }
  uint64_t size() const { return size_; }

 private:
  static constexpr uint64_t kBlock = 4096;
  std::vector<std::vector<chess::PackedPosition>> blocks_;
  uint64_t size_ = 0;
};

struct ReadPositionsResult {
  PositionStore positions;
  uint64_t num_skipped = 0;
  std::string first_skipped;  // "FILE:LINE: reason", empty if none
};

// Reads all `inputs` in order ("-" is standard input). kInvalidArgument names file, line and
// reason of the first invalid line, unless `skip_invalid`. `on_bytes` gets each number of bytes
// read.
absl::StatusOr<ReadPositionsResult> ReadPositions(const std::vector<std::string>& inputs,
                                                  bool skip_invalid,
                                                  const std::function<void(uint64_t)>& on_bytes);

struct ShardOptions {
  std::string folder;
  std::string name;
  Compression compression = Compression::kNone;
  uint64_t records_per_shard = 0;  // 0: see NumShards()
  std::optional<uint64_t> seed;    // of a shuffle of all records; absent: input order
  bool force = false;
};

// ceil(records / records_per_shard). For records_per_shard 0: shards of at most 2^20 records,
// about 240 MB, and at least 4 of them where each would still have 64.
uint64_t NumShards(uint64_t records, uint64_t records_per_shard);

struct WrittenShards {
  std::vector<std::string> paths;
  uint64_t bytes = 0;        // of the files
  uint64_t chunk_bytes = 0;  // framed bytes of a gzip member or zstd frame; 0 uncompressed
};

// What WriteShards() would refuse before it writes; makes the folder.
absl::Status CheckOutput(const ShardOptions& options);

// Writes FOLDER/NAME-00000-of-00004.tfrecord and so on, all of them or none: names are given
// after the last byte is on the disk. Shards of this name that stand there are refused
// (kAlreadyExists) or, with `force`, replaced, and those beyond the new ones removed.
// kResourceExhausted: the disk is full, or there are more shards than files may be open.
// `on_records` gets each number of records written. REQUIRES: positions.size() > 0.
absl::StatusOr<WrittenShards> WriteShards(const PositionStore& positions,
                                          const ShardOptions& options,
                                          const std::function<void(uint64_t)>& on_records);

}  // namespace penstock

#endif  // PENSTOCK_CLI_CHESS_CHESS_PACKER_H_
