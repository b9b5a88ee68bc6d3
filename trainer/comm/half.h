// 16-bit floating-point numbers for sending gradients.
#ifndef PENSTOCK_TRAINER_COMM_HALF_H_
#define PENSTOCK_TRAINER_COMM_HALF_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

// The number format for sending gradients. bf16 keeps float's range and 8 bits of precision. fp16
// (times 1,024, see kernels/numeric/wire.h) has 11 bits from 6e-8 up to 64.
enum class WireFloat : uint8_t { kFp32, kBf16, kFp16 };

// Rounds to nearest, ties to even. In fp16, 64 and more become infinite. REQUIRES: not fp32.
void ToHalves(WireFloat wire, const float* from, size_t count, uint16_t* to);
void FromHalves(WireFloat wire, const uint16_t* from, size_t count, float* to);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_HALF_H_
