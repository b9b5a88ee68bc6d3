// Detects whether reads come from memory or wait for storage.
#ifndef PENSTOCK_RECORDS_ENGINE_STORAGE_SPEED_H_
#define PENSTOCK_RECORDS_ENGINE_STORAGE_SPEED_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace penstock {

// If the page cache has the bytes, a read is a copy. A read that took much longer has waited for a
// disk or a network, and the next reads probably will too. Thread-safe.
class StorageSpeed {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // A read of `bytes` bytes is slow if it takes longer than `base` plus half a nanosecond for each
  // byte. Memory is five times as fast.
  explicit StorageSpeed(Duration base) : base_(base) {}

  void Note(size_t bytes, Duration took) {
    if (took > base_ + std::chrono::nanoseconds(bytes / 2)) {
      slow_reads_.fetch_add(1, std::memory_order_relaxed);
      fast_in_a_row_.store(0, std::memory_order_relaxed);
    } else {
      fast_in_a_row_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  bool slow() const { return fast_in_a_row_.load(std::memory_order_relaxed) < kFast; }
  uint64_t slow_reads() const { return slow_reads_.load(std::memory_order_relaxed); }

 private:
  // A file system reads ahead, so a few fast reads between slow ones mean little.
  static constexpr uint64_t kFast = 64;

  const Duration base_;
  std::atomic<uint64_t> slow_reads_{0};
  std::atomic<uint64_t> fast_in_a_row_{kFast};
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_STORAGE_SPEED_H_
