// Rounds: lanes of different lengths take turns, and each gives S rows in a round.
#ifndef PENSTOCK_CLIENT_PLAN_ROUNDS_H_
#define PENSTOCK_CLIENT_PLAN_ROUNDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

// Round j consists of rows [jS, (j+1)S) of every lane that has any of them, in lane order.
// Positions number the rows of all rounds. Immutable, thread-safe.
class Rounds {
 public:
  struct LaneRow {
    uint32_t lane = 0;
    uint64_t row = 0;  // Row in the lane.
  };

  // REQUIRES: strip_rows > 0; the sum of `lane_rows` fits in 64 bits.
  Rounds(std::vector<uint64_t> lane_rows, uint64_t strip_rows);

  uint64_t rows() const { return rows_before_.back(); }
  uint64_t strip_rows() const { return strip_rows_; }
  uint32_t num_lanes() const { return static_cast<uint32_t>(lane_rows_.size()); }
  uint64_t lane_rows(uint32_t lane) const { return lane_rows_[lane]; }

  // Whether any lane has its last strip in the round that begins at row `begin` of each lane. O(log
  // lanes).
  bool AnyEnds(uint64_t begin) const;

  // O(lanes). REQUIRES: position < rows().
  LaneRow Locate(uint64_t position) const;
  // Undoes Locate(). O(lanes). REQUIRES: at.row < lane_rows(at.lane).
  uint64_t Position(LaneRow at) const;

 private:
  // Number of rows before `lane_row`, summed over all lanes. REQUIRES: lane_row is a multiple of S.
  uint64_t RowsBefore(uint64_t lane_row) const;
  // Number of rows in the strip of `lane` that begins at `lane_row`; 0 past the lane's end.
  uint64_t StripRows(uint32_t lane, uint64_t lane_row) const;

  std::vector<uint64_t> lane_rows_;
  std::vector<uint64_t> ascending_;    // lane_rows_, sorted.
  std::vector<uint64_t> rows_before_;  // Prefix sums of ascending_: one entry more than lanes.
  uint64_t strip_rows_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_ROUNDS_H_
