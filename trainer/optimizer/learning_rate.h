// The learning rate of each step.
#ifndef PENSTOCK_TRAINER_OPTIMIZER_LEARNING_RATE_H_
#define PENSTOCK_TRAINER_OPTIMIZER_LEARNING_RATE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

enum class LearningRateShape : uint8_t { kConstant, kCosine };

// "constant" or "cosine". kInvalidArgument: another name; the message lists both.
absl::StatusOr<LearningRateShape> ParseLearningRateShape(absl::string_view name);

struct LearningRateSchedule {
  double peak = 1e-3;
  LearningRateShape shape = LearningRateShape::kConstant;
  uint64_t warmup_steps = 0;  // Rises linearly; step warmup_steps - 1 is the first at the peak.
  uint64_t total_steps = 0;   // Cosine falls to zero at this step (Loshchilov, Hutter,
                              // arXiv:1608.03983, one cycle).

  // kInvalidArgument: a rate that is not positive, or cosine without an end after the warm-up.
  absl::Status Validate() const;
  // `step` counts from 0.
  double At(uint64_t step) const;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_OPTIMIZER_LEARNING_RATE_H_
