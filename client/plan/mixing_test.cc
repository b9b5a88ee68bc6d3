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

// A 256 KiB chunk of chess records holds about 1,220 of them.
constexpr GroupedData kHomogeneousChunks = {.chunks = 2560, .chunk_rows = 1220, .group_rows = 1220};
constexpr GroupedData kGames = {.chunks = 2560, .chunk_rows = 1220, .group_rows = 80};

double PlanVariance(const GroupedData& data) {
  return RelativeVariance(PlanRecords(data.MakePlan(), /*epoch=*/0), data.Values(1), kBatch);
}

double BufferVariance(const GroupedData& data) {
  const RecordOrder order = ShuffleBufferRecords(data.rows(), kBuffer, /*seed=*/2);
  return RelativeVariance(order, data.Values(1), kBatch);
}

// About 6,000 batches. The relative standard error is 1.8 % if batches are independent.
TEST(MixingTest, FullPermutationIsTheUnit) {
  const RecordOrder order = PermutedRecords(kHomogeneousChunks.rows(), 3);
  EXPECT_THAT(RelativeVariance(order, kHomogeneousChunks.Values(1), kBatch),
              AllOf(Gt(0.85), Lt(1.15)));
}

TEST(MixingTest, EveryOrderHasEveryRecordOnce) {
  const uint32_t rows = kGames.rows();
  for (RecordOrder order : {PlanRecords(kGames.MakePlan(), 0),
                            ShuffleBufferRecords(rows, kBuffer, 2), PermutedRecords(rows, 3)}) {
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, FileRecords(rows));
  }
}

TEST(MixingTest, NeighboursOfTheFileAreParted) {
  EXPECT_EQ(MedianNeighbourDistance(FileRecords(1000)), 1u);
  EXPECT_EQ(ShareOfNeighboursWithin(FileRecords(1000), 1), 1);
  const RecordOrder order = PlanRecords(kGames.MakePlan(), 0);
  EXPECT_GT(MedianNeighbourDistance(order), kGames.rows() / 10);
  EXPECT_LT(ShareOfNeighboursWithin(order, kGames.group_rows), 0.1);
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
