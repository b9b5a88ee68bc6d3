// The operation `number`.
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

absl::StatusOr<FeatureType> TypeOf(const v1::Number& number) {
  if (number.type() == v1::Number::INT64) return FeatureType::kInt64;
  if (number.type() == v1::Number::FLOAT) return FeatureType::kFloat;
  return absl::InvalidArgumentError(
      absl::StrCat("type ", static_cast<int>(number.type()), " is neither INT64 nor FLOAT"));
}

absl::StatusOr<Dtype> DtypeOf(const v1::Number& number, Dtype float_dtype) {
  if (number.type() == v1::Number::FLOAT) {
    if (number.as() == v1::Number::AUTO) return float_dtype;
    return absl::InvalidArgumentError("as is for INT64 only; --dtype says what FLOAT becomes");
  }
  switch (number.as()) {
    case v1::Number::AUTO:
      return Dtype::kI64;
    case v1::Number::I32:
      return Dtype::kI32;
    case v1::Number::F32:
      return Dtype::kF32;
    case v1::Number::BF16:
      return Dtype::kBf16;
    default:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("as ", static_cast<int>(number.as()), " is none of I32, F32, BF16"));
}

// Returns one number for all elements, or one for each element of the tensor.
absl::StatusOr<std::vector<uint8_t>> FillOf(const v1::Number& number, const ValueFields& fields,
                                            size_t elements, FeatureType type, Dtype dtype) {
  const auto given = static_cast<size_t>(number.default__size());
  if (given == 0) {
    const double value = fields.pad_value();
    return EncodeFill("pad value", {&value, 1}, type, dtype);
  }
  if (given != 1 && given != elements) {
    return absl::InvalidArgumentError(
        absl::StrCat("default has ", given, " values; give 1 for all, or ", elements));
  }
  return EncodeFill("default", {number.default_().data(), given}, type, dtype);
}

DecodeStep FixedStep(size_t column, size_t count, FeatureType type, Dtype dtype) {
  if (type == FeatureType::kFloat) return FloatsStep{column, count};
  if (dtype == Dtype::kI64) return CopyStep{column};
  return IntegersStep{column, count};
}

}  // namespace

absl::Status AddNumber(const std::string& name, const v1::Number& number, PlanBuilder& plan) {
  PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(number));
  PENSTOCK_ASSIGN_OR_RETURN(const FeatureType type, TypeOf(number));
  PENSTOCK_ASSIGN_OR_RETURN(const Dtype dtype, DtypeOf(number, plan.FloatDtype()));
  const ValueFields fields(number, "count", number.count(), number.default__size() > 0);
  PENSTOCK_RETURN_IF_ERROR(CheckFields(fields));
  PENSTOCK_ASSIGN_OR_RETURN(const Extent extent, ExtentOf(fields));
  const FeatureUse use = UseOf(fields, type, extent);
  PENSTOCK_ASSIGN_OR_RETURN(const size_t column, plan.AddFeature(use));
  if (!use.variable) {
    return plan.AddTensor(name, dtype, extent.shape,
                          FixedStep(column, extent.capacity, type, dtype));
  }
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint8_t> fill,
                            FillOf(number, fields, extent.capacity, type, dtype));
  PENSTOCK_RETURN_IF_ERROR(
      plan.AddTensor(name, dtype, extent.shape,
                     VariableNumbersStep{column, type, extent.capacity, std::move(fill)}));
  PENSTOCK_RETURN_IF_ERROR(
      plan.AddLengths(LengthTensorName(name, fields), {},
                      LengthStep{column, false, extent.item, extent.capacity / extent.item}));
  return AddPresence(fields.presence_tensor, column, plan);
}

}  // namespace penstock
