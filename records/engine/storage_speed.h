// Detects whether reads come from memory or wait for storage.
#ifndef PENSTOCK_RECORDS_ENGINE_STORAGE_SPEED_H_
#define PENSTOCK_RECORDS_ENGINE_STORAGE_SPEED_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"

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
  // A read in progress. Storage that hangs, such as a mount whose server is gone, keeps it for
  // ever.
  class Reading {
   public:
    // `speed` must outlive it; so must the text of `shard`.
    Reading(StorageSpeed& speed, absl::string_view shard) : speed_(speed), shard_(shard) {
      MutexLock lock(&speed_.mutex_);
      speed_.reads_.insert(this);
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() {
      MutexLock lock(&speed_.mutex_);
      speed_.reads_.erase(this);
    }

   private:
    friend class StorageSpeed;
    StorageSpeed& speed_;
    const absl::string_view shard_;
    const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  };
  struct LongRead {
    std::string shard;
    Duration lasts;
  };
  // Returns the read in progress that has lasted longest, or nullopt if there is none.
  std::optional<LongRead> Longest() const {
    MutexLock lock(&mutex_);
    const Reading* longest = nullptr;
    for (const Reading* read : reads_) {
      if (longest == nullptr || read->since_ < longest->since_) longest = read;
    }
    if (longest == nullptr) return std::nullopt;
    return LongRead{std::string(longest->shard_),
                    std::chrono::steady_clock::now() - longest->since_};
  }

  bool slow() const { return fast_in_a_row_.load(std::memory_order_relaxed) < kFast; }
  uint64_t slow_reads() const { return slow_reads_.load(std::memory_order_relaxed); }

 private:
  // A file system reads ahead, so a few fast reads between slow ones mean little.
  static constexpr uint64_t kFast = 64;

  const Duration base_;
  std::atomic<uint64_t> slow_reads_{0};
  std::atomic<uint64_t> fast_in_a_row_{kFast};
  mutable Mutex mutex_;
  std::set<const Reading*> reads_ ABSL_GUARDED_BY(mutex_);  // At most one for each thread.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_STORAGE_SPEED_H_
