// bfloat16: the upper half of a float. Host and device give the same bits.
#ifndef PENSTOCK_KERNELS_NUMERIC_BF16_H_
#define PENSTOCK_KERNELS_NUMERIC_BF16_H_

#include <bit>
#include <cstdint>

#include "kernels/numeric/host_device.h"

namespace penstock {

struct Bf16 {
  uint16_t bits;
  friend constexpr bool operator==(Bf16, Bf16) = default;
};

PENSTOCK_HOST_DEVICE inline float ToFloat(Bf16 x) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(static_cast<uint32_t>(x.bits) << 16);
#else
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
#endif
}
PENSTOCK_HOST_DEVICE inline float ToFloat(float x) { return x; }

// Rounds two values to nearest, ties to even, and packs them with `low` in the lower half. NaN
// becomes 0x7fff.
PENSTOCK_HOST_DEVICE inline uint32_t PackBf16(float low, float high) {
#if defined(__CUDA_ARCH__)
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
#else
  auto round = [](float x) -> uint32_t {
    if (x != x) return 0x7fff;
    const auto bits = std::bit_cast<uint32_t>(x);
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  };
  return round(low) | round(high) << 16;
#endif
}

// FromFloat<T>(x) is x rounded to the nearest T.
template <typename T>
PENSTOCK_HOST_DEVICE inline T FromFloat(float x);
template <>
PENSTOCK_HOST_DEVICE inline float FromFloat<float>(float x) {
  return x;
}
template <>
PENSTOCK_HOST_DEVICE inline Bf16 FromFloat<Bf16>(float x) {
  return {static_cast<uint16_t>(PackBf16(x, 0.0f) & 0xffff)};
}

}  // namespace penstock

#endif  // PENSTOCK_KERNELS_NUMERIC_BF16_H_
