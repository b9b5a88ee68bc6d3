// Expands bits to numbers. Each output element is 0, +1 or -1, and is taken from one bit of a row's
// bytes.
#ifndef PENSTOCK_RECORDS_DECODE_BITS_H_
#define PENSTOCK_RECORDS_DECODE_BITS_H_

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/simd_level.h"
#include "records/decode/bit_table.h"

namespace penstock {

// kStreaming bypasses the caches if possible (StreamsBits()). Use it for outputs that are larger
// than the cache and are not read soon. Call StreamingFence() before you tell another thread about
// them.
enum class Stores : uint8_t { kCached, kStreaming };

// Whether kStreaming bypasses the caches: at level kAvx512, if the rows of `out` are aligned to 64
// bytes.
inline bool StreamsBits(SimdLevel level, const uint8_t* out, size_t row_bytes) {
  return level == SimdLevel::kAvx512 && reinterpret_cast<uintptr_t>(out) % 64 == 0 &&
         row_bytes % 64 == 0;
}

// Writes `n` rows of table.size elements to `out`, row-major without padding. rows[i] points at the
// bytes for which the table was built; nothing else is read. Zeros are +0.0.
// REQUIRES: dtype is kI8, kBf16, kF32 or kF64; level <= BestSimdLevel(). Thread-safe.
void ExpandBits(const BitTable& table, Dtype dtype, SimdLevel level, Stores stores,
                const uint8_t* const* rows, size_t n, uint8_t* out);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_BITS_H_
