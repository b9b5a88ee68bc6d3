// How often rows that are decoded into shared blocks are sent.
#ifndef PENSTOCK_RECORDS_ENGINE_STRIP_USE_H_
#define PENSTOCK_RECORDS_ENGINE_STRIP_USE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

namespace penstock {

// Learned from blocks that are dropped: how often the rows of the next ones will be sent. A block
// that was sent so often is not needed any more, so that its memory can be used again while it is
// in the processor's cache; and blocks that are sent about once cost more than they save: whole
// blocks are decoded for a few of their rows, and parts end where blocks do.
//
// Not thread-safe, but for pays(): the strip cache's lock guards it.
class StripUse {
 public:
  // The rows of a block were sent so many times, on average, when it was dropped.
  void Dropped(double times) {
    most_ = std::max(most_, times);
    sum_ += times;
    if (++dropped_ < kBlocks) return;
    expected_ = most_;
    pays_.store(sum_ >= kPays * kBlocks, std::memory_order_relaxed);
    most_ = sum_ = 0;
    dropped_ = 0;
  }
  // Nobody will ask for a block that was sent so often. False while there is nothing to go by.
  bool Suffices(double times) const { return times >= 0.999 * expected_; }
  // Whether sharing saves anything; true while there is nothing to go by.
  bool pays() const { return pays_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kBlocks = 64;  // Forgotten after so many more.
  static constexpr double kPays = 1.5;

  double expected_ = std::numeric_limits<double>::infinity();
  double most_ = 0;
  double sum_ = 0;
  uint32_t dropped_ = 0;
  std::atomic<bool> pays_ = true;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_STRIP_USE_H_
