// Whole numbers divided and rounded up.
#ifndef PENSTOCK_BASE_ROUNDING_H_
#define PENSTOCK_BASE_ROUNDING_H_

#include <cstdint>

namespace penstock {

// REQUIRES: divisor > 0 and value + divisor does not overflow, here and below.
constexpr uint64_t DivideUp(uint64_t value, uint64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// The smallest multiple of `step` that is not below `value`.
constexpr uint64_t RoundUp(uint64_t value, uint64_t step) { return DivideUp(value, step) * step; }

}  // namespace penstock

#endif  // PENSTOCK_BASE_ROUNDING_H_
