// The operation `bits`.
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/decode/compile_checks.h"
#include "records/decode/compile_operations.h"
#include "records/decode/stored_axes.h"

namespace penstock {
namespace {

absl::Status CheckOrder(const v1::Bits& bits) {
  if (v1::Bits::Order_IsValid(bits.order())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("order ", static_cast<int>(bits.order()),
                                                 " is neither MSB_FIRST nor LSB_FIRST"));
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
  PENSTOCK_RETURN_IF_ERROR(CheckOrder(bits));
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
  const StoredAxes axes(bits);
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint32_t> transpose, TransposeOf(axes));
  PENSTOCK_RETURN_IF_ERROR(CheckSigns(bits));
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint32_t> shape,
                            ShapeOf(axes, size, transpose, kMaxBits, "bits"));
  BitsStep step{column, plan.NextTable(bits, size, transpose)};
  return plan.AddTensor(name, BitsDtype(plan.wire_dtype()), std::move(shape), std::move(step));
}

}  // namespace penstock
