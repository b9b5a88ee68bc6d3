#include "trainer/backend/backend.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace penstock {

absl::Status CheckFinite(uint64_t step, const StepResult& result) {
  if (std::isfinite(result.loss) && std::isfinite(result.gradient_norm)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("step ", step, ": the loss is ", result.loss, " and the gradient's norm ",
                   result.gradient_norm,
                   ": training diverged before this step; lower the learning rate, add warm-up "
                   "steps or clip the norm"));
}

}  // namespace penstock
