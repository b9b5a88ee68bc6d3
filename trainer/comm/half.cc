#include "trainer/comm/half.h"

#include "kernels/numeric/wire.h"
#include "records/base/bfloat16.h"

namespace penstock {

void ToHalves(WireFloat wire, const float* from, size_t count, uint16_t* to) {
  if (wire == WireFloat::kBf16) {
    for (size_t i = 0; i < count; ++i) to[i] = ToBf16(from[i]);
  } else {
    for (size_t i = 0; i < count; ++i) to[i] = ToWire<Fp16>(from[i]).bits;
  }
}

void FromHalves(WireFloat wire, const uint16_t* from, size_t count, float* to) {
  if (wire == WireFloat::kBf16) {
    for (size_t i = 0; i < count; ++i) to[i] = FromBf16(from[i]);
  } else {
    for (size_t i = 0; i < count; ++i) to[i] = FromWire(Fp16{from[i]});
  }
}

}  // namespace penstock
