// Remembers which rows of an answer have arrived.
#ifndef PENSTOCK_CLIENT_FETCH_RECEIVED_ROWS_H_
#define PENSTOCK_CLIENT_FETCH_RECEIVED_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace penstock {

// A set of rows, kept as intervals. Parts mostly arrive in order, so there is mostly one interval.
// Allocates only while it grows. Not thread-safe.
class ReceivedRows {
 public:
  // Adds rows [first, first + rows). REQUIRES: none of them is in the set.
  //
  // All functions: REQUIRES: first + rows does not overflow, and rows > 0.
  void Add(uint32_t first, uint32_t rows) {
    const auto after = intervals_.begin() + (EndingAfter(first) - intervals_.cbegin());
    const bool joins_before = after != intervals_.begin() && (after - 1)->end == first;
    const bool joins_after = after != intervals_.end() && after->begin == first + rows;
    if (joins_before && joins_after) {
      (after - 1)->end = after->end;
      intervals_.erase(after);
    } else if (joins_before) {
      (after - 1)->end += rows;
    } else if (joins_after) {
      after->begin = first;
    } else {
      intervals_.insert(after, {first, first + rows});
    }
  }
  // Whether all of these rows are in the set.
  bool Contains(uint32_t first, uint32_t rows) const {
    const auto it = EndingAfter(first);
    return it != intervals_.end() && it->begin <= first && first + rows <= it->end;
  }
  // Whether any of these rows is in the set.
  bool Overlaps(uint32_t first, uint32_t rows) const {
    const auto it = EndingAfter(first);
    return it != intervals_.end() && it->begin < first + rows;
  }
  // Calls missing(first, rows) for each run of these rows that is not in the set, in order.
  template <typename Missing>
  void ForEachGap(uint32_t first, uint32_t rows, const Missing& missing) const {
    uint32_t at = first;
    for (auto it = EndingAfter(first); it != intervals_.end() && it->begin < first + rows; ++it) {
      if (at < it->begin) missing(at, it->begin - at);
      at = it->end;
    }
    if (at < first + rows) missing(at, first + rows - at);
  }
  // Removes all rows, but keeps their memory.
  void Clear() { intervals_.clear(); }

 private:
  struct Interval {
    uint32_t begin;
    uint32_t end;
  };
  std::vector<Interval>::const_iterator EndingAfter(uint32_t row) const {
    return std::partition_point(intervals_.begin(), intervals_.end(),
                                [row](const Interval& interval) { return interval.end <= row; });
  }

  std::vector<Interval> intervals_;  // Sorted. No interval touches the next.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_RECEIVED_ROWS_H_
