#include "client/plan/rounds.h"

#include <algorithm>
#include <utility>

namespace penstock {

Rounds::Rounds(std::vector<uint64_t> lane_rows, uint64_t strip_rows)
    : lane_rows_(std::move(lane_rows)), ascending_(lane_rows_), strip_rows_(strip_rows) {
  std::sort(ascending_.begin(), ascending_.end());
  rows_before_.push_back(0);
  for (uint64_t rows : ascending_) rows_before_.push_back(rows_before_.back() + rows);
}

uint64_t Rounds::RowsBefore(uint64_t lane_row) const {
  const auto longer = std::upper_bound(ascending_.begin(), ascending_.end(), lane_row);
  const size_t ended = static_cast<size_t>(longer - ascending_.begin());
  return rows_before_[ended] + lane_row * (ascending_.size() - ended);
}

uint64_t Rounds::StripRows(uint32_t lane, uint64_t lane_row) const {
  return lane_rows_[lane] > lane_row ? std::min(strip_rows_, lane_rows_[lane] - lane_row) : 0;
}

bool Rounds::AnyEnds(uint64_t begin) const {
  const auto longer = std::upper_bound(ascending_.begin(), ascending_.end(), begin);
  return longer != ascending_.end() && *longer - begin <= strip_rows_;
}

Rounds::LaneRow Rounds::Locate(uint64_t position) const {
  uint64_t low = 0;  // A round that begins at or before `position`.
  uint64_t high = ascending_.back() / strip_rows_ + 1;  // A round that begins after `position`.
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (RowsBefore(middle * strip_rows_) <= position ? low : high) = middle;
  }
  const uint64_t begin = low * strip_rows_;
  uint64_t rest = position - RowsBefore(begin);
  uint32_t lane = 0;
  for (; rest >= StripRows(lane, begin); ++lane) rest -= StripRows(lane, begin);
  return {lane, begin + rest};
}

uint64_t Rounds::Position(LaneRow at) const {
  const uint64_t begin = at.row / strip_rows_ * strip_rows_;
  uint64_t position = RowsBefore(begin) + (at.row - begin);
  for (uint32_t lane = 0; lane < at.lane; ++lane) position += StripRows(lane, begin);
  return position;
}

}  // namespace penstock
