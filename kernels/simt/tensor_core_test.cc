#include "kernels/simt/tensor_core.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace penstock::simt {
namespace {

// c plus `count` products that are each `product`.
float Sum(const TensorCore& core, float c, int count, float product) {
  float x[16] = {}, y[16] = {};
  for (int i = 0; i < count; ++i) {
    x[i] = product;
    y[i] = 1;
  }
  return AddProductsOn(core, c, x, y);
}

TEST(TensorCoreTest, ProductsAndWhatAFloatHoldsAreExact) {
  const float x[16] = {3, -5, 0x1.fep0f, 7}, y[16] = {11, 2, 0x1.fep0f, -0.5};
  for (const TensorCore& core : {kAmpere, kHopper}) {
    EXPECT_EQ(AddProductsOn(core, 0.25f, x, y), 0.25f + 33 - 10 + 0x1.fep0f * 0x1.fep0f - 3.5f);
  }
}

TEST(TensorCoreTest, BitsFarBehindTheLargestAreCutOff) {
  // Behind the last bit of 1, which is 2^-23, Ampere has one bit and Hopper two.
  EXPECT_EQ(Sum(kAmpere, 1, 2, 0x1p-24f), 1 + 0x1p-23f);
  EXPECT_EQ(Sum(kAmpere, 1, 8, 0x1.8p-25f), 1);
  EXPECT_EQ(Sum(kHopper, 1, 4, 0x1p-25f), 1 + 0x1p-23f);
  EXPECT_EQ(Sum(kHopper, 1, 16, 0x1.8p-26f), 1);
}

TEST(TensorCoreTest, NothingIsRoundedUp) {
  EXPECT_EQ(Sum(kAmpere, 1, 1, 0x1.8p-24f), 1);
  EXPECT_EQ(Sum(kAmpere, -1, 1, -0x1.8p-24f), -1);
  EXPECT_EQ(Sum(kHopper, 1, 1, 0x1.8p-24f), 1);
  EXPECT_EQ(Sum(kHopper, -1, 1, 0x1p-24f), -1 + 0x1p-24f);
}

TEST(TensorCoreTest, AmpereCutsOffAfterEightProducts) {
  // The first eight make 256, beside which the others are lost one by one.
  float x[16], y[16];
  for (int i = 0; i < 16; ++i) {
    x[i] = i < 8 ? 32 : 0x1p-17f;
    y[i] = 1;
  }
  EXPECT_EQ(AddProductsOn(kAmpere, 0, x, y), 256);
  EXPECT_EQ(AddProductsOn(kHopper, 0, x, y), 256 + 8 * 0x1p-17f);
}

TEST(TensorCoreTest, AlignsByTheSumOfTheExponents) {
  // 1.5 * 1.5 = 2.25 has the exponent 0 + 0: a bit as low as that of 1 survives beside it.
  float x[16] = {1.5f, -1.5f, 0x1p-25f}, y[16] = {1.5f, 1.5f, 1};
  EXPECT_EQ(AddProductsOn(kHopper, 0, x, y), 0x1p-25f);
}

TEST(TensorCoreTest, SubnormalsAreKept) {
  EXPECT_EQ(Sum(kAmpere, 0x1p-140f, 1, 0x1p-130f), 0x1p-130f + 0x1p-140f);
}

TEST(TensorCoreTest, InfinitiesAndNaNsPass) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Sum(kAmpere, kInfinity, 3, 1), kInfinity);
  EXPECT_EQ(Sum(kHopper, 1, 3, -kInfinity), -kInfinity);
  EXPECT_TRUE(std::isnan(Sum(kHopper, kInfinity, 1, -kInfinity)));
  EXPECT_TRUE(std::isnan(Sum(kAmpere, std::nanf(""), 1, 1)));
}

}  // namespace
}  // namespace penstock::simt
