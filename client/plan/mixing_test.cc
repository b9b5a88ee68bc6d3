#include "client/plan/testing/mixing.h"

#include <algorithm>

#include "gmock/gmock.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Lt;

constexpr uint64_t kBatch = 512;
constexpr uint64_t kBuffer = 10000;

// 256 KiB chunks of chess records hold about 1,220.
constexpr GroupedData kHomogeneousChunks = {.chunks = 2560, .chunk_rows = 1220, .group_rows = 1220};
constexpr GroupedData kGames = {.chunks = 2560, .chunk_rows = 1220, .group_rows = 80};

double PlanVariance(const GroupedData& data) {
  return RelativeVariance(PlanOrder(data, data.Values(1), {}, /*epoch=*/0), kBatch);
}

double BufferVariance(const GroupedData& data) {
  return RelativeVariance(ShuffleBufferOrder(data.Values(1), kBuffer, /*seed=*/2), kBatch);
}

// About 6,000 batches: a relative standard error of 1.8 % where batches are independent.
TEST(MixingTest, FullPermutationIsTheUnit) {
  const std::vector<float> values = kHomogeneousChunks.Values(1);
  EXPECT_THAT(RelativeVariance(PermutedOrder(values, 3), kBatch), AllOf(Gt(0.85), Lt(1.15)));
}

TEST(MixingTest, EveryOrderHasTheSameValues) {
  std::vector<float> values = kGames.Values(1);
  std::vector<float> plan = PlanOrder(kGames, values, {}, 0);
  std::vector<float> buffer = ShuffleBufferOrder(values, kBuffer, 2);
  for (std::vector<float>* order : {&values, &plan, &buffer}) {
    std::sort(order->begin(), order->end());
  }
  EXPECT_EQ(plan, values);
  EXPECT_EQ(buffer, values);
}

TEST(MixingTest, HomogeneousChunksAreWithinTwiceAFullPermutation) {
  EXPECT_THAT(PlanVariance(kHomogeneousChunks), AllOf(Gt(1.6), Lt(2.4)));
  EXPECT_THAT(BufferVariance(kHomogeneousChunks), AllOf(Gt(20), Lt(36)));
}

TEST(MixingTest, GamesMixAsIfPermuted) {
  EXPECT_THAT(PlanVariance(kGames), AllOf(Gt(0.9), Lt(1.25)));
  EXPECT_THAT(BufferVariance(kGames), AllOf(Gt(2.4), Lt(3.6)));
}

}  // namespace
}  // namespace penstock
