#include "client/plan/windows.h"

#include <cstddef>
#include <limits>
#include <numeric>

#include "base/permutation.h"

namespace penstock {
namespace {

// Fills windows.chunks in place: it holds the permutation, and the chunks that are kept move to its
// front.
class Cutter {
 public:
  Cutter(const ChunkTable& table, const PlanOptions& options, Windows& windows)
      : table_(table), options_(options), windows_(windows) {
    windows_.first_chunk.push_back(0);
    windows_.first_row.push_back(0);
    windows_.first_of_lane.push_back(0);
  }

  void CutLane(uint64_t lane) {
    const uint64_t all = windows_.chunks.size();
    const uint64_t lanes = options_.lanes;
    uint64_t allowed = (options_.window_chunks * (lane + 1) + lanes - 1) / lanes;
    for (uint64_t i = lane * all / lanes; i < (lane + 1) * all / lanes; ++i) {
      const uint32_t chunk = windows_.chunks[i];
      if (counted_ == allowed || IsFullFor(chunk)) {
        CloseWindow();
        allowed = options_.window_chunks;
      }
      Add(chunk);
    }
    CloseWindow();
    windows_.first_of_lane.push_back(static_cast<uint32_t>(windows_.first_row.size() - 1));
  }

  uint32_t kept() const { return kept_; }

 private:
  bool IsFullFor(uint32_t chunk) const {
    if (rows_ == 0 || table_.rows[chunk] == 0) return false;
    return table_.bytes[chunk] + bytes_ > options_.max_window_bytes ||
           table_.rows[chunk] + rows_ > std::numeric_limits<uint32_t>::max();
  }

  void Add(uint32_t chunk) {
    ++counted_;
    if (table_.rows[chunk] == 0) return;
    rows_ += table_.rows[chunk];
    bytes_ += table_.bytes[chunk];
    windows_.chunks[kept_++] = chunk;
  }

  void CloseWindow() {
    if (rows_ > 0) {
      windows_.first_chunk.push_back(kept_);
      windows_.first_row.push_back(windows_.first_row.back() + rows_);
    }
    counted_ = rows_ = bytes_ = 0;
  }

  const ChunkTable& table_;
  const PlanOptions& options_;
  Windows& windows_;
  uint32_t kept_ = 0;
  // These three describe the open window.
  uint64_t counted_ = 0;
  uint64_t rows_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace

Windows CutWindows(const ChunkTable& table, const PlanOptions& options, uint64_t key) {
  Windows windows;
  windows.chunks.resize(table.rows.size());
  std::iota(windows.chunks.begin(), windows.chunks.end(), 0u);
  if (options.shuffle) Shuffle(windows.chunks, key);
  Cutter cutter(table, options, windows);
  for (uint32_t lane = 0; lane < options.lanes; ++lane) cutter.CutLane(lane);
  windows.chunks.resize(cutter.kept());
  return windows;
}

}  // namespace penstock
