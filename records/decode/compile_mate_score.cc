// The operation `mate_score`.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/decode/compile_checks.h"
#include "records/decode/compile_operations.h"

namespace penstock {
namespace {

absl::Status CheckParams(const MateScoreParams& params) {
  if (!(params.a > 0 && params.a <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("a = ", params.a, " is not in (0, 1]"));
  }
  if (!(params.b > 1 && std::isfinite(params.b))) {
    return absl::InvalidArgumentError(absl::StrCat("b = ", params.b, " is not above 1 and finite"));
  }
  if (!(params.k > 0 && std::isfinite(params.k))) {
    return absl::InvalidArgumentError(
        absl::StrCat("k = ", params.k, " is not positive and finite"));
  }
  return absl::OkStatus();
}

absl::Status CheckBit(uint32_t bit, uint32_t bytes, absl::string_view feature) {
  if (bit < uint64_t{8} * bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("mate_bit ", bit, " is outside of feature '",
                                                 feature, "' of ", bytes, " bytes (",
                                                 uint64_t{8} * bytes, " bits)"));
}

}  // namespace

absl::Status AddMateScore(const std::string& name, const v1::MateScore& score, PlanBuilder& plan) {
  PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(score));
  MateScoreStep step;
  step.mate_bit = score.mate_bit();
  if (score.a() != 0) step.params.a = score.a();
  if (score.b() != 0) step.params.b = score.b();
  if (score.k() != 0) step.params.k = score.k();
  PENSTOCK_RETURN_IF_ERROR(CheckParams(step.params));
  PENSTOCK_ASSIGN_OR_RETURN(step.column,
                            plan.AddFeature({score.feature(), FeatureType::kInt64, 1}));
  PENSTOCK_ASSIGN_OR_RETURN(
      step.mate_column,
      plan.AddFeature({score.mate_feature(), FeatureType::kBytes, score.mate_feature_bytes()}));
  PENSTOCK_RETURN_IF_ERROR(
      CheckBit(score.mate_bit(), score.mate_feature_bytes(), score.mate_feature()));
  const Dtype dtype = plan.wire_dtype() == WireDtype::kF64 ? Dtype::kF64 : Dtype::kF32;
  return plan.AddTensor(name, dtype, {}, step);
}

}  // namespace penstock
