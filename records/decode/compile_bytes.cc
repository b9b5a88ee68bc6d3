// The operation `bytes`.
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "records/decode/compile_checks.h"
#include "records/decode/compile_operations.h"
#include "records/decode/stored_axes.h"
#include "records/decode/value_fields.h"

namespace penstock {
namespace {

absl::StatusOr<uint8_t> PadByte(const ValueFields& fields) {
  const double value = fields.pad_value();
  if (value >= 0 && value <= 255 && value == static_cast<int>(value)) {
    return static_cast<uint8_t>(value);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("pad value ", value, " is no whole number from 0 to 255"));
}

absl::Status CheckList(const v1::Bytes& bytes, const ValueFields& fields) {
  PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(bytes.list()));
  if (!fields.any_length()) {
    return absl::InvalidArgumentError(
        "list needs pad or ragged, which say how many bytes each value may have");
  }
  if (!fields.shape.empty()) return absl::InvalidArgumentError("give one of list and shape");
  if (bytes.list().count() == 0) return absl::InvalidArgumentError("list has count 0");
  return absl::OkStatus();
}

absl::Status AddList(const std::string& name, const v1::Bytes& bytes, const ValueFields& fields,
                     PlanBuilder& plan) {
  PENSTOCK_RETURN_IF_ERROR(CheckList(bytes, fields));
  PENSTOCK_ASSIGN_OR_RETURN(const uint8_t fill, PadByte(fields));
  const uint32_t count = bytes.list().count();
  const uint32_t length = fields.length();
  const bool sequence = !fields.feature_list.empty();
  FeatureUse use{sequence ? fields.feature_list : fields.feature, FeatureType::kBytes};
  use.variable = VariableUse{.optional = fields.optional, .sequence = sequence, .list = true};
  if (!fields.truncate) {
    use.variable->max_count = count;
    use.variable->max_bytes = length;
  }
  PENSTOCK_ASSIGN_OR_RETURN(const size_t column, plan.AddFeature(std::move(use)));
  PENSTOCK_RETURN_IF_ERROR(plan.AddTensor(name, Dtype::kU8, {count, length},
                                          BytesListStep{column, count, length, fill}));
  PENSTOCK_RETURN_IF_ERROR(plan.AddLengths(LengthTensorName(name, fields), {count},
                                           ListLengthsStep{column, count, length}));
  PENSTOCK_RETURN_IF_ERROR(plan.AddNamedBy("count_tensor", bytes.list().count_tensor(), Dtype::kI64,
                                           {}, LengthStep{column, false, 1, count}));
  return AddPresence(fields.presence_tensor, column, plan);
}

// Returns one byte for all elements, or one for each element of the tensor.
absl::StatusOr<std::vector<uint8_t>> FillOf(const v1::Bytes& bytes, const ValueFields& fields,
                                            size_t length) {
  const std::string& given = bytes.default_();
  if (given.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(const uint8_t byte, PadByte(fields));
    return std::vector<uint8_t>{byte};
  }
  if (given.size() == length) return std::vector<uint8_t>(given.begin(), given.end());
  return absl::InvalidArgumentError(
      absl::StrCat("default has ", given.size(), " bytes, but the feature has ", length));
}

absl::Status CheckPart(const v1::Bytes& bytes, const ValueFields& fields) {
  const bool varies = fields.any_length() || fields.optional || bytes.has_list();
  if (varies || !fields.feature_list.empty()) {
    return absl::InvalidArgumentError(
        "feature_bytes, first_byte, dims and transpose are for a feature that every record has in "
        "one length: leave out optional, pad, ragged, list and feature_list");
  }
  if (bytes.first_byte() != 0 && bytes.feature_bytes() == 0) {
    return absl::InvalidArgumentError(
        "first_byte needs feature_bytes, the number of bytes that every record has");
  }
  if (!bytes.transpose().empty() && bytes.dims().empty()) {
    return absl::InvalidArgumentError(
        "transpose needs dims, the shape in which the bytes are stored");
  }
  return absl::OkStatus();
}

// Returns the shape of the tensor and its number of bytes.
absl::StatusOr<Extent> PartExtent(const v1::Bytes& bytes, const ValueFields& fields,
                                  std::span<const uint32_t> transpose) {
  if (bytes.dims().empty()) return ExtentOf(fields);
  Extent extent;
  PENSTOCK_ASSIGN_OR_RETURN(extent.capacity, Product(bytes.dims(), "dims", kMaxRowBytes, "bytes"));
  if (bytes.length() != 0 && bytes.length() != extent.capacity) {
    return absl::InvalidArgumentError(absl::StrCat("dims [", absl::StrJoin(bytes.dims(), ", "),
                                                   "] holds ", extent.capacity,
                                                   " elements, length is ", bytes.length()));
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      extent.shape, ShapeOf(StoredAxes(bytes), extent.capacity, transpose, kMaxRowBytes, "bytes"));
  return extent;
}

absl::Status AddPart(const std::string& name, const v1::Bytes& bytes, const ValueFields& fields,
                     PlanBuilder& plan) {
  PENSTOCK_RETURN_IF_ERROR(CheckPart(bytes, fields));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint32_t> transpose, TransposeOf(StoredAxes(bytes)));
  PENSTOCK_ASSIGN_OR_RETURN(const Extent extent, PartExtent(bytes, fields, transpose));
  const auto size = static_cast<uint32_t>(extent.capacity);
  const uint32_t feature_bytes = bytes.feature_bytes() != 0 ? bytes.feature_bytes() : size;
  const uint32_t first = bytes.first_byte();
  if (uint64_t{first} + size > feature_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bytes ", first, " to ", uint64_t{first} + size - 1, " are outside of feature '",
        bytes.feature(), "' of ", feature_bytes, " bytes"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const size_t column,
                            plan.AddFeature({bytes.feature(), FeatureType::kBytes, feature_bytes}));
  if (bytes.transpose().empty()) {
    return plan.AddTensor(name, Dtype::kU8, extent.shape, CopyStep{column, first});
  }
  const std::vector<uint32_t> dims(bytes.dims().begin(), bytes.dims().end());
  return plan.AddTensor(name, Dtype::kU8, extent.shape,
                        TransposeStep{column, first, ByteTranspose(dims, transpose)});
}

}  // namespace

