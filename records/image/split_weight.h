// Splits the weights of a resize into two parts that AVX2 can multiply.
#ifndef PENSTOCK_RECORDS_IMAGE_SPLIT_WEIGHT_H_
#define PENSTOCK_RECORDS_IMAGE_SPLIT_WEIGHT_H_

#include <algorithm>
#include <cstdint>

#include "records/image/axis_weights.h"

namespace penstock {

// The weight is high * 2^kLowBits + low. Both parts are at least 0.
struct SplitWeight {
  static constexpr int kLowBits = 15;
  static constexpr int32_t kMax = (1 << AxisWeights::kFractionBits) - 1;

  int8_t high;
  int16_t low;
};

// The high part of a weight of 1 does not fit, so it becomes 1 - 2^-22, the next lower weight. This
// does not change how any sum rounds: the other weights are then at most 2^-22 in total, so the sum
// is nearly a whole number.
inline SplitWeight SplitOf(int32_t weight) {
  const int32_t w = std::min(weight, SplitWeight::kMax);
  return {static_cast<int8_t>(w >> SplitWeight::kLowBits),
          static_cast<int16_t>(w & ((1 << SplitWeight::kLowBits) - 1))};
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_SPLIT_WEIGHT_H_
