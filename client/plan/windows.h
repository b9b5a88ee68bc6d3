// Cuts an epoch's permuted chunks into lanes and windows.
#ifndef PENSTOCK_CLIENT_PLAN_WINDOWS_H_
#define PENSTOCK_CLIENT_PLAN_WINDOWS_H_

#include <cstdint>
#include <vector>

#include "client/plan/chunk_table.h"
#include "client/plan/plan_options.h"

namespace penstock {

// The windows of all lanes, one lane after the other. Every window has at least one row.
struct Windows {
  std::vector<uint32_t> chunks;  // The chunks with rows, in the windows' order.
  // Index into `chunks` of each window's first chunk; one entry more than windows.
  std::vector<uint32_t> first_chunk;
  // First row of each window, counted over all lanes; one entry more than windows.
  std::vector<uint64_t> first_row;
  // The number of each lane's first window; one entry more than lanes.
  std::vector<uint32_t> first_of_lane;

  uint32_t num_lanes() const { return static_cast<uint32_t>(first_of_lane.size() - 1); }
  uint64_t lane_begin(uint32_t lane) const { return first_row[first_of_lane[lane]]; }
  uint64_t lane_rows(uint32_t lane) const { return lane_begin(lane + 1) - lane_begin(lane); }
};

// Cuts C chunks, with L = options.lanes and K = options.window_chunks. Lane l owns the chunks
// [lC/L, (l+1)C/L) of the permutation keyed by `key` (the identity unless options.shuffle). Its
// first window has ceil(K(l+1)/L) of them, the others have K. Chunks without rows are counted, but
// not kept. A window closes earlier if the next chunk would take it past options.max_window_bytes
// or 2^32 - 1 rows. A chunk larger than that is a window of its own. O(C).
// REQUIRES: 0 < options.lanes <= C < 2^32; options.window_chunks > 0.
Windows CutWindows(const ChunkTable& table, const PlanOptions& options, uint64_t key);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_WINDOWS_H_
