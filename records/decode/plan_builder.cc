#include "records/decode/plan_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/decode/compile_checks.h"

namespace penstock {
namespace {

Dtype PackedDtype(FeatureType type) {
  switch (type) {
    case FeatureType::kInt64:
      return Dtype::kI64;
    case FeatureType::kFloat:
      return Dtype::kF32;
    case FeatureType::kNone:
    case FeatureType::kBytes:
      break;
  }
  return Dtype::kU8;
}

template <typename Step>
size_t ColumnOf(const Step& step) {
  return step.column;
}

size_t ColumnOf(const VariableStep& step) {
  return std::visit([](const auto& any) { return any.column; }, step);
}

bool IsFallible(const DecodeStep& step) {
  return std::holds_alternative<IntegersStep>(step) || std::holds_alternative<VariableStep>(step) ||
         std::holds_alternative<ImageStep>(step);
}

absl::Status RefuseRaw(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("with records: RAW, feature '", kRawFeature, "' is the whole payload: ", what));
}

}  // namespace

Dtype PlanBuilder::FloatDtype() const {
  switch (wire_dtype_) {
    case WireDtype::kBf16:
      return Dtype::kBf16;
    case WireDtype::kF64:
      return Dtype::kF64;
    default:
      return Dtype::kF32;
  }
}

absl::Status PlanBuilder::TakeName(const std::string& name) {
  PENSTOCK_RETURN_IF_ERROR(CheckTensorName(name));
  if (names_.insert(name).second) return absl::OkStatus();
  return absl::InvalidArgumentError("another tensor has this name");
}

absl::Status PlanBuilder::CheckRaw(const FeatureUse& feature) const {
  if (feature.name != kRawFeature) {
    return absl::InvalidArgumentError(absl::StrCat("feature '", feature.name,
                                                   "': with records: RAW, the only feature is '",
                                                   kRawFeature, "', the whole payload"));
  }
  if (feature.type != FeatureType::kBytes) {
    return RefuseRaw(absl::StrCat("bytes, not ", FeatureTypeName(feature.type)));
  }
  if (!feature.variable) return absl::OkStatus();
  if (feature.variable->list) return RefuseRaw("one value, no list");
  if (feature.variable->optional) return RefuseRaw("every record has it, leave out `optional`");
  return absl::OkStatus();
}

absl::StatusOr<size_t> PlanBuilder::AddFeature(FeatureUse feature) {
  if (feature.name.empty()) return absl::InvalidArgumentError("names no feature");
  if (feature.name.size() > kMaxFeatureNameLength) {
    return absl::ResourceExhaustedError(absl::StrCat("a feature's name has ", feature.name.size(),
                                                     " bytes; the limit is ",
                                                     kMaxFeatureNameLength));
  }
  const std::string shown = feature.name;
  if ((feature.variable ? feature.variable->max_count : feature.count) == 0) {
    const bool bytes = feature.type == FeatureType::kBytes;
    return absl::InvalidArgumentError(
        absl::StrCat("feature '", shown, "' has 0 ", bytes ? "byte(s)" : "value(s)"));
  }
  if (records_ == v1::DecodeSpec::RAW) {
    PENSTOCK_RETURN_IF_ERROR(CheckRaw(feature));
    feature.name.clear();
  }
  for (size_t i = 0; i < plan_.features.size(); ++i) {
    const FeatureUse& known = plan_.features[i];
    const bool same_map = known.is_feature_list() == feature.is_feature_list();
    if (known.name != feature.name || !same_map) continue;
    if (known.type == feature.type && known.count == feature.count &&
        known.variable == feature.variable) {
      return i;
    }
    return absl::InvalidArgumentError(absl::StrCat("feature '", shown, "' is ", Describe(feature),
                                                   " here and ", Describe(known),
                                                   " in an earlier tensor"));
  }
  feature_bytes_ += feature.row_bytes();
  if (feature_bytes_ > kMaxRowBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("with feature '", shown, "' a record has ",
                                                     feature_bytes_, " bytes; the limit is ",
                                                     kMaxRowBytes));
  }
  plan_.fetch_bytes.push_back(std::min(feature.row_bytes(), kMaxFetchBytes));
  if (feature.variable) plan_.variable_columns.push_back(plan_.features.size());
  plan_.features.push_back(std::move(feature));
  return plan_.features.size() - 1;
}

absl::Status PlanBuilder::AddTensor(const std::string& name, Dtype dtype,
                                    std::vector<uint32_t> shape, DecodeStep step) {
  if (packed()) return absl::OkStatus();
  if (plan_.tensors.size() == kMaxTensors) {
    return absl::ResourceExhaustedError(absl::StrCat("with tensor '", name, "' a row has ",
                                                     kMaxTensors + 1, " tensors; the limit is ",
                                                     kMaxTensors));
  }
  return Append(name, dtype, std::move(shape), std::move(step));
}

absl::Status PlanBuilder::AddNamedBy(absl::string_view field, const std::string& name, Dtype dtype,
                                     std::vector<uint32_t> shape, DecodeStep step) {
  if (name.empty()) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(Annotate(TakeName(name), absl::StrCat(field, " '", name, "'")));
  return AddTensor(name, dtype, std::move(shape), std::move(step));
}

absl::Status PlanBuilder::AddLengths(const std::string& name, std::vector<uint32_t> shape,
                                     DecodeStep step) {
  const size_t lengths = plan_.tensors.size();
  PENSTOCK_RETURN_IF_ERROR(
      AddNamedBy("length_tensor", name, Dtype::kI64, std::move(shape), std::move(step)));
  if (plan_.tensors.size() > lengths) plan_.tensors[lengths - 1].lengths = lengths;
  return absl::OkStatus();
}

absl::Status PlanBuilder::Append(const std::string& name, Dtype dtype, std::vector<uint32_t> shape,
                                 DecodeStep step) {
  size_t row_bytes = DtypeSize(dtype);
  for (const uint32_t size : shape) row_bytes *= size;
  plan_.row_bytes += row_bytes;
  if (plan_.row_bytes > kMaxRowBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("with tensor '", name, "' a row has ",
                                                     plan_.row_bytes, " bytes; the limit is ",
                                                     kMaxRowBytes));
  }
  plan_.fallible |= IsFallible(step);
  const size_t column = std::visit([](const auto& any) { return ColumnOf(any); }, step);
  plan_.tensors.push_back(TensorInfo{name, dtype, std::move(shape), row_bytes, column});
  plan_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status PlanBuilder::TakeBits(size_t size) {
  num_bits_ += size;
  if (num_bits_ <= kMaxBits) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the spec expands more than ", kMaxBits, " bits a row"));
}

std::shared_ptr<const BitTable> PlanBuilder::NextTable(const v1::Bits& bits, size_t size,
                                                       std::span<const uint32_t> transpose) {
  return packed() ? nullptr : tables_.Get(num_tables_++, bits, size, transpose);
}

absl::Status PlanBuilder::Finish() {
  if (!packed()) return absl::OkStatus();
  for (size_t column = 0; column < plan_.features.size(); ++column) {
    const FeatureUse& feature = plan_.features[column];
    const std::string name(ShownName(feature));
    if (feature.variable) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dtype 'packed' sends features as they are, so each needs one length; feature '", name,
          "' varies: choose another --dtype"));
    }
    PENSTOCK_RETURN_IF_ERROR(
        Append(name, PackedDtype(feature.type), {feature.count}, CopyStep{column}));
  }
  return absl::OkStatus();
}

}  // namespace penstock
