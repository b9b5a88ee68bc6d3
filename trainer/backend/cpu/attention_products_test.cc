#include "trainer/backend/cpu/attention_products.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/backend/testing/noise.h"

namespace penstock {
namespace {

using Floats = std::vector<float>;

// Scratch memory of `size` floats, all equal to `value`, followed by a guard value.
class Scratch {
 public:
  Scratch(size_t size, float value) : floats_(size + 1, value) { floats_.back() = kBehind; }
  ~Scratch() { EXPECT_EQ(floats_.back(), kBehind); }
  float* data() { return floats_.data(); }

 private:
  static constexpr float kBehind = 12345;
  Floats floats_;
};

class AttentionProductsTest : public testing::TestWithParam<double> {
 protected:
  Floats Forward(float value) const {
    Scratch scratch(AttentionProducts::ForwardScratch(shape_), value);
    Floats out(shape_.samples * shape_.tokens * shape_.width());
    products_.Forward(qkv_.data(), shape_, options_, scratch.data(), out.data());
    return out;
  }
  Floats Backward(float value) const {
    Scratch scratch(AttentionProducts::BackwardScratch(shape_, options_.dropout), value);
    Floats dqkv(qkv_.size());
    products_.Backward(qkv_.data(), qkv_.data(), shape_, options_, scratch.data(), dqkv.data(),
                       nullptr);
    return dqkv;
  }

  const reference::AttentionShape shape_{2, 19, 3, 16};
  const Floats qkv_ = Noise(2 * 19 * 3 * 3 * 16, 1);
  const reference::AttentionOptions<float> options_{.dropout = Dropout::OfRate(GetParam()),
                                                    .key = 7};
  const AttentionProducts products_{*SupportedCpuKernels().front(), DefaultGemmEngine()};
};

INSTANTIATE_TEST_SUITE_P(Rates, AttentionProductsTest, testing::Values(0, 0.5));

TEST_P(AttentionProductsTest, TakesTheScratchItAsksForWhateverIsInIt) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Forward(nan), Forward(0));
  EXPECT_EQ(Backward(nan), Backward(0));
}

}  // namespace
}  // namespace penstock
