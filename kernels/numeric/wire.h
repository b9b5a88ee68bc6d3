// How gradients travel in 16 bits, the same bits on host and device.
#ifndef PENSTOCK_KERNELS_NUMERIC_WIRE_H_
#define PENSTOCK_KERNELS_NUMERIC_WIRE_H_

#include "kernels/numeric/bf16.h"
#include "kernels/numeric/fp16.h"
#include "kernels/numeric/host_device.h"

namespace penstock {

// A gradient travels as a multiple of itself, by a power of two, so that only the rounding to Half
// changes it. bf16 has float's range. fp16 has 11 bits from 6e-5 up to 65,504, of the multiple: of
// the gradient from 6e-8, and what is left of it down to 6e-11, up to 64. AdamW's epsilon of 1e-8
// is within, below which gradients hardly move a parameter; and an element of a mean's gradient is
// 64 only where training diverges. Larger ones become infinite, which a step's norm shows.
template <typename Half>
inline constexpr float kWireScale = 1.0f;
template <>
inline constexpr float kWireScale<Fp16> = 0x1p10f;

template <typename Half>
PENSTOCK_HOST_DEVICE inline Half ToWire(float x) {
  return FromFloat<Half>(x * kWireScale<Half>);
}
template <typename Half>
PENSTOCK_HOST_DEVICE inline float FromWire(Half x) {
  return ToFloat(x) * (1.0f / kWireScale<Half>);
}

}  // namespace penstock

#endif  // PENSTOCK_KERNELS_NUMERIC_WIRE_H_
