// Divides and rounds whole numbers up.
#ifndef PENSTOCK_BASE_ROUNDING_H_
#define PENSTOCK_BASE_ROUNDING_H_

#include <cstdint>

namespace penstock {

// Here and below, REQUIRES: divisor > 0, and value + divisor does not overflow.
constexpr uint64_t DivideUp(uint64_t value, uint64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// The smallest multiple of `step` that is not below `value`.
constexpr uint64_t RoundUp(uint64_t value, uint64_t step) { return DivideUp(value, step) * step; }

}  // namespace penstock

#endif  // PENSTOCK_BASE_ROUNDING_H_
