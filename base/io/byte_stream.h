// Bytes that are read once, from beginning to end.
#ifndef PENSTOCK_BASE_IO_BYTE_STREAM_H_
#define PENSTOCK_BASE_IO_BYTE_STREAM_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"

namespace penstock {

// Not thread-safe.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Fills the front of `out` and returns the number of bytes read. If `out` is not empty, 0 means
  // the end of the stream.
  virtual absl::StatusOr<size_t> Read(std::span<uint8_t> out) = 0;
};

// Streams a range of a source. Does not read ahead.
class SourceStream : public ByteStream {
 public:
  // `source` must outlive the stream. REQUIRES: the source contains [begin, end).
  SourceStream(const ByteSource& source, uint64_t begin, uint64_t end)
      : source_(source), at_(begin), end_(end) {}
  explicit SourceStream(const ByteSource& source) : SourceStream(source, 0, source.size()) {}

  absl::StatusOr<size_t> Read(std::span<uint8_t> out) override {
    const size_t bytes = std::min<uint64_t>(out.size(), end_ - at_);
    if (absl::Status status = source_.ReadAt(at_, out.first(bytes)); !status.ok()) return status;
    at_ += bytes;
    return bytes;
  }

 private:
  const ByteSource& source_;
  uint64_t at_;
  const uint64_t end_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_BYTE_STREAM_H_
