// Rows on their way from a window to a slot.
#ifndef PENSTOCK_CLIENT_FETCH_RANGE_QUEUE_H_
#define PENSTOCK_CLIENT_FETCH_RANGE_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/prefetch.h"

namespace penstock {

// Rows [first_row, first_row + rows) of a window go to `slot`, from `slot_row` on. Every range is
// in exactly one place: wanted by its window, or claimed by a request.
struct Range {
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t slot = 0;
  uint32_t slot_row = 0;
  uint64_t step = 0;
  uint64_t needed_at = 0;
  uint32_t breaks = 0;  // Number of streams that broke while it was claimed.
  uint32_t at = 0;      // Index in the answer to the request that claimed it.
};

// First in, first out, except for rows that are wanted again. The ranges are contiguous in memory:
// there are as many as strips in all slots, and in a linked list each one was a cache miss.
// Allocates only while it grows. Not thread-safe.
class RangeQueue {
 public:
  bool empty() const { return head_ == ranges_.size(); }
  size_t size() const { return ranges_.size() - head_; }
  // REQUIRES: !empty().
  const Range& front() const { return ranges_[head_]; }
  // Returns range i, counted from the front.
  const Range& operator[](size_t i) const { return ranges_[head_ + i]; }
  std::span<const Range> span() const { return std::span(ranges_).subspan(head_); }

  void PushBack(const Range& range) {
    if (ranges_.size() == ranges_.capacity() && head_ >= size()) MoveToFront();
    ranges_.push_back(range);
    // Many queues are filled in turn. Prefetch the line for this queue's next turn.
    PrefetchToWrite(ranges_.data() + ranges_.size() + 1);
  }
  // REQUIRES: n <= size().
  void PopFront(size_t n = 1) {
    head_ += n;
    if (empty()) Clear();
  }
  // Keeps the ranges ordered by needed_at. O(size).
  void InsertByNeed(const Range& range) {
    const auto at = std::partition_point(
        begin(), ranges_.end(), [&](const Range& r) { return r.needed_at < range.needed_at; });
    ranges_.insert(at, range);
  }
  // Leaves the first `rows` rows in range i. The rest becomes a range behind it. O(size).
  // REQUIRES: i < size(), 0 < rows < the range's rows.
  void Split(size_t i, uint32_t rows) {
    Range rest = ranges_[head_ + i];
    rest.first_row += rows;
    rest.slot_row += rows;
    rest.needed_at += rows;
    rest.rows -= rows;
    ranges_[head_ + i].rows = rows;
    ranges_.insert(begin() + static_cast<ptrdiff_t>(i) + 1, rest);
  }
  // Removes all ranges, but keeps their memory.
  void Clear() {
    ranges_.clear();
    head_ = 0;
  }

 private:
  std::vector<Range>::iterator begin() { return ranges_.begin() + static_cast<ptrdiff_t>(head_); }
  void MoveToFront() {
    ranges_.erase(ranges_.begin(), begin());
    head_ = 0;
  }

  std::vector<Range> ranges_;
  size_t head_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_RANGE_QUEUE_H_
