// Windows in use, lane by lane, and the requests for their rows.
#ifndef PENSTOCK_CLIENT_FETCH_WINDOW_TABLE_H_
#define PENSTOCK_CLIENT_FETCH_WINDOW_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/fetch/fetch_actions.h"
#include "client/fetch/indexed_heap.h"
#include "client/fetch/numbered_table.h"
#include "client/fetch/range_queue.h"
#include "client/fetch/received_rows.h"

namespace penstock {

// Returns "window 3 of lane 5 in epoch 0".
inline std::string WindowName(const WindowId& id) {
  return absl::StrCat("window ", id.index, " of lane ", id.lane, " in epoch ", id.epoch);
}

// One server said that a record is damaged, and no other server has confirmed it.
struct DamageDoubt {
  Damage damage;
  uint32_t server = 0;
  absl::Status status;
  absl::Time since;
};

struct WindowEntry {
  uint64_t number = 0;
  WindowId id;
  std::shared_ptr<const EpochOrder> order;  // Shared by the windows of one epoch and the walker.
  uint32_t rows = 0;
  uint64_t bytes = 0;             // The size of its chunks.
  uint64_t start = 0;             // About when its first row is needed.
  HeapPlace<WindowEntry> queued;  // Its place in the queue that it waits in.

  std::optional<StreamId> opened_on;
  absl::Time opened_at = absl::InfinitePast();
  absl::Time ready_at = absl::InfiniteFuture();  // When its server had loaded it; infinite before.
  bool asked = false;                            // Whether that server was asked for rows of it.
  bool counted = false;                          // Whether it was opened before.

  RangeQueue wanted;
  uint32_t wanted_rows = 0;
  uint32_t requests = 0;     // Outstanding requests, on all streams.
  bool walked_past = false;  // No further row of it will be wanted.

  uint32_t failures = 0;                            // Failures in a row.
  uint32_t turns = 0;                               // Number of these failures of each server.
  absl::Time failing_since = absl::InfinitePast();  // Time of the first of these failures.
  absl::Time retry_at = absl::InfinitePast();
  std::vector<uint32_t> avoid;      // Servers that could not give it.
  std::vector<DamageDoubt> doubts;  // Damage that one server alone has reported.
  // Number of spares tried so far, including the present one; 0 if none.
  uint32_t spares = 0;
  uint32_t untold_spares = 0;   // Number of the last spares that have not been reported yet.
  uint32_t damage_reports = 0;  // Damage reports since servers last agreed on one.
  uint32_t load_breaks = 0;     // Consecutive streams that broke while they loaded it.
  uint32_t breaks = 0;          // Streams that broke while it was loaded or fetched there.
  uint32_t breaks_alone = 0;    // Servers that died while they had no other request.
  uint32_t withdrawn = 0;       // Breaks of servers that had no other request, and lived.
  bool suspect = false;         // Servers may die of it, so it is requested alone.

  std::optional<uint32_t> spare() const {
    return spares == 0 ? std::nullopt : order->SpareChunk(id, spares - 1);
  }
  // The time at which its next row is needed.
  uint64_t NeededAt() const { return wanted.empty() ? start : wanted.front().needed_at; }
  // The order among windows without requests; the last of them makes room first.
  std::pair<bool, uint64_t> IdleOrder() const { return {wanted.empty(), NeededAt()}; }
  // Avoids a server: the window comes back to it only if there is no other.
  void Avoid(uint32_t server) {
    if (std::find(avoid.begin(), avoid.end(), server) == avoid.end()) avoid.push_back(server);
  }
  // Notes that the window's server has loaded it.
  void NoteReady(absl::Time now) {
    ready_at = now;
    load_breaks = 0;
  }
  bool ready() const { return ready_at != absl::InfiniteFuture(); }
  // The approximate number of bytes of this many of its rows.
  uint64_t BytesOf(uint32_t of_rows) const { return bytes * of_rows / std::max(rows, 1U); }
  bool done() const { return walked_past && wanted.empty() && requests == 0; }
  void Reset() {
    RangeQueue memory = std::move(wanted);
    memory.Clear();
    *this = WindowEntry();
    wanted = std::move(memory);
  }
};

// The window of a lane that the walk reached last, and the window opened ahead of it.
struct LaneEntry {
  WindowEntry* current = nullptr;
  WindowEntry* ahead = nullptr;
};

// A request on its way, with the ranges that it alone may fill.
struct RequestEntry {
  uint64_t number = 0;
  StreamId stream;
  WindowEntry* window = nullptr;
  RequestEntry* earlier = nullptr;  // The request before it to the same server.
  RequestEntry* later = nullptr;
  std::vector<Range> ranges;
  uint32_t rows = 0;
  uint32_t rows_missing = 0;
  uint64_t bytes = 0;
  absl::Time sent_at = absl::InfinitePast();
  absl::Time active_at = absl::InfinitePast();  // When it was sent or its last part arrived.
  bool late = false;
  ReceivedRows received;

  void Reset() {
    stream = {};
    window = nullptr;
    earlier = later = nullptr;
    late = false;
    ranges.clear();  // Keeps its memory.
    received.Clear();
  }
  void Claim(std::span<const Range> claimed) {
    ranges.assign(claimed.begin(), claimed.end());
    uint32_t at = 0;
    for (Range& range : ranges) {
      range.at = at;
      at += range.rows;
    }
  }
  // The approximate number of bytes of the requested records.
  uint64_t record_bytes() const { return window->BytesOf(rows); }
  // The ranges from the one that contains row `at` of the answer. A probe has none, because it
  // fills nothing.
  std::span<const Range> RangesFrom(uint32_t at) const {
    if (ranges.empty()) return {};
    const auto after = std::partition_point(ranges.begin(), ranges.end(),
                                            [at](const Range& range) { return range.at <= at; });
    return {after - 1, ranges.end()};
  }
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_WINDOW_TABLE_H_
