// The order of one epoch: which row of which window is at which position.
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

// Window `index` of a lane. Windows are numbered from 0 without gaps.
struct WindowId {
  uint64_t epoch = 0;
  uint32_t lane = 0;
  uint32_t index = 0;

  friend auto operator<=>(const WindowId&, const WindowId&) = default;
};

// A row of a window, numbered after the window's permutation is applied.
struct Location {
  WindowId window;
  uint32_t row = 0;

  friend bool operator==(const Location&, const Location&) = default;
};

// Rows [first_row, first_row + rows) of a window. Their positions begin at `position`.
struct WindowRun {
  WindowId window;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint64_t position = 0;

  friend bool operator==(const WindowRun&, const WindowRun&) = default;
};

// The key that, with the records' ordinals, decides everything random about the records of an epoch
// themselves, such as how their images are cropped (records/image/uniforms.h).
uint64_t AugmentationKeyOf(uint64_t seed, uint64_t epoch);

// Made by Plan::Epoch(). Does not use the plan afterwards. Immutable, thread-safe.
//
// REQUIRES for every WindowId: epoch == epoch(), lane < num_lanes(), index < num_windows(lane).
class EpochOrder {
 public:
  class Walker;

  uint64_t epoch() const { return epoch_; }
  uint64_t rows() const { return rounds_.rows(); }

  // Every window has at least one row; a lane may have no window.
  uint32_t num_lanes() const { return rounds_.num_lanes(); }
  uint32_t num_windows(uint32_t lane) const;

  // Chunk numbers of the manifest, in the window's order, without the chunks that have no rows of
  // the split. Valid while this object lives.
  std::span<const uint32_t> WindowChunks(WindowId id) const;
  uint32_t WindowRows(WindowId id) const;
  // Returns the n-th chunk, counted from 0, of those that follow the window in the epoch's order of
  // chunks. That order continues at its beginning after its last chunk, and leaves out chunks
  // without rows of the split. Returns nullopt if only the window's own chunks are left.
  std::optional<uint32_t> SpareChunk(WindowId id, uint32_t n) const;
  // The key of the permutation of the window's rows. It has no meaning in a plan that does not
  // shuffle.
  uint64_t WindowKey(WindowId id) const;

  // AugmentationKeyOf(), applied to the plan's seed and this epoch.
  uint64_t augmentation_key() const;

  // O(lanes + log windows). REQUIRES: position < rows().
  Location Locate(uint64_t position) const;
  // Undoes Locate(). O(lanes). REQUIRES: at.row < WindowRows(at.window).
  uint64_t Position(Location at) const;

 private:
  friend class Plan;
  // `options` as resolved by Plan. O(chunks).
  EpochOrder(const ChunkTable& table, const PlanOptions& options, uint64_t epoch);

  uint32_t Number(WindowId id) const { return windows_.first_of_lane[id.lane] + id.index; }
  // The number of the window that holds this row of the lane. O(log windows).
  uint32_t WindowOf(Rounds::LaneRow at) const;

  uint64_t epoch_;
  uint64_t key_;
  Windows windows_;
  Rounds rounds_;
};

// Walks from any position to the end of the epoch. Next() and Skip() allocate nothing. `order` must
// outlive it and must not move. Not thread-safe.
class EpochOrder::Walker {
 public:
  // O(lanes log windows). REQUIRES: position <= order.rows().
  explicit Walker(const EpochOrder& order, uint64_t position = 0);

  // Sets `run` to the next rows: at most `max_rows` that follow one another in one window. Returns
  // false at the end of the epoch. Amortised O(1). REQUIRES: max_rows > 0.
  bool Next(uint64_t max_rows, WindowRun& run);
  // Skips rows. O(rounds log lanes), or O(runs) in rounds in which lanes end. REQUIRES: at least
  // `rows` rows are left.
  void Skip(uint64_t rows);

  uint64_t position() const { return position_; }

 private:
  void Seek(uint64_t position);
  void EndRound();
  uint64_t SkipStrips(uint64_t rows);
  void EndStrip(uint32_t lane);

  const EpochOrder* order_;
  uint64_t position_ = 0;
  uint64_t round_begin_ = 0;  // Row at which the round begins, in every lane.
  uint64_t taken_ = 0;        // Rows already taken from the current strip.
  // The lanes of this round. The first kept_ of them are known to take part in the next round too.
  std::vector<uint32_t> live_;
  size_t kept_ = 0;
  size_t current_ = 0;  // Index into live_.
  // The number of each lane's current window or of an earlier one.
  std::vector<uint32_t> window_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_EPOCH_ORDER_H_
