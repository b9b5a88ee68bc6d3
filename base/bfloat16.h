// bfloat16: the upper 16 bits of a float.
#ifndef PENSTOCK_BASE_BFLOAT16_H_
#define PENSTOCK_BASE_BFLOAT16_H_

#include <bit>
#include <cstdint>

namespace penstock {

// Rounds to nearest, ties to even. A NaN stays a NaN.
inline uint16_t ToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// The float with the same value; exact.
inline float FromBf16(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }

}  // namespace penstock

#endif  // PENSTOCK_BASE_BFLOAT16_H_
