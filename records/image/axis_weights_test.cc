#include "records/image/axis_weights.h"

#include <algorithm>
#include <vector>

#include "base/counter_rng.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

// A random part of an axis, with bounds between samples or at whole samples, enlarged or reduced.
ResizeAxis RandomAxis(CounterRng& rng) {
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(rng.Below(limit)); };
  ResizeAxis axis;
  axis.in_first = below(1000);
  axis.in_size = 1 + below(below(2) == 0 ? 8 : 3000);
  axis.begin = static_cast<float>(below(4)) * 0.25F;
  axis.end = static_cast<float>(axis.in_size) - static_cast<float>(below(4)) * 0.0625F;
  if (axis.end <= axis.begin) axis.begin = 0;
  axis.out_size = 1 + below(below(2) == 0 ? 8 : 500);
  axis.out_first = below(axis.out_size);
  axis.out_count = 1 + below(axis.out_size - axis.out_first);
  return axis;
}

TEST(AxisWeightsTest, AreTheSameAtEveryLevel) {
  CounterRng rng(1);
  AxisWeights baseline(SimdLevel::kScalar);
  AxisWeights best(BestSimdLevel());
  for (int n = 0; n < 2000; ++n) {
    const ResizeAxis axis = RandomAxis(rng);
    baseline.Compute(axis);
    best.Compute(axis);
    for (size_t i = 0; i < axis.out_count; ++i) {
      ASSERT_EQ(best.first(i), baseline.first(i)) << n;
      ASSERT_TRUE(std::ranges::equal(best.weights(i), baseline.weights(i))) << n;
    }
  }
}

TEST(AxisWeightsTest, CoverTheSamplesThatAreRead) {
  CounterRng rng(2);
  AxisWeights weights(BestSimdLevel());
  for (int n = 0; n < 2000; ++n) {
    const ResizeAxis axis = RandomAxis(rng);
    weights.Compute(axis);
    const SampleRange read = BilinearReads(axis);
    const size_t last = axis.out_count - 1;
    EXPECT_EQ(weights.first(0), read.first) << n;
    EXPECT_EQ(weights.first(last) + weights.weights(last).size(), read.end()) << n;
  }
}

TEST(AxisWeightsTest, AreFollowedByZeros) {
  CounterRng rng(3);
  AxisWeights weights(BestSimdLevel());
  for (int n = 0; n < 200; ++n) {
    const ResizeAxis axis = RandomAxis(rng);
    weights.Compute(axis);
    for (size_t i = 0; i < axis.out_count; ++i) {
      const std::span<const int32_t> taps = weights.weights(i);
      for (size_t k = 0; k < AxisWeights::kPadding; ++k) ASSERT_EQ(taps.data()[taps.size() + k], 0);
    }
  }
}

}  // namespace
}  // namespace penstock
