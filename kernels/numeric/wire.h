// Conversion of gradients to 16 bits for sending. Host and device give the same bits.
#ifndef PENSTOCK_KERNELS_NUMERIC_WIRE_H_
#define PENSTOCK_KERNELS_NUMERIC_WIRE_H_

#include "kernels/numeric/bf16.h"
#include "kernels/numeric/fp16.h"
#include "kernels/numeric/host_device.h"

namespace penstock {

// A gradient is multiplied by a power of two before it is sent, so that only the rounding to Half
// changes it. bf16 has float's range. fp16 keeps 11 bits of a multiple from 6e-5 up to 65,504. That
// corresponds to gradients from 6e-8 to 64; gradients down to 6e-11 keep fewer bits. The range
// includes AdamW's epsilon, 1e-8, below which gradients hardly move a parameter. An element of a
// mean's gradient reaches 64 only if training diverges. Larger elements become infinite, which
// shows in the step's norm.
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
