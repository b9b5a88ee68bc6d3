#include <algorithm>

#include "client/plan/epoch_order.h"

namespace penstock {

EpochOrder::Walker::Walker(const EpochOrder& order, uint64_t position)
    : order_(&order), window_(order.num_lanes()) {
  live_.reserve(order.num_lanes());
  Seek(position);
}

void EpochOrder::Walker::Seek(uint64_t position) {
  const Rounds& rounds = order_->rounds_;
  position_ = position;
  live_.clear();
  kept_ = current_ = 0;
  if (position == rounds.rows()) return;
  const Rounds::LaneRow at = rounds.Locate(position);
  round_begin_ = at.row / rounds.strip_rows() * rounds.strip_rows();
  taken_ = at.row - round_begin_;
  for (uint32_t lane = 0; lane < rounds.num_lanes(); ++lane) {
    if (rounds.lane_rows(lane) <= round_begin_) continue;
    window_[lane] = order_->WindowOf({lane, round_begin_});
    live_.push_back(lane);
  }
  while (live_[current_] != at.lane) EndStrip(live_[current_]);
}

void EpochOrder::Walker::EndStrip(uint32_t lane) {
  const Rounds& rounds = order_->rounds_;
  if (rounds.lane_rows(lane) - round_begin_ > rounds.strip_rows()) live_[kept_++] = lane;
  ++current_;
}

void EpochOrder::Walker::EndRound() {
  live_.resize(kept_);
  kept_ = current_ = 0;
  round_begin_ += order_->rounds_.strip_rows();
}

bool EpochOrder::Walker::Next(uint64_t max_rows, WindowRun& run) {
  if (current_ == live_.size()) EndRound();
  if (live_.empty()) return false;
  const Rounds& rounds = order_->rounds_;
  const Windows& windows = order_->windows_;
  const uint32_t lane = live_[current_];
  const uint64_t row = round_begin_ + taken_;
  const uint64_t row_of_all = windows.lane_begin(lane) + row;
  uint32_t& window = window_[lane];
  while (windows.first_row[window + 1] <= row_of_all) ++window;

  const uint64_t strip_left =
      std::min(rounds.strip_rows(), rounds.lane_rows(lane) - round_begin_) - taken_;
  const uint64_t rows =
      std::min({max_rows, strip_left, windows.first_row[window + 1] - row_of_all});
  run.window = {order_->epoch_, lane, window - windows.first_of_lane[lane]};
  run.first_row = static_cast<uint32_t>(row_of_all - windows.first_row[window]);
  run.rows = static_cast<uint32_t>(rows);
  run.position = position_;
  position_ += rows;
  taken_ += rows;
  if (rows == strip_left) {
    taken_ = 0;
    EndStrip(lane);
  }
  return true;
}

void EpochOrder::Walker::Skip(uint64_t rows) {
  // For more rounds than this, a seek is cheaper than walking.
  constexpr uint64_t kRounds = 8;
  const Rounds& rounds = order_->rounds_;
  if (rows / rounds.strip_rows() > kRounds * rounds.num_lanes()) return Seek(position_ + rows);
  WindowRun run;
  for (uint64_t left = rows; left > 0;) {
    const uint64_t skipped = SkipStrips(left);
    left -= skipped;
    if (skipped > 0) continue;
    if (!Next(left, run)) return;
    left -= run.rows;
  }
}

// Skips whole strips of this round if every one of its lanes takes part in the next round too.
// Returns how many rows it skipped.
uint64_t EpochOrder::Walker::SkipStrips(uint64_t rows) {
  const Rounds& rounds = order_->rounds_;
  if (taken_ > 0 || rows < rounds.strip_rows() || rounds.AnyEnds(round_begin_)) return 0;
  const uint64_t strips = std::min<uint64_t>(rows / rounds.strip_rows(), live_.size() - current_);
  current_ += strips;
  kept_ += strips;
  position_ += strips * rounds.strip_rows();
  return strips * rounds.strip_rows();
}

}  // namespace penstock
