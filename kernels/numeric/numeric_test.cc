#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/counter_rng.h"
#include "gtest/gtest.h"
#include "kernels/numeric/bf16.h"
#include "kernels/numeric/counter_random.h"
#include "kernels/numeric/fp16.h"

namespace penstock {
namespace {

TEST(Bf16Test, EveryNumberSurvives) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Bf16 x{static_cast<uint16_t>(bits)};
    if (std::isnan(ToFloat(x))) continue;
    ASSERT_EQ(FromFloat<Bf16>(ToFloat(x)), x) << bits;
  }
}

TEST(Bf16Test, RoundsToNearestTiesToEven) {
  EXPECT_EQ(ToFloat(FromFloat<Bf16>(1.0f + 0x1p-8f)), 1.0f);            // A tie, down to even.
  EXPECT_EQ(ToFloat(FromFloat<Bf16>(1.0f + 0x3p-8f)), 1.0f + 0x1p-6f);  // A tie, up to even.
  EXPECT_EQ(ToFloat(FromFloat<Bf16>(1.0f + 0x1.02p-8f)), 1.0f + 0x1p-7f);
  EXPECT_EQ(ToFloat(FromFloat<Bf16>(std::numeric_limits<float>::max())),
            std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(ToFloat(FromFloat<Bf16>(std::nanf("")))));
  EXPECT_EQ(PackBf16(1.0f, -2.0f), 0xc0003f80u);
}

TEST(Fp16Test, EveryNumberSurvives) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Fp16 x{static_cast<uint16_t>(bits)};
    if (std::isnan(ToFloat(x))) continue;
    ASSERT_EQ(FromFloat<Fp16>(ToFloat(x)), x) << bits;
  }
}

TEST(Fp16Test, RoundsToNearestTiesToEven) {
  EXPECT_EQ(ToFloat(FromFloat<Fp16>(1.0f + 0x1p-11f)), 1.0f);            // A tie, down to even.
  EXPECT_EQ(ToFloat(FromFloat<Fp16>(1.0f + 0x3p-11f)), 1.0f + 0x1p-9f);  // A tie, up to even.
  EXPECT_EQ(ToFloat(FromFloat<Fp16>(0x1p-25f)), 0.0f);  // Half the smallest subnormal.
  EXPECT_EQ(ToFloat(FromFloat<Fp16>(-0x1.8p-25f)), -0x1p-24f);
  EXPECT_EQ(ToFloat(FromFloat<Fp16>(65519.0f)), 65504.0f);
  EXPECT_EQ(ToFloat(FromFloat<Fp16>(65520.0f)), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(ToFloat(FromFloat<Fp16>(std::nanf("")))));
}

TEST(RandomBitsTest, AreTheProjectsCounterRng) {
  for (uint64_t key : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
    CounterRng rng(key);
    for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(RandomBits(key, i), rng.Next());
    EXPECT_EQ(RandomBits(key, uint64_t{1} << 40), CounterRng(key, uint64_t{1} << 40).Next());
  }
}

// This is the reason why keys are hashed.
TEST(RandomBitsTest, KeysThatAnIndexIsApartShareTheirBits) {
  constexpr uint64_t kGamma = 0x9e3779b97f4a7c15;
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(RandomBits(7 + 3 * kGamma, i), RandomBits(7, i + 3));
  int shared = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    shared += RandomBits(DeriveKey(7, 1), i) == RandomBits(DeriveKey(7, 0), i + 1);
  }
  EXPECT_EQ(shared, 0);
}

// Computed in Python from the definition. If these values change, so do trainings with dropout.
TEST(DropoutTest, WhatIsKeptIsPartOfTheFormat) {
  const Dropout dropout = Dropout::OfRate(0.5);
  std::string kept;
  for (int i = 0; i < 16; ++i) kept += dropout.Factor(/*key=*/42, i) == 2.0f ? '1' : '0';
  EXPECT_EQ(kept, "0111101010110001");
}

TEST(DropoutTest, KeepsTheMeanAndItsRate) {
  constexpr int kCount = 100000;
  for (double rate : {0.1, 0.5}) {
    const Dropout dropout = Dropout::OfRate(rate);
    double sum = 0;
    int dropped = 0;
    for (int i = 0; i < kCount; ++i) {
      const float factor = dropout.Factor(/*key=*/42, i);
      sum += factor;
      dropped += factor == 0.0f;
    }
    // Five standard deviations of a binomial count.
    const double deviation = 5 * std::sqrt(rate * (1 - rate) * kCount);
    EXPECT_NEAR(dropped, rate * kCount, deviation);
    EXPECT_NEAR(sum / kCount, 1.0, deviation / kCount / (1 - rate));
  }
  EXPECT_FALSE(Dropout::OfRate(0).active());
  EXPECT_EQ(Dropout::OfRate(0).Factor(1, 2), 1.0f);
}

}  // namespace
}  // namespace penstock
