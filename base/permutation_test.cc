#include "base/permutation.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

std::vector<uint32_t> Shuffled(size_t n, uint64_t key) {
  std::vector<uint32_t> values(n);
  std::iota(values.begin(), values.end(), 0);
  Shuffle(values, key);
  return values;
}

// If these values change, every stored cursor is invalid: raise the plan's algorithm version.
TEST(PermutationTest, OrderIsPartOfTheFormat) {
  EXPECT_THAT(Shuffled(8, 1), ElementsAre(0, 3, 7, 1, 2, 6, 5, 4));
}

TEST(PermutationTest, HoldsEachValueOnce) {
  for (size_t n : {0, 1, 2, 3, 1000}) {
    std::vector<uint32_t> values = Shuffled(n, 42);
    std::sort(values.begin(), values.end());
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(values[i], i);
  }
}

TEST(PermutationTest, EveryOrderOfFourIsEquallyLikely) {
  std::map<std::vector<uint32_t>, int> counts;
  for (uint64_t key = 0; key < 24000; ++key) ++counts[Shuffled(4, DeriveKey(9, key))];
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 200);
}

TEST(CounterRngTest, StartsAnywhere) {
  CounterRng rng(5);
  for (int i = 0; i < 10; ++i) rng.Next();
  EXPECT_EQ(CounterRng(5, 10).Next(), rng.Next());
}

TEST(CounterRngTest, BelowStaysBelow) {
  CounterRng rng(3);
  for (uint64_t bound : {uint64_t{1}, uint64_t{3}, uint64_t{1} << 63, ~uint64_t{0}}) {
    for (int i = 0; i < 100; ++i) EXPECT_LT(rng.Below(bound), bound);
  }
}

}  // namespace
}  // namespace penstock
