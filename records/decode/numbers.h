// Numbers as features hold them to numbers as tensors do.
#ifndef PENSTOCK_RECORDS_DECODE_NUMBERS_H_
#define PENSTOCK_RECORDS_DECODE_NUMBERS_H_

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "records/decode/simd_level.h"
#include "records/format/example.h"

namespace penstock {

// Writes `n` rows of `count` numbers to `out`, row-major without padding. rows[i] points at `count`
// values of `type`, little-endian, at any alignment. A conversion rounds to nearest, ties to even;
// to bf16 an int64 is rounded to float first.
// REQUIRES: type is kInt64 or kFloat; dtype is kBf16, kF32 or kF64; level <= BestSimdLevel().
// Thread-safe.
void ConvertNumbers(FeatureType type, Dtype dtype, SimdLevel level, const uint8_t* const* rows,
                    size_t n, size_t count, uint8_t* out);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_NUMBERS_H_
