// Bytes that are read by range.
#ifndef PENSTOCK_BASE_IO_BYTE_SOURCE_H_
#define PENSTOCK_BASE_IO_BYTE_SOURCE_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Thread-safe: reads share no position.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // For error messages. The view is valid as long as the source.
  virtual absl::string_view name() const = 0;
  // Size in bytes when the source was opened.
  virtual uint64_t size() const = 0;

  // Fills all of `out` with the bytes that begin at `offset`.
  // kFailedPrecondition: the source ends before that, so it was truncated or replaced.
  // kUnavailable: the read failed; a retry may succeed.
  virtual absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const = 0;
};

// Returns the error of ReadAt() for a source of `actual_size` bytes that lacks the requested range.
absl::Status ShortReadError(absl::string_view name, uint64_t offset, uint64_t size,
                            uint64_t actual_size);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_BYTE_SOURCE_H_
