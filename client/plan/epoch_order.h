// The order of one epoch: which window and row stand at which position.
#ifndef PENSTOCK_CLIENT_PLAN_EPOCH_ORDER_H_
#define PENSTOCK_CLIENT_PLAN_EPOCH_ORDER_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "client/plan/chunk_table.h"
#include "client/plan/plan_options.h"
#include "client/plan/rounds.h"
#include "client/plan/windows.h"

namespace penstock {

// Window `index` of a lane, counted from 0 without gaps.
struct WindowId {
  uint64_t epoch = 0;
  uint32_t lane = 0;
  uint32_t index = 0;

  friend auto operator<=>(const WindowId&, const WindowId&) = default;
};

// A row of a window, numbered after the window's permutation.
struct Location {
  WindowId window;
  uint32_t row = 0;

  friend bool operator==(const Location&, const Location&) = default;
};

// Rows [first_row, first_row + rows) of a window, at positions from `position` on.
struct WindowRun {
  WindowId window;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint64_t position = 0;

  friend bool operator==(const WindowRun&, const WindowRun&) = default;
};

// What is random about the records of an epoch themselves, such as how their images are cropped,
// follows from this key and the records' ordinals (records/image/uniforms.h).
uint64_t AugmentationKeyOf(uint64_t seed, uint64_t epoch);

// Made by Plan::Epoch(); needs nothing of the plan afterwards. Immutable, thread-safe.
//
// REQUIRES of every WindowId: epoch == epoch(), lane < num_lanes(), index < num_windows(lane).
class EpochOrder {
 public:
  class Walker;

  uint64_t epoch() const { return epoch_; }
  uint64_t rows() const { return rounds_.rows(); }

  // Every window has at least one row; a lane may have no window.
  uint32_t num_lanes() const { return rounds_.num_lanes(); }
  uint32_t num_windows(uint32_t lane) const;

  // Chunk numbers of the manifest, in the window's order. Chunks without rows of the split are
  // left out. Valid while this object is.
  std::span<const uint32_t> WindowChunks(WindowId id) const;
  uint32_t WindowRows(WindowId id) const;
  // The n-th chunk, from 0 on, of those that follow the window in the epoch's order of chunks,
  // which begins anew after its last one. Absent: only the window's own are left. Chunks without
  // rows of the split are left out.
  std::optional<uint32_t> SpareChunk(WindowId id, uint32_t n) const;
  // Of the permutation of the window's rows; meaningless in a plan that does not shuffle.
  uint64_t WindowKey(WindowId id) const;

  // As AugmentationKeyOf() of the plan's seed.
  uint64_t augmentation_key() const;

  // O(lanes + log windows). REQUIRES: position < rows().
  Location Locate(uint64_t position) const;
  // Undoes Locate(). O(lanes). REQUIRES: at.row < WindowRows(at.window).
  uint64_t Position(Location at) const;

 private:
  friend class Plan;
  // `options` as Plan resolved them. O(chunks).
  EpochOrder(const ChunkTable& table, const PlanOptions& options, uint64_t epoch);

  uint32_t Number(WindowId id) const { return windows_.first_of_lane[id.lane] + id.index; }
  // The number of the window that holds this row of the lane. O(log windows).
  uint32_t WindowOf(Rounds::LaneRow at) const;

  uint64_t epoch_;
  uint64_t key_;
  Windows windows_;
  Rounds rounds_;
};

// Walks the positions from any one to the epoch's end. Next() and Skip() allocate nothing.
// `order` must outlive it and stay where it is. Not thread-safe.
class EpochOrder::Walker {
 public:
  // O(lanes log windows). REQUIRES: position <= order.rows().
  explicit Walker(const EpochOrder& order, uint64_t position = 0);

  // The next rows, at most `max_rows`, that follow one another in one window. False: the epoch
  // has ended. Amortised O(1). REQUIRES: max_rows > 0.
  bool Next(uint64_t max_rows, WindowRun& run);
  // Leaves out rows. O(rounds log lanes), or O(runs) where lanes end. REQUIRES: rows <= those that
  // are left.
  void Skip(uint64_t rows);

  uint64_t position() const { return position_; }

 private:
  void Seek(uint64_t position);
  void EndRound();
  uint64_t SkipStrips(uint64_t rows);
  void EndStrip(uint32_t lane);

  const EpochOrder* order_;
  uint64_t position_ = 0;
  uint64_t round_begin_ = 0;  // Row in every lane.
  uint64_t taken_ = 0;        // Rows of the current strip.
  // Lanes that take part in this round; those before kept_ take part in the next one too.
  std::vector<uint32_t> live_;
  size_t kept_ = 0;
  size_t current_ = 0;            // Index into live_.
  std::vector<uint32_t> window_;  // Per lane, the number of its current window or an earlier one.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_EPOCH_ORDER_H_
