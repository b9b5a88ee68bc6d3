// Learns how often rows that are decoded into shared blocks are sent.
#ifndef PENSTOCK_RECORDS_ENGINE_STRIP_USE_H_
#define PENSTOCK_RECORDS_ENGINE_STRIP_USE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

namespace penstock {

// Learns from dropped blocks how often the rows of the next blocks will be sent. A block that was
// sent that often is no longer needed, so its memory can be reused while it is in the processor's
// cache. Blocks that are sent about once cost more than they save: whole blocks are decoded for a
// few of their rows, and parts end where blocks end.
//
// Not thread-safe, except pays(): guarded by the strip cache's lock.
class StripUse {
 public:
  // Call it when a block was dropped whose rows were sent `times` times on average.
  void Dropped(double times) {
    most_ = std::max(most_, times);
    sum_ += times;
    if (++dropped_ < kBlocks) return;
    expected_ = most_;
    pays_.store(sum_ >= kPays * kBlocks, std::memory_order_relaxed);
    most_ = sum_ = 0;
    dropped_ = 0;
  }
  // Returns true if a block that was sent `times` times will not be requested again. Returns false
  // while nothing is learned yet.
  bool Suffices(double times) const { return times >= 0.999 * expected_; }
  // Returns whether sharing saves anything; true while nothing is learned yet.
  bool pays() const { return pays_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kBlocks = 64;  // Relearned after this many blocks.
  static constexpr double kPays = 1.5;

  double expected_ = std::numeric_limits<double>::infinity();
  double most_ = 0;
  double sum_ = 0;
  uint32_t dropped_ = 0;
  std::atomic<bool> pays_ = true;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_STRIP_USE_H_
