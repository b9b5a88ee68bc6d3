// The kernels of ExpandBits(), one set for each SIMD level.
#ifndef PENSTOCK_RECORDS_DECODE_BITS_KERNELS_H_
#define PENSTOCK_RECORDS_DECODE_BITS_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "records/decode/bits.h"

namespace penstock::bits_internal {

// `bytes` points at the block's base, moved to the repeat. Writes all 64 values to `out`.
void ExpandBlockScalar(const BitTable& table, const BitBlock& block, const uint8_t* bytes,
                       int8_t* out);

void ExpandRowsScalar(const BitTable& table, Dtype dtype, const uint8_t* const* rows, size_t n,
                      uint8_t* out);
void ExpandRowsAvx2(const BitTable& table, Dtype dtype, const uint8_t* const* rows, size_t n,
                    uint8_t* out);
void ExpandRowsAvx512(const BitTable& table, Dtype dtype, Stores stores, const uint8_t* const* rows,
                      size_t n, uint8_t* out);

}  // namespace penstock::bits_internal

#endif  // PENSTOCK_RECORDS_DECODE_BITS_KERNELS_H_
