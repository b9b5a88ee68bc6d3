// A byte source in memory.
#ifndef PENSTOCK_BASE_IO_TESTING_MEMORY_SOURCE_H_
#define PENSTOCK_BASE_IO_TESTING_MEMORY_SOURCE_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/io/byte_source.h"

namespace penstock {

// Thread-safe.
class MemorySource : public ByteSource {
 public:
  MemorySource(std::string name, std::vector<uint8_t> bytes)
      : name_(std::move(name)), bytes_(std::move(bytes)) {}

  absl::string_view name() const override { return name_; }
  uint64_t size() const override { return bytes_.size(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    if (offset > bytes_.size() || bytes_.size() - offset < out.size()) {
      return ShortReadError(name_, offset, out.size(), bytes_.size());
    }
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  const std::vector<uint8_t> bytes_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_TESTING_MEMORY_SOURCE_H_
