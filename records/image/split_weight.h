// Weights of a resize in two parts that AVX2 can multiply.
#ifndef PENSTOCK_RECORDS_IMAGE_SPLIT_WEIGHT_H_
#define PENSTOCK_RECORDS_IMAGE_SPLIT_WEIGHT_H_

#include <algorithm>
#include <cstdint>

#include "records/image/axis_weights.h"

namespace penstock {

// high * 2^kLowBits + low, both at least 0.
struct SplitWeight {
  static constexpr int kLowBits = 15;
  static constexpr int32_t kMax = (1 << AxisWeights::kFractionBits) - 1;

  int8_t high;
  int16_t low;
};

// A weight of 1 has a high part of 8 bits and becomes 1 - 2^-22, the next below. No sum rounds in
// another way for this: the other weights are then 2^-22 in all at most, so the sum is nearly a
// whole number.
inline SplitWeight SplitOf(int32_t weight) {
  const int32_t w = std::min(weight, SplitWeight::kMax);
  return {static_cast<int8_t>(w >> SplitWeight::kLowBits),
          static_cast<int16_t>(w & ((1 << SplitWeight::kLowBits) - 1))};
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_SPLIT_WEIGHT_H_
