// IEEE 754 half precision: 11 bits up to 65,504. Host and device give the same bits, except for
// NaNs.
#ifndef PENSTOCK_KERNELS_NUMERIC_FP16_H_
#define PENSTOCK_KERNELS_NUMERIC_FP16_H_

#include <bit>
#include <cstdint>

#include "kernels/numeric/bf16.h"
#include "kernels/numeric/host_device.h"

namespace penstock {

struct Fp16 {
  uint16_t bits;
  friend constexpr bool operator==(Fp16, Fp16) = default;
};

PENSTOCK_HOST_DEVICE inline float ToFloat(Fp16 x) {
#if defined(__CUDA_ARCH__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
#else
  const uint32_t sign = uint32_t{x.bits & 0x8000u} << 16, magnitude = x.bits & 0x7fffu;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | magnitude << 13);
  if (magnitude < 0x400) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
#endif
}

// Rounds to nearest, ties to even. 65,520 and above become infinite.
template <>
PENSTOCK_HOST_DEVICE inline Fp16 FromFloat<Fp16>(float x) {
#if defined(__CUDA_ARCH__)
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return {bits};
#else
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  auto with_sign = [sign](uint32_t half) { return Fp16{static_cast<uint16_t>(sign | half)}; };
  if (magnitude > 0x7f800000) return with_sign(0x7e00);  // NaN.
  if (magnitude >= 0x477ff000) return with_sign(0x7c00);
  if (magnitude < 0x38800000) {  // Subnormal: adding 0.5 aligns its last bit.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return with_sign(std::bit_cast<uint32_t>(aligned) - 0x3f000000);
  }
  return with_sign((magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
#endif
}

}  // namespace penstock

#endif  // PENSTOCK_KERNELS_NUMERIC_FP16_H_
