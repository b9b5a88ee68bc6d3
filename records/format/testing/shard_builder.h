// Builds TFRecord shards in memory for tests, valid ones and ones that are damaged in a chosen
// place.
#ifndef PENSTOCK_RECORDS_FORMAT_TESTING_SHARD_BUILDER_H_
#define PENSTOCK_RECORDS_FORMAT_TESTING_SHARD_BUILDER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes_of.h"
#include "base/io/testing/memory_source.h"
#include "records/format/compression.h"
#include "records/format/example_writer.h"
#include "records/format/tfrecord.h"

namespace penstock {

class ShardBuilder {
 public:
  ShardBuilder() = default;
  explicit ShardBuilder(std::initializer_list<std::string> payloads) {
    for (const std::string& payload : payloads) Add(payload);
  }

  void Add(absl::string_view payload) {
    offsets_.push_back(bytes_.size());
    AppendFrame(BytesOf(payload), bytes_);
  }

  // Returns the offset of the frame of `record`, or of the end of the shard if `record` is the
  // number of records.
  size_t OffsetOf(size_t record) const {
    return record < offsets_.size() ? offsets_[record] : bytes_.size();
  }

  void FlipBitInLength(size_t record) { Flip(OffsetOf(record)); }
  void FlipBitInLengthCrc(size_t record) { Flip(OffsetOf(record) + 8); }
  void FlipBitInPayload(size_t record) { Flip(OffsetOf(record) + kFrameHeaderBytes); }
  void FlipBitInPayloadCrc(size_t record) { Flip(OffsetOf(record + 1) - 1); }
  void CutTo(size_t size) { bytes_.resize(size); }
  // Replaces the bytes by one gzip member or zstd frame that holds them.
  void Compress(Compression compression) {
    std::vector<uint8_t> out;
    if (!CompressMember(compression, bytes_, out).ok()) abort();
    bytes_ = std::move(out);
  }

  const std::vector<uint8_t>& bytes() const { return bytes_; }
  std::string text() const { return {bytes_.begin(), bytes_.end()}; }
  // Returns a snapshot, valid until the next call of source().
  const ByteSource& source() {
    source_ = std::make_shared<MemorySource>("shard", bytes_);
    return *source_;
  }

 private:
  void Flip(size_t offset) { bytes_[offset] ^= 0x10; }

  std::vector<uint8_t> bytes_;
  std::vector<size_t> offsets_;
  std::shared_ptr<MemorySource> source_;  // Copies of the builder share the snapshot.
};

// An Example shaped like a chess record: `d` with `board_bytes` bytes that depend on `number`, and
// `s`.
inline std::string ChessExample(uint64_t number, int64_t score, size_t board_bytes = 194) {
  std::vector<uint8_t> board(board_bytes);
  for (size_t i = 0; i < board.size(); ++i) {
    board[i] = static_cast<uint8_t>((number + 1) * (i + 7) * 2654435761u >> 24);
  }
  ExampleBuilder builder;
  builder.AddBytes("d", board);
  builder.AddInt64("s", std::span(&score, 1));
  std::span<const uint8_t> bytes = builder.Serialize();
  return {bytes.begin(), bytes.end()};
}

// A shard of `records` chess examples, numbered from `first` on.
inline ShardBuilder ChessShard(int records, int first = 0) {
  ShardBuilder shard;
  for (int i = first; i < first + records; ++i) {
    shard.Add(ChessExample(static_cast<uint64_t>(i), i - 50));
  }
  return shard;
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_TESTING_SHARD_BUILDER_H_
