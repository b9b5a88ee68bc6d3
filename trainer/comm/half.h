// 16-bit floating-point numbers, as gradients may travel.
#ifndef PENSTOCK_TRAINER_COMM_HALF_H_
#define PENSTOCK_TRAINER_COMM_HALF_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

// How a float travels: bf16 keeps its range and 8 bits of precision, fp16 11 bits up to 65,504.
enum class WireFloat : uint8_t { kFp32, kBf16, kFp16 };

// Rounds to nearest, ties to even; what is too large for fp16 becomes infinite. REQUIRES: not fp32.
void ToHalves(WireFloat wire, const float* from, size_t count, uint16_t* to);
void FromHalves(WireFloat wire, const uint16_t* from, size_t count, float* to);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_HALF_H_
