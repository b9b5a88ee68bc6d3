// The operation `bits`.
#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "records/decode/compile_checks.h"
#include "records/decode/compile_operations.h"

namespace penstock {
namespace {

// Output axis i is stored axis transpose[i].
absl::StatusOr<std::vector<uint32_t>> CheckedTranspose(const v1::Bits& bits) {
  const int axes = bits.dims_size();
  std::vector<uint32_t> transpose(bits.transpose().begin(), bits.transpose().end());
  if (transpose.empty()) {
    for (int i = 0; i < axes; ++i) transpose.push_back(static_cast<uint32_t>(i));
  }
  std::vector<uint32_t> sorted = transpose;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size() || i < static_cast<size_t>(axes); ++i) {
    if (sorted.size() != static_cast<size_t>(axes) || sorted[i] != i) {
      return absl::InvalidArgumentError(absl::StrCat("transpose [", absl::StrJoin(transpose, ", "),
                                                     "] is no permutation of the ", axes,
                                                     " axes of dims"));
    }
  }
  return transpose;
}

absl::Status CheckSigns(const v1::Bits& bits) {
  const uint32_t axis = bits.sign_axis();
  if (axis >= static_cast<uint32_t>(bits.dims_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("sign_axis ", axis, " is none of the ", bits.dims_size(), " axes of dims"));
  }
  std::set<uint32_t> seen;
  for (const uint32_t index : bits.negative()) {
    if (index >= bits.dims(static_cast<int>(axis))) {
      return absl::InvalidArgumentError(absl::StrCat("negative index ", index,
                                                     " is outside of axis ", axis, " of size ",
                                                     bits.dims(static_cast<int>(axis))));
    }
    if (!seen.insert(index).second) {
      return absl::InvalidArgumentError(absl::StrCat("negative index ", index, " is given twice"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint32_t>> CheckedShape(const v1::Bits& bits, size_t size,
                                                   std::span<const uint32_t> transpose) {
  if (bits.shape().empty()) {
    std::vector<uint32_t> shape;
    for (const uint32_t axis : transpose) shape.push_back(bits.dims(static_cast<int>(axis)));
    return shape;
  }
  PENSTOCK_ASSIGN_OR_RETURN(const size_t product, Product(bits.shape(), "shape", kMaxBits, "bits"));
  if (product != size) {
    return absl::InvalidArgumentError(absl::StrCat("shape [", absl::StrJoin(bits.shape(), ", "),
                                                   "] holds ", product, " elements, dims [",
                                                   absl::StrJoin(bits.dims(), ", "), "] ", size));
  }
  return std::vector<uint32_t>(bits.shape().begin(), bits.shape().end());
}

Dtype BitsDtype(WireDtype wire_dtype) {
  switch (wire_dtype) {
    case WireDtype::kBf16:
      return Dtype::kBf16;
    case WireDtype::kF32:
      return Dtype::kF32;
    case WireDtype::kF64:
      return Dtype::kF64;
    default:
      return Dtype::kI8;
  }
}

}  // namespace

absl::Status AddBits(const std::string& name, const v1::Bits& bits, PlanBuilder& plan) {
  PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(bits));
  if (bits.dims().empty()) return absl::InvalidArgumentError("dims is empty");
  PENSTOCK_ASSIGN_OR_RETURN(
      const size_t column,
      plan.AddFeature({bits.feature(), FeatureType::kBytes, bits.feature_bytes()}));
  PENSTOCK_ASSIGN_OR_RETURN(const size_t size, Product(bits.dims(), "dims", kMaxBits, "bits"));
  PENSTOCK_RETURN_IF_ERROR(plan.TakeBits(size));
  if (uint64_t{bits.first_bit()} + size > uint64_t{8} * bits.feature_bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("bits ", bits.first_bit(), " to ", uint64_t{bits.first_bit()} + size - 1,
                     " are outside of feature '", bits.feature(), "' of ", bits.feature_bytes(),
                     " bytes (", uint64_t{8} * bits.feature_bytes(), " bits)"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint32_t> transpose, CheckedTranspose(bits));
  PENSTOCK_RETURN_IF_ERROR(CheckSigns(bits));
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint32_t> shape, CheckedShape(bits, size, transpose));
  BitsStep step{column, plan.NextTable(bits, size, transpose)};
  return plan.AddTensor(name, BitsDtype(plan.wire_dtype()), std::move(shape), std::move(step));
}

}  // namespace penstock
