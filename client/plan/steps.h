// Steps of a training or evaluation: which positions each one takes, and which of them are this
// rank's.
#ifndef PENSTOCK_CLIENT_PLAN_STEPS_H_
#define PENSTOCK_CLIENT_PLAN_STEPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "client/plan/plan_options.h"

namespace penstock {

struct StepOptions {
  uint64_t global_batch_size = 512;  // B
  Remainder remainder = Remainder::kDrop;
  uint64_t epochs = 1;      // 0: without end.
  uint32_t rank = 0;        // r
  uint32_t world_size = 1;  // R
};

struct EpochPosition {
  uint64_t epoch = 0;
  uint64_t position = 0;

  friend bool operator==(const EpochPosition&, const EpochPosition&) = default;
};

// Positions [position, position + rows) of an epoch; never empty.
struct RowRange {
  uint64_t epoch = 0;
  uint64_t position = 0;
  uint64_t rows = 0;

  friend bool operator==(const RowRange&, const RowRange&) = default;
};

struct Step {
  EpochPosition begin;  // Of the global batch's first row.
  // Where to resume after it: position < the epoch's rows.
  EpochPosition end;
  bool last_of_epoch = false;  // No later step begins in its epoch.
  uint64_t rows = 0;           // n, of the global batch; below B only for a short step.

  // This rank's rows: [rn/R, (r+1)n/R) of the global batch.
  uint64_t first_row = 0;
  uint64_t rank_rows = 0;  // 0 for some ranks of a short step with n < R.
  std::span<const RowRange> ranges() const { return {range.data(), num_ranges}; }

  std::array<RowRange, 2> range;  // Two where it crosses into the next epoch (kCarry).
  size_t num_ranges = 0;
};

// The steps from a position on. Their tail rule looks at what is left of each epoch from there.
// Every step is a function of its number: nothing is remembered. Thread-safe.
class Steps {
 public:
  // `start` may stand anywhere in [0, epoch_rows], in an epoch up to `epochs` (where no step is
  // left). kInvalidArgument: fewer rows in an epoch than B unless remainder is kShort; B < R;
  // a rank or start out of range.
  static absl::StatusOr<Steps> Create(uint64_t epoch_rows, const StepOptions& options,
                                      EpochPosition start = {});

  // 2^64 - 1: without end.
  uint64_t num_steps() const { return num_steps_; }
  // Steps that begin in an epoch read from its start.
  uint64_t steps_per_epoch() const;
  // The most rows that a step has for any rank, ceil(B/R). A rank can have more rows of a short
  // step than of a full one.
  uint64_t max_rank_rows() const;

  // REQUIRES: i < num_steps().
  Step At(uint64_t i) const;

 private:
  Steps(uint64_t epoch_rows, const StepOptions& options, EpochPosition start);
  // Steps that kDrop and kShort make of that many rows of one epoch.
  uint64_t StepsOf(uint64_t rows) const;
  uint64_t CountSteps() const;
  // Where `rows` rows after the first row of start_'s epoch stand.
  EpochPosition After(unsigned __int128 rows) const;
  Step AtCarried(uint64_t i) const;
  Step AtWithinEpoch(uint64_t i) const;
  bool IsLastOfEpoch(uint64_t i, const Step& step) const;
  void TakeRankRows(Step& step) const;

  uint64_t epoch_rows_;
  StepOptions options_;
  EpochPosition start_;
  uint64_t num_steps_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_STEPS_H_
