#include "client/plan/steps.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

using Wide = unsigned __int128;

constexpr uint64_t kWithoutEnd = std::numeric_limits<uint64_t>::max();
// The limit leaves room to count upwards from any epoch that a cursor may name.
constexpr uint64_t kMaxEpoch = uint64_t{1} << 62;

uint64_t Saturate(Wide number) {
  return static_cast<uint64_t>(std::min<Wide>(number, kWithoutEnd));
}

uint64_t CeilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

absl::Status Validate(const StepOptions& options) {
  if (options.world_size == 0 || options.rank >= options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", options.rank, " is out of range for a world size of ",
                     options.world_size, "; ranks are numbered from 0"));
  }
  if (options.global_batch_size < options.world_size) {
    return absl::InvalidArgumentError(absl::StrCat("a global batch of ", options.global_batch_size,
                                                   " rows cannot be shared by ", options.world_size,
                                                   " ranks: each needs at least one row"));
  }
  if (options.epochs > kMaxEpoch) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.epochs, " epochs exceed the limit of 2^62; 0 means no end"));
  }
  return absl::OkStatus();
}

// Checks that an epoch has a full step, or, with kShort, any row at all.
absl::Status ValidateRows(uint64_t epoch_rows, const StepOptions& options) {
  const bool is_short = options.remainder == Remainder::kShort;
  if (epoch_rows >= options.global_batch_size || (is_short && epoch_rows > 0)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "an epoch of ", epoch_rows, " rows has no full step of ", options.global_batch_size,
      " rows: choose a smaller --global-batch-size, or --remainder short"));
}

absl::Status ValidateStart(uint64_t epoch_rows, uint64_t epochs, EpochPosition start) {
  if (start.position > epoch_rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("position ", start.position, " is beyond the epoch's ", epoch_rows, " rows"));
  }
  const uint64_t last = epochs == 0 ? kMaxEpoch : epochs;
  if (start.epoch > last || (start.epoch == last && start.position > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("epoch ", start.epoch, ", position ",
                                                   start.position, " is beyond the end of ", last,
                                                   " epochs"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Steps> Steps::Create(uint64_t epoch_rows, const StepOptions& options,
                                    EpochPosition start) {
  PENSTOCK_RETURN_IF_ERROR(Validate(options));
  PENSTOCK_RETURN_IF_ERROR(ValidateRows(epoch_rows, options));
  PENSTOCK_RETURN_IF_ERROR(ValidateStart(epoch_rows, options.epochs, start));
  return Steps(epoch_rows, options, start);
}

Steps::Steps(uint64_t epoch_rows, const StepOptions& options, EpochPosition start)
    : epoch_rows_(epoch_rows), options_(options), start_(start), num_steps_(CountSteps()) {}

uint64_t Steps::StepsOf(uint64_t rows) const {
  const uint64_t batch = options_.global_batch_size;
  return options_.remainder == Remainder::kDrop ? rows / batch : CeilDiv(rows, batch);
}

uint64_t Steps::CountSteps() const {
  if (options_.epochs == 0) return kWithoutEnd;
  const uint64_t epochs = options_.epochs - start_.epoch;
  if (epochs == 0) return 0;
  if (options_.remainder != Remainder::kCarry) {
    return Saturate(StepsOf(epoch_rows_ - start_.position) +
                    Wide{epochs - 1} * StepsOf(epoch_rows_));
  }
  const uint64_t batch = options_.global_batch_size;
  const Wide rows = Wide{epochs} * epoch_rows_ - start_.position;
  return Saturate((rows + batch - 1) / batch);
}

uint64_t Steps::steps_before() const {
  const uint64_t batch = options_.global_batch_size;
  if (options_.remainder == Remainder::kCarry) {
    return Saturate((Wide{start_.epoch} * epoch_rows_ + start_.position + batch - 1) / batch);
  }
  return Saturate(Wide{start_.epoch} * StepsOf(epoch_rows_) + CeilDiv(start_.position, batch));
}

uint64_t Steps::steps_per_epoch() const { return StepsOf(epoch_rows_); }

uint64_t Steps::max_rank_rows() const {
  return CeilDiv(std::min(options_.global_batch_size, epoch_rows_), options_.world_size);
}

EpochPosition Steps::After(Wide rows) const {
  return {start_.epoch + static_cast<uint64_t>(rows / epoch_rows_),
          static_cast<uint64_t>(rows % epoch_rows_)};
}

Step Steps::AtCarried(uint64_t i) const {
  const Wide begin = start_.position + Wide{i} * options_.global_batch_size;
  Wide end = begin + options_.global_batch_size;
  if (options_.epochs != 0) {
    end = std::min(end, Wide{options_.epochs - start_.epoch} * epoch_rows_);
  }
  Step step;
  step.begin = After(begin);
  step.end = After(end);
  step.rows = static_cast<uint64_t>(end - begin);
  return step;
}

Step Steps::AtWithinEpoch(uint64_t i) const {
  const uint64_t batch = options_.global_batch_size;
  const uint64_t first_epoch = StepsOf(epoch_rows_ - start_.position);
  Step step;
  if (i < first_epoch) {
    step.begin = {start_.epoch, start_.position + i * batch};
  } else {
    const uint64_t later = i - first_epoch;
    const uint64_t per_epoch = StepsOf(epoch_rows_);
    step.begin = {start_.epoch + 1 + later / per_epoch, later % per_epoch * batch};
  }
  const auto [epoch, position] = step.begin;
  step.rows = std::min(batch, epoch_rows_ - position);
  step.end = {epoch, position + step.rows};
  if (step.end.position == epoch_rows_) step.end = {epoch + 1, 0};
  return step;
}

bool Steps::IsLastOfEpoch(uint64_t i, const Step& step) const {
  const bool drops = options_.remainder == Remainder::kDrop;
  return i + 1 == num_steps_ || step.end.epoch != step.begin.epoch ||
         (drops && epoch_rows_ - step.end.position < options_.global_batch_size);
}

void Steps::TakeRankRows(Step& step) const {
  const Wide ranks = options_.world_size;
  step.first_row = static_cast<uint64_t>(Wide{step.rows} * options_.rank / ranks);
  const uint64_t end = static_cast<uint64_t>(Wide{step.rows} * (options_.rank + Wide{1}) / ranks);
  step.rank_rows = end - step.first_row;

  auto [epoch, position] = step.begin;
  position += step.first_row;
  for (uint64_t left = step.rank_rows; left > 0;) {
    if (position >= epoch_rows_) {
      position -= epoch_rows_;
      ++epoch;
    }
    const uint64_t rows = std::min(left, epoch_rows_ - position);
    step.range[step.num_ranges++] = {epoch, position, rows};
    position += rows;
    left -= rows;
  }
}

Step Steps::At(uint64_t i) const {
  Step step = options_.remainder == Remainder::kCarry ? AtCarried(i) : AtWithinEpoch(i);
  step.last_of_epoch = IsLastOfEpoch(i, step);
  TakeRankRows(step);
  return step;
}

}  // namespace penstock
