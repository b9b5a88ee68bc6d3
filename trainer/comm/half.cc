#include "trainer/comm/half.h"

#include <bit>

#include "records/base/bfloat16.h"

namespace penstock {
namespace {

uint16_t ToFp16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN.
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65,520 and more round to infinity.
  if (magnitude < 0x38800000) {                       // Subnormal: adding 0.5 aligns its last bit.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(aligned) - 0x3f000000);
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000;
  return sign | static_cast<uint16_t>(rounded >> 13);
}

float FromFp16(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16, magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | magnitude << 13);
  if (magnitude < 0x400) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
}

}  // namespace

void ToHalves(WireFloat wire, const float* from, size_t count, uint16_t* to) {
  if (wire == WireFloat::kBf16) {
    for (size_t i = 0; i < count; ++i) to[i] = ToBf16(from[i]);
  } else {
    for (size_t i = 0; i < count; ++i) to[i] = ToFp16(from[i]);
  }
}

void FromHalves(WireFloat wire, const uint16_t* from, size_t count, float* to) {
  if (wire == WireFloat::kBf16) {
    for (size_t i = 0; i < count; ++i) to[i] = FromBf16(from[i]);
  } else {
    for (size_t i = 0; i < count; ++i) to[i] = FromFp16(from[i]);
  }
}

}  // namespace penstock
