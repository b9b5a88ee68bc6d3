#include "trainer/optimizer/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"

namespace penstock {

absl::StatusOr<LearningRateShape> ParseLearningRateShape(absl::string_view name) {
  if (name == "constant") return LearningRateShape::kConstant;
  if (name == "cosine") return LearningRateShape::kCosine;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown --lr-schedule \"", name, "\"; give constant or cosine"));
}

absl::Status LearningRateSchedule::Validate() const {
  if (!std::isfinite(peak) || peak <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the learning rate must be positive, not ", peak));
  }
  if (shape == LearningRateShape::kCosine && total_steps <= warmup_steps) {
    return absl::InvalidArgumentError(
        absl::StrCat("a cosine schedule of ", total_steps, " steps ends within its ", warmup_steps,
                     " warm-up steps: lower --warmup-steps or raise --steps"));
  }
  return absl::OkStatus();
}

double LearningRateSchedule::At(uint64_t step) const {
  if (step < warmup_steps) {
    return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  }
  if (shape == LearningRateShape::kConstant) return peak;
  const double done = static_cast<double>(std::min(step, total_steps) - warmup_steps) /
                      static_cast<double>(total_steps - warmup_steps);
  return peak * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace penstock
