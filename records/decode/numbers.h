// Converts numbers from the types of features to the dtypes of tensors.
#ifndef PENSTOCK_RECORDS_DECODE_NUMBERS_H_
#define PENSTOCK_RECORDS_DECODE_NUMBERS_H_

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/simd_level.h"

namespace penstock {

// Both functions write `n` rows of `count` numbers to `out`, row-major without padding. rows[i]
// points at `count` little-endian values at any alignment. REQUIRES: level <= BestSimdLevel().
// Thread-safe.

// Converts floats. Rounds to nearest, ties to even. REQUIRES: dtype is kBf16, kF32 or kF64.
void ConvertFloats(Dtype dtype, SimdLevel level, const uint8_t* const* rows, size_t n, size_t count,
                   uint8_t* out);

// Converts 64-bit integers. Returns false if `dtype` cannot hold all of them exactly; `out` is then
// unspecified. REQUIRES: dtype is kI32, kBf16 or kF32.
[[nodiscard]] bool ConvertIntegers(Dtype dtype, SimdLevel level, const uint8_t* const* rows,
                                   size_t n, size_t count, uint8_t* out);

// Whether `dtype` can hold `value` exactly. REQUIRES: dtype is kI32, kBf16, kF32 or kI64.
bool HoldsExactly(Dtype dtype, int64_t value);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_NUMBERS_H_
