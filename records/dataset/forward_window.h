// Reads a source from front to back through one buffer.
#ifndef PENSTOCK_RECORDS_DATASET_FORWARD_WINDOW_H_
#define PENSTOCK_RECORDS_DATASET_FORWARD_WINDOW_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"
#include "base/status.h"

namespace penstock {

// Not thread-safe.
class ForwardWindow {
 public:
  // `source` must outlive the window. `progress` may be null; it is called with the bytes read
  // since the last call, and its errors are returned.
  ForwardWindow(const ByteSource& source, std::function<absl::Status(uint64_t)> progress)
      : source_(source), progress_(std::move(progress)) {}

  // Returns the buffered bytes from `offset` on: at least `size` bytes, or all up to the end of the
  // source. They are valid until the next call. Offsets must not decrease from call to call. Errors
  // are those of ByteSource::ReadAt().
  absl::StatusOr<std::span<const uint8_t>> Peek(uint64_t offset, uint64_t size) {
    const uint64_t end = base_ + buffer_.size();
    const uint64_t wanted = std::min(size, source_.size() - std::min(offset, source_.size()));
    if (offset + wanted > end) PENSTOCK_RETURN_IF_ERROR(Advance(offset, wanted));
    return std::span<const uint8_t>(buffer_).subspan(
        std::min<uint64_t>(offset - base_, buffer_.size()));
  }

 private:
  // Fits into the second-level cache, so that checksums find the bytes there.
  static constexpr uint64_t kReadBytes = uint64_t{512} << 10;

  absl::Status Advance(uint64_t offset, uint64_t size) {
    const uint64_t end = base_ + buffer_.size();
    const uint64_t keep = offset < end ? end - offset : 0;
    std::copy(buffer_.end() - static_cast<ptrdiff_t>(keep), buffer_.end(), buffer_.begin());
    const uint64_t total = std::min(std::max(size, keep + kReadBytes), source_.size() - offset);
    buffer_.resize(total);
    base_ = offset;
    PENSTOCK_RETURN_IF_ERROR(source_.ReadAt(offset + keep, std::span(buffer_).subspan(keep)));
    return progress_ ? progress_(total - keep) : absl::OkStatus();
  }

  const ByteSource& source_;
  const std::function<absl::Status(uint64_t)> progress_;
  std::vector<uint8_t> buffer_;
  uint64_t base_ = 0;  // Offset of buffer_ in the source.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_FORWARD_WINDOW_H_
