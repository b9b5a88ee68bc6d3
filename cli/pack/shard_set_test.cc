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

TEST(ShardSetTest, SetNameTakesTheNumbersOff) {
  EXPECT_EQ(SetName("train-00003-of-00010"), "train");
  EXPECT_EQ(SetName("a-b-1-of-2"), "a-b");
  EXPECT_EQ(SetName("-1-of-2"), "-1-of-2");
  EXPECT_EQ(SetName("products-3"), "products-3");
  EXPECT_EQ(SetName("-of-2"), "-of-2");
}

}  // namespace
}  // namespace penstock
