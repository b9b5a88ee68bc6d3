// The operation `label`.
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/decode/compile_checks.h"
#include "records/decode/compile_operations.h"
#include "records/decode/number_fill.h"
#include "records/decode/value_fields.h"

namespace penstock {
namespace {

absl::Status CheckLabel(const v1::Label& label) {
  PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(label));
  if (label.type() != v1::Label::INT64 && label.type() != v1::Label::FLOAT) {
    return absl::InvalidArgumentError(
        absl::StrCat("type ", static_cast<int>(label.type()), " is neither INT64 nor FLOAT"));
  }
  if (label.type() == v1::Label::FLOAT && label.add() != 0) {
    return absl::InvalidArgumentError("add is for INT64 only");
  }
  if (label.byte() != 0 && label.feature_bytes() == 0) {
    return absl::InvalidArgumentError(
        "byte needs feature_bytes, the number of bytes that every record has");
  }
  if (label.optional()) return absl::OkStatus();
  if (label.default_() != 0) return absl::InvalidArgumentError("default needs optional: true");
  if (!label.presence_tensor().empty()) {
    return absl::InvalidArgumentError("presence_tensor needs optional: true");
  }
  return absl::OkStatus();
}

absl::StatusOr<DecodeStep> StepOf(const v1::Label& label, FeatureType type, size_t column) {
  const double absent = label.default_();
  if (type == FeatureType::kInt64) {
    PENSTOCK_ASSIGN_OR_RETURN(const int64_t integer, WholeNumber("default", absent));
    if (!label.optional() && label.add() == 0) return CopyStep{column};
    return LabelStep{column, label.optional(), label.add(), integer};
  }
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint8_t> fill,
                            EncodeFill("default", {&absent, 1}, type, Dtype::kF32));
  if (!label.optional()) return CopyStep{column};
  return VariableNumbersStep{column, type, 1, std::move(fill)};
}

absl::Status CheckByteLabel(const v1::Label& label) {
  if (label.type() != v1::Label::INT64) {
    return absl::InvalidArgumentError("a byte is an INT64 label: leave out type");
  }
  if (label.optional()) {
    return absl::InvalidArgumentError(
        "feature_bytes is for a feature that every record has: leave out optional");
  }
  if (label.byte() >= label.feature_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("byte ", label.byte(),
                                                   " is outside of feature '", label.feature(),
                                                   "' of ", label.feature_bytes(), " bytes"));
  }
  if (label.add() > std::numeric_limits<int64_t>::max() - 0xff) {
    return absl::InvalidArgumentError(absl::StrCat(
        "add ", label.add(), " is too large: with the byte 255, the sum does not fit into int64"));
  }
  return absl::OkStatus();
}

absl::Status AddByteLabel(const std::string& name, const v1::Label& label, PlanBuilder& plan) {
  PENSTOCK_RETURN_IF_ERROR(CheckByteLabel(label));
  PENSTOCK_ASSIGN_OR_RETURN(
      const size_t column,
      plan.AddFeature({label.feature(), FeatureType::kBytes, label.feature_bytes()}));
  return plan.AddTensor(name, Dtype::kI64, {}, ByteStep{column, label.byte(), label.add()});
}

}  // namespace

absl::Status AddLabel(const std::string& name, const v1::Label& label, PlanBuilder& plan) {
  PENSTOCK_RETURN_IF_ERROR(CheckLabel(label));
  if (label.feature_bytes() != 0) return AddByteLabel(name, label, plan);
  const bool floats = label.type() == v1::Label::FLOAT;
  FeatureUse use{label.feature(), floats ? FeatureType::kFloat : FeatureType::kInt64, 1};
  if (label.optional()) {
    use.count = 0;
    use.variable = VariableUse{.optional = true, .min_count = 1, .max_count = 1};
  }
  const FeatureType type = use.type;
  PENSTOCK_ASSIGN_OR_RETURN(const size_t column, plan.AddFeature(std::move(use)));
  PENSTOCK_ASSIGN_OR_RETURN(DecodeStep step, StepOf(label, type, column));
  PENSTOCK_RETURN_IF_ERROR(
      plan.AddTensor(name, floats ? Dtype::kF32 : Dtype::kI64, {}, std::move(step)));
  return AddPresence(label.presence_tensor(), column, plan);
}

}  // namespace penstock
