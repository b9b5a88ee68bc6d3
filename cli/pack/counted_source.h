// Counts the bytes that are read from a file.
#ifndef PENSTOCK_CLI_PACK_COUNTED_SOURCE_H_
#define PENSTOCK_CLI_PACK_COUNTED_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "base/io/byte_source.h"

namespace penstock {

// Calls `on_bytes` with the number of bytes of each read. Thread-safe if `on_bytes` is.
class CountedSource : public ByteSource {
 public:
  CountedSource(std::unique_ptr<ByteSource> source, const std::function<void(uint64_t)>& on_bytes)
      : source_(std::move(source)), on_bytes_(on_bytes) {}

  absl::string_view name() const override { return source_->name(); }
  uint64_t size() const override { return source_->size(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    if (on_bytes_) on_bytes_(out.size());
    return source_->ReadAt(offset, out);
  }

 private:
  const std::unique_ptr<ByteSource> source_;
  const std::function<void(uint64_t)> on_bytes_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_COUNTED_SOURCE_H_
