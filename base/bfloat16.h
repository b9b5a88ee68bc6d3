// The upper half of a float.
#ifndef PENSTOCK_BASE_BFLOAT16_H_
#define PENSTOCK_BASE_BFLOAT16_H_

#include <bit>
#include <cstdint>

namespace penstock {

// Rounds to nearest, ties to even; a NaN stays one.
inline uint16_t ToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float FromBf16(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }

}  // namespace penstock

#endif  // PENSTOCK_BASE_BFLOAT16_H_
