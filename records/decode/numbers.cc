#include "records/decode/numbers.h"

#include <cstring>
#include <type_traits>

#include "base/bfloat16.h"

#define PENSTOCK_INLINE __attribute__((always_inline)) inline

namespace penstock {
namespace {

struct Bf16 {
  uint16_t bits;
};

template <typename To, typename From>
PENSTOCK_INLINE To Number(From value) {
  if constexpr (sizeof(To) == sizeof(Bf16)) {
    return {ToBf16(static_cast<float>(value))};
  } else {
    return static_cast<To>(value);
  }
}

// Whether a float with `kDigits` binary digits can hold the integer, that is, whether the integer
// has no more digits between its highest and lowest 1. For 0, and if the lowest 1 is so high that
// the shift overflows, the bound wraps to the maximum; these integers fit.
template <unsigned kDigits>
PENSTOCK_INLINE bool HasDigits(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  const uint64_t magnitude = value < 0 ? -bits : bits;
  const uint64_t lowest = magnitude & -magnitude;
  return magnitude <= (lowest << kDigits) - 1;
}

template <typename To>
PENSTOCK_INLINE bool Holds(int64_t value) {
  if constexpr (sizeof(To) == sizeof(Bf16)) {
    return HasDigits<8>(value);
  } else if constexpr (std::is_integral_v<To>) {
    return value == static_cast<To>(value);
  } else {
    return HasDigits<24>(value);
  }
}

// A single loop without branches, which compilers vectorise for the caller's target.
template <typename From, typename To>
PENSTOCK_INLINE bool ConvertRows(const uint8_t* const* rows, size_t n, size_t count,
                                 uint8_t* __restrict out) {
  uint64_t inexact = 0;
  for (size_t row = 0; row < n; ++row, out += count * sizeof(To)) {
    const uint8_t* from = rows[row];
    for (size_t i = 0; i < count; ++i) {
      From value;
      std::memcpy(&value, from + i * sizeof(From), sizeof(From));
      const To number = Number<To>(value);
      std::memcpy(out + i * sizeof(To), &number, sizeof(To));
      if constexpr (sizeof(From) == sizeof(int64_t)) inexact |= Holds<To>(value) ? 0 : 1;
    }
  }
  return inexact == 0;
}

// Rows of one number, such as labels, need no inner loop.
template <typename From, typename To>
PENSTOCK_INLINE bool ConvertAny(const uint8_t* const* rows, size_t n, size_t count, uint8_t* out) {
  if (count == 1) return ConvertRows<From, To>(rows, n, 1, out);
  return ConvertRows<From, To>(rows, n, count, out);
}

template <typename From, typename To>
__attribute__((target("avx2"))) bool ConvertAvx2(const uint8_t* const* rows, size_t n, size_t count,
                                                 uint8_t* out) {
  return ConvertAny<From, To>(rows, n, count, out);
}

template <typename From, typename To>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) bool ConvertAvx512(
    const uint8_t* const* rows, size_t n, size_t count, uint8_t* out) {
  return ConvertAny<From, To>(rows, n, count, out);
}

template <typename From, typename To>
bool Convert(SimdLevel level, const uint8_t* const* rows, size_t n, size_t count, uint8_t* out) {
  switch (level) {
    case SimdLevel::kAvx512:
      return ConvertAvx512<From, To>(rows, n, count, out);
    case SimdLevel::kAvx2:
      return ConvertAvx2<From, To>(rows, n, count, out);
    case SimdLevel::kScalar:
      break;
  }
  return ConvertAny<From, To>(rows, n, count, out);
}

}  // namespace

void ConvertFloats(Dtype dtype, SimdLevel level, const uint8_t* const* rows, size_t n, size_t count,
                   uint8_t* out) {
  if (dtype == Dtype::kBf16) {
    Convert<float, Bf16>(level, rows, n, count, out);
  } else if (dtype == Dtype::kF64) {
    Convert<float, double>(level, rows, n, count, out);
  } else {
    Convert<float, float>(level, rows, n, count, out);
  }
}

bool ConvertIntegers(Dtype dtype, SimdLevel level, const uint8_t* const* rows, size_t n,
                     size_t count, uint8_t* out) {
  if (dtype == Dtype::kBf16) return Convert<int64_t, Bf16>(level, rows, n, count, out);
  if (dtype == Dtype::kF32) return Convert<int64_t, float>(level, rows, n, count, out);
  return Convert<int64_t, int32_t>(level, rows, n, count, out);
}

bool HoldsExactly(Dtype dtype, int64_t value) {
  if (dtype == Dtype::kBf16) return Holds<Bf16>(value);
  if (dtype == Dtype::kF32) return Holds<float>(value);
  return dtype == Dtype::kI64 || Holds<int32_t>(value);
}

}  // namespace penstock
