// Shards of random chess-like records, their chunk table, and the expected results of decoding.
#ifndef PENSTOCK_RECORDS_ENGINE_TESTING_CHESS_DATA_H_
#define PENSTOCK_RECORDS_ENGINE_TESTING_CHESS_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/decode_spec.pb.h"
#include "records/decode/program.h"
#include "records/engine/messages.h"
#include "records/format/compression.h"

namespace penstock {

struct ChessRecord {
  std::vector<uint8_t> d;  // 194 bytes.
  int64_t s = 0;
};

struct ChessDataOptions {
  size_t shards = 2;
  size_t chunks_per_shard = 4;
  uint32_t records_per_chunk = 50;
  Compression compression = Compression::kNone;
  uint32_t holdout_threshold = 0;  // The feature `d` decides the split.
  uint64_t seed = 1;
};

// Written once to a folder. Thread-compatible.
class ChessData {
 public:
  // Writes shard-0.tfrecord and so on to `folder`, which must exist.
  ChessData(const std::string& folder, const ChessDataOptions& options);

  const std::vector<ShardRef>& shards() const { return shards_; }
  const std::vector<ChunkRef>& chunks() const { return chunks_; }
  const ChessRecord& record(uint64_t ordinal) const { return records_[ordinal]; }
  uint64_t file_bytes() const;

  StreamOptions Stream(bool record_ids = false) const;
  // A window of these chunks.
  OpenWindow Window(uint64_t number, const std::vector<size_t>& chunks, Split split = Split::kAll,
                    bool shuffle = true, uint64_t key = 0) const;

  bool InHoldout(uint64_t ordinal) const;
  // Returns `rows` of the window in the order of its permutation.
  std::vector<uint64_t> Shuffled(const OpenWindow& window, const std::vector<uint64_t>& rows) const;
  // Returns the window's rows in order, as record ordinals, written out from the definition.
  std::vector<uint64_t> Order(const OpenWindow& window) const;
  // Returns for every ordinal one row of each tensor, concatenated. Ordinals may have
  // kReplacedRecord set.
  std::vector<std::string> Decode(const std::vector<uint64_t>& ordinals, WireDtype dtype,
                                  bool record_ids = false) const;
  // Returns the decoded rows that `fetch` of `window` requests.
  std::vector<std::string> Answer(const OpenWindow& window, const Fetch& fetch,
                                  bool record_ids = false) const;

 private:
  ChessDataOptions options_;
  v1::DecodeSpec spec_;
  std::vector<ShardRef> shards_;
  std::vector<ChunkRef> chunks_;
  std::vector<ChessRecord> records_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_TESTING_CHESS_DATA_H_
