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

// "window 3 of lane 5 in epoch 0".
inline std::string WindowName(const WindowId& id) {
  return absl::StrCat("window ", id.index, " of lane ", id.lane, " in epoch ", id.epoch);
}

// What one server said of a record that another has not confirmed.
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
  uint64_t bytes = 0;             // Of its chunks.
  uint64_t start = 0;             // About when its first row is needed.
  HeapPlace<WindowEntry> queued;  // By what it waits for.

  std::optional<StreamId> opened_on;
  absl::Time opened_at = absl::InfinitePast();
  absl::Time ready_at = absl::InfiniteFuture();  // When its server had loaded it.
  bool asked = false;                            // Rows of it, of that server.
  bool counted = false;                          // It was opened once.

  RangeQueue wanted;
  uint32_t wanted_rows = 0;
  uint32_t requests = 0;     // Outstanding, on whatever stream.
  bool walked_past = false;  // No further row of it will be wanted.

  uint32_t failures = 0;                            // In a row.
  uint32_t turns = 0;                               // In these each server failed so many times.
  absl::Time failing_since = absl::InfinitePast();  // The first of them.
  absl::Time retry_at = absl::InfinitePast();
  std::vector<uint32_t> avoid;      // Servers that could not give it.
  std::vector<DamageDoubt> doubts;  // What they said of its records.
  uint32_t spares = 0;              // Tried, the present one included; 0: it has none.
  uint32_t untold_spares = 0;       // Of these, the last ones, which nobody was told of.
  uint32_t damage_reports = 0;      // Since the last one that servers agreed on.
  uint32_t load_breaks = 0;         // Streams that broke while they loaded it, in a row.
  uint32_t breaks = 0;              // Streams that broke while it was loaded or fetched there.
  uint32_t breaks_alone = 0;        // Servers that died and were asked for nothing else.
  uint32_t withdrawn = 0;           // Breaks when a server was asked for nothing else, and lived.
  bool suspect = false;             // Servers may die of it: it is asked for alone.

  std::optional<uint32_t> spare() const {
    return spares == 0 ? std::nullopt : order->SpareChunk(id, spares - 1);
  }
  // When its next row is needed.
  uint64_t NeededAt() const { return wanted.empty() ? start : wanted.front().needed_at; }
  // Of windows that are asked for nothing: those to make room first are last.
  std::pair<bool, uint64_t> IdleOrder() const { return {wanted.empty(), NeededAt()}; }
  // It comes back to this server only if there is no other.
  void Avoid(uint32_t server) {
    if (std::find(avoid.begin(), avoid.end(), server) == avoid.end()) avoid.push_back(server);
  }
  // Its server has loaded it.
  void NoteReady(absl::Time now) {
    ready_at = now;
    load_breaks = 0;
  }
  bool ready() const { return ready_at != absl::InfiniteFuture(); }
  // Bytes of so many of its rows, about.
  uint64_t BytesOf(uint32_t of_rows) const { return bytes * of_rows / std::max(rows, 1U); }
  bool done() const { return walked_past && wanted.empty() && requests == 0; }
  void Reset() {
    RangeQueue memory = std::move(wanted);
    memory.Clear();
    *this = WindowEntry();
    wanted = std::move(memory);
  }
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
  RequestEntry* earlier = nullptr;  // Of the same server's, in the order of asking.
  RequestEntry* later = nullptr;
  std::vector<Range> ranges;
  uint32_t rows = 0;
  uint32_t rows_missing = 0;
  uint64_t bytes = 0;
  absl::Time sent_at = absl::InfinitePast();
  absl::Time active_at = absl::InfinitePast();  // Sent, or its last part arrived.
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
  // Bytes of the records that were asked for, about.
  uint64_t record_bytes() const { return window->BytesOf(rows); }
  // Those from the one on that row `at` of the answer is in; none of a probe, which fills nothing.
  std::span<const Range> RangesFrom(uint32_t at) const {
    if (ranges.empty()) return {};
    const auto after = std::partition_point(ranges.begin(), ranges.end(),
                                            [at](const Range& range) { return range.at <= at; });
    return {after - 1, ranges.end()};
  }
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_WINDOW_TABLE_H_
