#include "records/decode/value_fields.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "records/decode/compile_checks.h"

namespace penstock {
namespace {

absl::Status Needs(bool given, absl::string_view field, bool met, absl::string_view what) {
  if (!given || met) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " needs ", what));
}

absl::Status CheckLength(const ValueFields& fields) {
  if (fields.pad != nullptr) {
    PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(*fields.pad));
    if (fields.length() == 0) return absl::InvalidArgumentError("pad has length 0");
  } else {
    PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(*fields.ragged));
    if (fields.length() == 0) return absl::InvalidArgumentError("ragged has max_length 0");
  }
  if (fields.count != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("leave out ", fields.size_field,
                     ": pad and ragged take any number of values, and have a length of their own"));
  }
  if (fields.has_default) {
    return absl::InvalidArgumentError(
        "leave out default: with pad or ragged, a record without the feature has no values");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFields(const ValueFields& fields) {
  if (!fields.feature.empty() && !fields.feature_list.empty()) {
    return absl::InvalidArgumentError("give one of feature and feature_list");
  }
  const bool any_length = fields.any_length();
  const absl::string_view kLength = "pad or ragged";
  PENSTOCK_RETURN_IF_ERROR(
      Needs(!fields.feature_list.empty(), "feature_list", any_length, kLength));
  PENSTOCK_RETURN_IF_ERROR(Needs(fields.truncate, "truncate", any_length, kLength));
  PENSTOCK_RETURN_IF_ERROR(
      Needs(!fields.length_tensor.empty(), "length_tensor", any_length, kLength));
  const absl::string_view kOptional = "optional: true";
  PENSTOCK_RETURN_IF_ERROR(Needs(fields.has_default, "default", fields.optional, kOptional));
  PENSTOCK_RETURN_IF_ERROR(
      Needs(!fields.presence_tensor.empty(), "presence_tensor", fields.optional, kOptional));
  return any_length ? CheckLength(fields) : absl::OkStatus();
}

absl::StatusOr<Extent> ExtentOf(const ValueFields& fields) {
  PENSTOCK_ASSIGN_OR_RETURN(const size_t product,
                            Product(fields.shape, "shape", kMaxRowBytes, "elements"));
  Extent extent;
  if (fields.any_length()) {
    if (fields.shape.size() == kMaxAxes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the tensor has ", kMaxAxes + 1, " axes (", kMaxAxes,
                       " in shape, and one for the items); the limit is ", kMaxAxes));
    }
    extent.shape.push_back(fields.length());
    extent.item = product;
    extent.capacity = product * fields.length();
    if (extent.capacity > kMaxRowBytes) {
      return absl::ResourceExhaustedError(absl::StrCat("the tensor has ", extent.capacity,
                                                       " elements; a row has at most ",
                                                       kMaxRowBytes, " bytes"));
    }
  } else if (fields.shape.empty() && fields.count == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("give ", fields.size_field, " or shape, or pad or ragged for any number of ",
                     fields.size_field == "length" ? "bytes" : "values"));
  } else if (fields.shape.empty()) {
    extent.shape.push_back(fields.count);
    extent.capacity = fields.count;
  } else if (fields.count != 0 && fields.count != product) {
    return absl::InvalidArgumentError(absl::StrCat("shape [", absl::StrJoin(fields.shape, ", "),
                                                   "] holds ", product, " elements, ",
                                                   fields.size_field, " is ", fields.count));
  } else {
    extent.capacity = product;
  }
  extent.shape.insert(extent.shape.end(), fields.shape.begin(), fields.shape.end());
  return extent;
}

FeatureUse UseOf(const ValueFields& fields, FeatureType type, const Extent& extent) {
  const auto capacity = static_cast<uint32_t>(extent.capacity);
  const bool sequence = !fields.feature_list.empty();
  FeatureUse use{sequence ? fields.feature_list : fields.feature, type, capacity};
  if (!fields.any_length() && !fields.optional) return use;
  use.count = 0;
  use.variable = VariableUse{.optional = fields.optional, .sequence = sequence};
  if (!fields.any_length()) use.variable->min_count = capacity;
  if (!fields.truncate) use.variable->max_count = capacity;
  use.variable->multiple = static_cast<uint32_t>(extent.item);
  return use;
}

std::string LengthTensorName(const std::string& name, const ValueFields& fields) {
  if (!fields.length_tensor.empty() || fields.ragged == nullptr) return fields.length_tensor;
  return absl::StrCat(name, "_length");
}

absl::Status AddPresence(const std::string& presence_tensor, size_t column, PlanBuilder& plan) {
  return plan.AddNamedBy("presence_tensor", presence_tensor, Dtype::kU8, {}, PresenceStep{column});
}

}  // namespace penstock
