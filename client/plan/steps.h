// The steps of a training or evaluation: which positions each step takes, and which of them belong
// to this rank.
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
  uint64_t epochs = 1;      // 0 means no end.
  uint32_t rank = 0;        // r
  uint32_t world_size = 1;  // R
};

struct EpochPosition {
  uint64_t epoch = 0;
  uint64_t position = 0;

  friend bool operator==(const EpochPosition&, const EpochPosition&) = default;
};

// Positions [position, position + rows) of an epoch. It is never empty.
struct RowRange {
  uint64_t epoch = 0;
  uint64_t position = 0;
  uint64_t rows = 0;

  friend bool operator==(const RowRange&, const RowRange&) = default;
};

struct Step {
  EpochPosition begin;  // Place of the global batch's first row.
  // The place at which to resume after the step. Its position is less than the epoch's rows.
  EpochPosition end;
  bool last_of_epoch = false;  // No later step begins in the same epoch.
  // n, the number of rows of the global batch. It is less than B only for a short step.
  uint64_t rows = 0;

  // This rank's rows: [rn/R, (r+1)n/R) of the global batch.
  uint64_t first_row = 0;
  uint64_t rank_rows = 0;  // 0 for some ranks of a short step with n < R.
  std::span<const RowRange> ranges() const { return {range.data(), num_ranges}; }

  std::array<RowRange, 2> range;  // Two entries if the step crosses into the next epoch (kCarry).
  size_t num_ranges = 0;
};

// The steps from a position on. For each epoch, the remainder rule applies to the rows that are
// left from that position on. Every step is a function of its number, so nothing is remembered.
// Thread-safe.
class Steps {
 public:
  // `start` may be anywhere in [0, epoch_rows], in any epoch up to `epochs`; in epoch `epochs` no
  // step is left.
  // kInvalidArgument: an epoch has fewer rows than B, and `remainder` is not kShort; B is less than
  // R; or the rank or `start` is out of range.
  static absl::StatusOr<Steps> Create(uint64_t epoch_rows, const StepOptions& options,
                                      EpochPosition start = {});

  // 2^64 - 1 if the steps have no end.
  uint64_t num_steps() const { return num_steps_; }
  // Number of steps from the beginning of epoch 0 to `start`, with these options.
  uint64_t steps_before() const;
  // Number of steps that begin in an epoch that is read from its start.
  uint64_t steps_per_epoch() const;
  // Maximum number of rows that any rank has in any step: ceil(B/R). A rank can have more rows of a
  // short step than of a full one.
  uint64_t max_rank_rows() const;

  // REQUIRES: i < num_steps().
  Step At(uint64_t i) const;

 private:
  Steps(uint64_t epoch_rows, const StepOptions& options, EpochPosition start);
  // Number of steps that kDrop or kShort makes from `rows` rows of one epoch.
  uint64_t StepsOf(uint64_t rows) const;
  uint64_t CountSteps() const;
  // The place `rows` rows after the first row of start_'s epoch.
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
