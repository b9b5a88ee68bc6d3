// Grants memory for decoding large images.
#ifndef PENSTOCK_RECORDS_IMAGE_IMAGE_MEMORY_H_
#define PENSTOCK_RECORDS_IMAGE_IMAGE_MEMORY_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// Grants memory. Thread-safe.
class ImageMemory {
 public:
  // More than this is never worth keeping for the next image.
  static constexpr uint64_t kMostUnasked = uint64_t{16} << 20;

  explicit ImageMemory(uint64_t unasked_bytes) : unasked_bytes_(unasked_bytes) {}
  virtual ~ImageMemory() = default;
  // Images that need at most this many bytes (TransformMemory()) are decoded without a request. A
  // thread may keep this much for its next image.
  uint64_t unasked_bytes() const { return unasked_bytes_; }
  // Blocks until `bytes` are free. Returns kResourceExhausted if so many bytes will never be free.
  virtual absl::Status Take(uint64_t bytes) = 0;
  // Gives back bytes that Take() granted.
  virtual void Return(uint64_t bytes) = 0;

  // Upper bound for what all threads use and keep now, asked for or not. Update() replaces what one
  // thread uses.
  uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  void Update(uint64_t before, uint64_t after) {
    used_bytes_.fetch_add(after - before, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> used_bytes_ = 0;
  const uint64_t unasked_bytes_;
};

// Holds granted memory during its lifetime. Move-only. Holds nothing if no request was needed.
class ImageMemoryLease {
 public:
  ImageMemoryLease() = default;
  // If `memory` is null, everything is granted. `memory` must outlive the lease. Errors are those
  // of ImageMemory::Take().
  static absl::StatusOr<ImageMemoryLease> Take(ImageMemory* memory, uint64_t bytes) {
    if (memory == nullptr || bytes <= memory->unasked_bytes()) return ImageMemoryLease();
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
