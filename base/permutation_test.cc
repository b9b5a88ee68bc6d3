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

// These values and those of other tests named so were computed in Python from the definitions. If
// they change, orders, crops, initial weights and dropout change, and with them every promise of
// equality.
TEST(CounterRngTest, NumbersArePartOfTheFormat) {
  EXPECT_EQ(DeriveKey(0, 0), 0x927a7c57dc016e42u);
  EXPECT_EQ(DeriveKey(7, 3), 0x0e6ac5e26c24f722u);
  CounterRng words(7), below(7), rejects(7), uniform(7);
  for (uint64_t word : {0x63cbe1e459320dd7u, 0x044c3cd7f43c661cu}) EXPECT_EQ(words.Next(), word);
  for (uint64_t value : {389u, 16u, 900u, 582u}) EXPECT_EQ(below.Below(1000), value);
  // A quarter of the words would make some values likelier than others, and are left out.
  for (uint64_t value : {0x4ad8e96b42e58a61u, 0xacf230608c04df81u, 0x6fec30944d6e9f58u}) {
    EXPECT_EQ(rejects.Below(uint64_t{3} << 62), value);
  }
  for (double value : {0.3898297483912715, 0.01678829452815611}) {
    EXPECT_EQ(uniform.Uniform(), value);
  }
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
