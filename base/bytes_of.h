// Views of text and plain memory as bytes, the form that files and checksums take.
#ifndef PENSTOCK_BASE_BYTES_OF_H_
#define PENSTOCK_BASE_BYTES_OF_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"

namespace penstock {

// The memory must outlive the returned span.
inline std::span<const uint8_t> BytesOf(const void* data, size_t size) {
  return {static_cast<const uint8_t*>(data), size};
}
inline std::span<const uint8_t> BytesOf(absl::string_view text) {
  return BytesOf(text.data(), text.size());
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_BYTES_OF_H_
