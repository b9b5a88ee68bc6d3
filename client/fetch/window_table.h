// Windows in use, lane by lane.
#ifndef PENSTOCK_CLIENT_FETCH_WINDOW_TABLE_H_
#define PENSTOCK_CLIENT_FETCH_WINDOW_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "client/fetch/numbered_table.h"
#include "client/fetch/range_pool.h"
#include "client/fetch/scheduler_actions.h"

namespace penstock {

struct WindowEntry {
  uint64_t number = 0;
  WindowId id;
  std::shared_ptr<const EpochOrder> order;  // Shared by the windows of one epoch and the walker.
  uint64_t start = 0;                       // needed_at of its first row.

  std::optional<StreamId> opened_on;
  RangeList wanted;
  uint32_t wanted_rows = 0;
  uint32_t requests = 0;     // Outstanding, on whatever stream.
  bool walked_past = false;  // No further row of it will be wanted.
  uint32_t failures = 0;     // In a row.
  absl::Time retry_at = absl::InfinitePast();

  bool done() const { return walked_past && wanted.empty() && requests == 0; }
  void Reset() { *this = WindowEntry(); }
};

// What a lane is at: the window that was walked last, and the one opened ahead of it.
struct LaneEntry {
  WindowEntry* current = nullptr;
  WindowEntry* ahead = nullptr;
};

// A request on its way, with the ranges that it alone may fill.
struct RequestEntry {
  uint64_t number = 0;
  StreamId stream;
  WindowEntry* window = nullptr;
  RangeList ranges;
  uint32_t rows = 0;
  uint32_t rows_missing = 0;
  uint64_t bytes = 0;
  absl::Time sent_at = absl::InfinitePast();
  struct Interval {
    uint32_t first = 0;
    uint32_t rows = 0;
  };
  std::vector<Interval> received;  // Disjoint, in the order of arrival.

  void Reset() {
    stream = {};
    window = nullptr;
    ranges = {};
    received.clear();  // Keeps its memory.
  }
  bool Contains(uint32_t first, uint32_t count) const {
    for (uint32_t row = first; row < first + count; ++row) {
      if (!Overlaps(row, 1)) return false;
    }
    return true;
  }
  bool Overlaps(uint32_t first, uint32_t count) const {
    for (const Interval& interval : received) {
      if (first < interval.first + interval.rows && interval.first < first + count) return true;
    }
    return false;
  }
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_WINDOW_TABLE_H_
