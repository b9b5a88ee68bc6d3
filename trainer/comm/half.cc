#include "trainer/comm/half.h"

#include "kernels/numeric/wire.h"

namespace penstock {
namespace {

template <typename Half>
void Narrow(const float* from, size_t count, uint16_t* to) {
  for (size_t i = 0; i < count; ++i) to[i] = ToWire<Half>(from[i]).bits;
}

template <typename Half>
void Widen(const uint16_t* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) to[i] = FromWire(Half{from[i]});
}

}  // namespace

void ToHalves(WireFloat wire, const float* from, size_t count, uint16_t* to) {
  (wire == WireFloat::kBf16 ? Narrow<Bf16> : Narrow<Fp16>)(from, count, to);
}

void FromHalves(WireFloat wire, const uint16_t* from, size_t count, float* to) {
  (wire == WireFloat::kBf16 ? Widen<Bf16> : Widen<Fp16>)(from, count, to);
}

}  // namespace penstock
