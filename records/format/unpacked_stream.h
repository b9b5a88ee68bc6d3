// Streams the bytes of a file that may be compressed.
#ifndef PENSTOCK_RECORDS_FORMAT_UNPACKED_STREAM_H_
#define PENSTOCK_RECORDS_FORMAT_UNPACKED_STREAM_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/io/byte_source.h"
#include "base/io/byte_stream.h"
#include "records/format/compression.h"

namespace penstock {

// Detects gzip and zstd, and decompresses them. Reads ahead 1 MiB of compressed bytes. Not
// thread-safe.
class UnpackedStream : public ByteStream {
 public:
  // `source` must outlive the stream.
  explicit UnpackedStream(const ByteSource& source) : source_(source) {}

  // Like ByteStream::Read().
  // kDataLoss: the file is damaged or truncated. The message has the file and the compressed byte.
  // kResourceExhausted: as for Decompressor::Step().
  absl::StatusOr<size_t> Read(std::span<uint8_t> out) override;

  // Valid after the first call of Read().
  Compression compression() const { return compression_; }

 private:
  absl::Status Start();
  absl::StatusOr<size_t> ReadPlain(std::span<uint8_t> out);
  absl::StatusOr<size_t> ReadCompressed(std::span<uint8_t> out);
  absl::Status FillInput();
  void PassPadding();
  absl::Status Step(std::span<uint8_t>& out);

  const ByteSource& source_;
  bool started_ = false;
  Compression compression_ = Compression::kNone;
  std::optional<Decompressor> decompressor_;
  std::vector<uint8_t> input_;  // Compressed bytes; those from input_begin_ on are unread.
  size_t input_begin_ = 0;
  bool inside_member_ = false;
  uint64_t read_ = 0;  // Bytes that were read from the source.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_UNPACKED_STREAM_H_
