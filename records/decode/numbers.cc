#include "records/decode/numbers.h"

#include <cstring>

#include "base/bfloat16.h"

namespace penstock {
namespace {

struct Bf16 {
  uint16_t bits;
};

template <typename To, typename From>
__attribute__((always_inline)) inline To Number(From value) {
  if constexpr (sizeof(To) == sizeof(Bf16)) {
    return {ToBf16(static_cast<float>(value))};
  } else {
    return static_cast<To>(value);
  }
}

// One loop without a branch, which compilers turn into the vectors of the caller's target.
template <typename From, typename To>
__attribute__((always_inline)) inline void ConvertRows(const uint8_t* const* rows, size_t n,
                                                       size_t count, uint8_t* __restrict out) {
  for (size_t row = 0; row < n; ++row, out += count * sizeof(To)) {
    const uint8_t* from = rows[row];
    for (size_t i = 0; i < count; ++i) {
      From value;
      std::memcpy(&value, from + i * sizeof(From), sizeof(From));
      const To number = Number<To>(value);
      std::memcpy(out + i * sizeof(To), &number, sizeof(To));
    }
  }
}

// A number a row, as labels are, needs no inner loop.
template <typename From, typename To>
__attribute__((always_inline)) inline void ConvertAny(const uint8_t* const* rows, size_t n,
                                                      size_t count, uint8_t* out) {
  if (count == 1) return ConvertRows<From, To>(rows, n, 1, out);
  ConvertRows<From, To>(rows, n, count, out);
}

template <typename From, typename To>
__attribute__((target("avx2"))) void ConvertAvx2(const uint8_t* const* rows, size_t n, size_t count,
                                                 uint8_t* out) {
  ConvertAny<From, To>(rows, n, count, out);
}

template <typename From, typename To>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void ConvertAvx512(
    const uint8_t* const* rows, size_t n, size_t count, uint8_t* out) {
  ConvertAny<From, To>(rows, n, count, out);
}

template <typename From, typename To>
void Convert(SimdLevel level, const uint8_t* const* rows, size_t n, size_t count, uint8_t* out) {
  switch (level) {
    case SimdLevel::kAvx512:
      return ConvertAvx512<From, To>(rows, n, count, out);
    case SimdLevel::kAvx2:
      return ConvertAvx2<From, To>(rows, n, count, out);
    case SimdLevel::kScalar:
      return ConvertAny<From, To>(rows, n, count, out);
  }
}

template <typename From>
void ConvertTo(Dtype dtype, SimdLevel level, const uint8_t* const* rows, size_t n, size_t count,
               uint8_t* out) {
  if (dtype == Dtype::kBf16) return Convert<From, Bf16>(level, rows, n, count, out);
  if (dtype == Dtype::kF64) return Convert<From, double>(level, rows, n, count, out);
  Convert<From, float>(level, rows, n, count, out);
}

}  // namespace

void ConvertNumbers(FeatureType type, Dtype dtype, SimdLevel level, const uint8_t* const* rows,
                    size_t n, size_t count, uint8_t* out) {
  if (type == FeatureType::kFloat) {
    ConvertTo<float>(dtype, level, rows, n, count, out);
  } else {
    ConvertTo<int64_t>(dtype, level, rows, n, count, out);
  }
}

}  // namespace penstock