bool TakesPart(const v1::Bytes& bytes) {
  return bytes.feature_bytes() != 0 || bytes.first_byte() != 0 || !bytes.dims().empty() ||
         !bytes.transpose().empty();
}

absl::Status AddBytes(const std::string& name, const v1::Bytes& bytes, PlanBuilder& plan) {
  PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(bytes));
  const ValueFields fields(bytes, "length", bytes.length(), !bytes.default_().empty());
  PENSTOCK_RETURN_IF_ERROR(CheckFields(fields));
  if (TakesPart(bytes)) return AddPart(name, bytes, fields, plan);
  if (bytes.has_list()) return AddList(name, bytes, fields, plan);
  if (!fields.feature_list.empty()) {
    return absl::InvalidArgumentError("feature_list needs list: each step has a value of its own");
  }
  PENSTOCK_ASSIGN_OR_RETURN(const Extent extent, ExtentOf(fields));
  const FeatureUse use = UseOf(fields, FeatureType::kBytes, extent);
  PENSTOCK_ASSIGN_OR_RETURN(const size_t column, plan.AddFeature(use));
  if (!use.variable) return plan.AddTensor(name, Dtype::kU8, extent.shape, CopyStep{column});
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint8_t> fill, FillOf(bytes, fields, extent.capacity));
  PENSTOCK_RETURN_IF_ERROR(plan.AddTensor(
      name, Dtype::kU8, extent.shape, VariableBytesStep{column, extent.capacity, std::move(fill)}));
  PENSTOCK_RETURN_IF_ERROR(
      plan.AddLengths(LengthTensorName(name, fields), {},
                      LengthStep{column, true, extent.item, extent.capacity / extent.item}));
  return AddPresence(fields.presence_tensor, column, plan);
}

}  // namespace penstock
