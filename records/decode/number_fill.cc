#include "records/decode/number_fill.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/decode/numbers.h"
#include "records/decode/variable_steps.h"

namespace penstock {
namespace {

absl::Status EncodeInteger(absl::string_view field, double value, Dtype dtype, uint8_t* out) {
  PENSTOCK_ASSIGN_OR_RETURN(const int64_t integer, WholeNumber(field, value));
  if (!HoldsExactly(dtype, integer)) return Annotate(NotExact(integer, dtype), field);
  const auto* from = reinterpret_cast<const uint8_t*>(&integer);
  if (dtype == Dtype::kI64) {
    std::copy_n(from, sizeof(integer), out);
  } else {
    // Cannot fail, because the value fits.
    static_cast<void>(ConvertIntegers(dtype, SimdLevel::kScalar, &from, 1, 1, out));
  }
  return absl::OkStatus();
}

absl::Status EncodeFloat(absl::string_view field, double value, Dtype dtype, uint8_t* out) {
  if (std::isfinite(value) && std::fabs(value) > std::numeric_limits<float>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(field, " ", value, " is beyond any float"));
  }
  const auto number = static_cast<float>(value);
  const auto* from = reinterpret_cast<const uint8_t*>(&number);
  ConvertFloats(dtype, SimdLevel::kScalar, &from, 1, 1, out);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> WholeNumber(absl::string_view field, double value) {
  // 2^53 may have been written as 2^53 + 1.
  if (value == std::trunc(value) && std::fabs(value) < 0x1p53) return static_cast<int64_t>(value);
  return absl::InvalidArgumentError(
      absl::StrCat(field, " ", value,
                   " must be a whole number below 2^53 (9007199254740992), because larger numbers "
                   "are not exact in "
                   "a spec"));
}

absl::StatusOr<std::vector<uint8_t>> EncodeFill(absl::string_view field,
                                                std::span<const double> values, FeatureType type,
                                                Dtype dtype) {
  const size_t size = DtypeSize(dtype);
  std::vector<uint8_t> fill(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    uint8_t* out = fill.data() + i * size;
    PENSTOCK_RETURN_IF_ERROR(type == FeatureType::kFloat
                                 ? EncodeFloat(field, values[i], dtype, out)
                                 : EncodeInteger(field, values[i], dtype, out));
  }
  return fill;
}

}  // namespace penstock
