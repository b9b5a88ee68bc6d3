#include "trainer/backend/backend.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "kernels/reference/adamw.h"

namespace penstock {

absl::Status Backend::Stage(const BatchRows& rows, const UpdateOptions& update, bool last) {
  if (staged_.has_value())
    return absl::InternalError("a batch was staged before the previous one was finished");
  staged_ = Staged{rows, update, last, {}};
  if (rows.targets != nullptr) staged_->targets.assign(rows.targets, rows.targets + rows.rows);
  return absl::OkStatus();
}

absl::StatusOr<StepResult> Backend::Finish() {
  if (!staged_.has_value())
    return absl::InternalError("Finish() was called without a staged batch");
  Staged batch = *std::exchange(staged_, std::nullopt);
  if (batch.rows.targets != nullptr) batch.rows.targets = batch.targets.data();
  if (batch.last) return Step(batch.rows, batch.update);
  PENSTOCK_ASSIGN_OR_RETURN(const double loss, Accumulate(batch.rows, batch.update));
  return StepResult{.loss = loss};
}

absl::Status Backend::AdoptGemmPlan(const std::string& plan) {
  const std::string own = Describe().gemm_plan;
  if (plan == own) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the GEMM plan is ", plan, " on rank 0 and ", own,
                   " on this rank: use the same build and library versions on all ranks"));
}

absl::Status CheckFinite(uint64_t step, const StepResult& result) {
  const bool goes_on =
      std::isfinite(result.loss) && result.gradient_norm <= reference::kLargestGradientNorm;
  if (goes_on) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("after step ", step, ": the next step's loss is ", result.loss,
                   " and its gradient norm ", result.gradient_norm,
                   ": the training diverged; lower --lr, raise --warmup-steps or set --clip-norm"));
}

absl::Status CheckJudged(size_t results, const BatchRows& rows) {
  if (results == 1 || rows.rows == 0 || rows.targets != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError("evaluating an image model needs the class of every row");
}

}  // namespace penstock
