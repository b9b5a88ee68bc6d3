// The interface that grants the memory for decoding a large image.
#ifndef PENSTOCK_RECORDS_IMAGE_IMAGE_MEMORY_H_
#define PENSTOCK_RECORDS_IMAGE_IMAGE_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// Thread-safe.
class ImageMemory {
 public:
  // Images that take no more are decoded without asking: TransformMemory().
  static constexpr uint64_t kUnasked = uint64_t{16} << 20;

  virtual ~ImageMemory() = default;
  // Blocks until `bytes` are free. kResourceExhausted: there will never be so many.
  virtual absl::Status Take(uint64_t bytes) = 0;
  virtual void Return(uint64_t bytes) = 0;
};

// Memory that was taken, for as long as this lives. Move-only; empty where none was needed.
class ImageMemoryLease {
 public:
  ImageMemoryLease() = default;
  // `memory` may be null, which grants all; it must outlive the lease.
  static absl::StatusOr<ImageMemoryLease> Take(ImageMemory* memory, uint64_t bytes) {
    if (memory == nullptr || bytes <= ImageMemory::kUnasked) return ImageMemoryLease();
    absl::Status taken = memory->Take(bytes);
    if (!taken.ok()) return taken;
    return ImageMemoryLease(memory, bytes);
  }
  ImageMemoryLease(ImageMemoryLease&& other) noexcept
      : memory_(other.memory_), bytes_(other.bytes_) {
    other.memory_ = nullptr;
  }
  ImageMemoryLease& operator=(ImageMemoryLease&&) = delete;
  ~ImageMemoryLease() {
    if (memory_ != nullptr) memory_->Return(bytes_);
  }

 private:
  ImageMemoryLease(ImageMemory* memory, uint64_t bytes) : memory_(memory), bytes_(bytes) {}

  ImageMemory* memory_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_IMAGE_MEMORY_H_
