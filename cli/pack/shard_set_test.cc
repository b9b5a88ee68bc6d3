#include "cli/pack/shard_set.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(NumShardsTest, GivesFourShardsUnlessThereIsLittleOrMuch) {
  EXPECT_EQ(NumShards(1, 0, 0), 1u);
  EXPECT_EQ(NumShards(127, 0, 0), 1u);
  EXPECT_EQ(NumShards(128, 0, 0), 2u);
  EXPECT_EQ(NumShards(256, 0, 0), 4u);
  EXPECT_EQ(NumShards(4'000'000, 0, 0), 4u);
  EXPECT_EQ(NumShards(100 << 20, 0, 0), 100u);
  EXPECT_EQ(NumShards(10, 0, 3), 4u);
}

TEST(NumShardsTest, ShardsOfLargeRecordsHaveAQuarterOfAGigabyte) {
  EXPECT_EQ(NumShards(1'281'167, uint64_t{138} << 30, 0), 552u);
  EXPECT_EQ(NumShards(3, uint64_t{10} << 30, 0), 3u);
  EXPECT_EQ(NumShards(3, uint64_t{10} << 30, 2), 2u);
}

}  // namespace
}  // namespace penstock
