// The expected numbers were computed by another implementation of the definitions. Orders, crops
// and initial parameters depend on them, so they stay.
#include "base/counter_rng.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

// The first outputs of SplitMix64 with the state 0, as others publish them.
TEST(CounterRngTest, IsSplitMix64) {
  CounterRng rng(0);
  EXPECT_EQ(rng.Next(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(rng.Next(), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(rng.Next(), 0x06c45d188009454fu);
  EXPECT_EQ(CounterRng(0, 2).Next(), 0x06c45d188009454fu);
}

TEST(CounterRngTest, DerivedKeysStayAsTheyAre) {
  EXPECT_EQ(DeriveKey(0, 0), 0x927a7c57dc016e42u);
  EXPECT_EQ(DeriveKey(1, 2), 0x063bd8f17e95ce77u);
  EXPECT_EQ(DeriveKey(2, 1), 0x435db716fd7ebb9cu);
  EXPECT_EQ(DeriveKey(~uint64_t{0}, ~uint64_t{0}), 0x24dd35b879327ff1u);
}

TEST(CounterRngTest, UniformNumbersStayAsTheyAre) {
  CounterRng rng(7);
  EXPECT_EQ(rng.Uniform(), 0x1.8f2f879164c82p-2);
  EXPECT_EQ(rng.Uniform(), 0x1.130f35fd0f180p-6);
}

TEST(CounterRngTest, NumbersBelowABoundStayAsTheyAre) {
  CounterRng small(7);
  for (const uint64_t expected : {3, 0, 9, 5, 4, 2, 4, 3, 1, 4, 1, 9}) {
    EXPECT_EQ(small.Below(10), expected);
  }
  // Nearly half of the values are rejected: these four take nine.
  CounterRng rejecting(7);
  for (const uint64_t expected :
       {3595544800446187243u, 8308050873407804673u, 2300599727732774152u, 1238314238945538992u}) {
    EXPECT_EQ(rejecting.Below((uint64_t{1} << 63) + 1), expected);
  }
  EXPECT_EQ(rejecting.Next(), CounterRng(7, 9).Next());
}

}  // namespace
}  // namespace penstock
