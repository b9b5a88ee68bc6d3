#include "records/dataset/chunk_size.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(ChunkTargetTest, GrowsWithTheData) {
  EXPECT_EQ(ChunkTarget(0), 4096u);
  EXPECT_EQ(ChunkTarget(uint64_t{16} << 20), 4096u);
  EXPECT_EQ(ChunkTarget(uint64_t{32} << 20), 8192u);
  EXPECT_EQ(ChunkTarget(uint64_t{64} << 20), uint64_t{256} << 10);
  EXPECT_EQ(ChunkTarget(uint64_t{1} << 40), uint64_t{256} << 10);
  EXPECT_EQ(ChunkTarget(uint64_t{1} << 42), uint64_t{1} << 20);
}

TEST(ChunkTargetTest, StaysWhileTheDataGrowsALittle) {
  for (const int exponent : {10, 24, 25, 30, 40, 45}) {
    const uint64_t total = (uint64_t{1} << exponent) + 1;
    EXPECT_EQ(ChunkTarget(total), ChunkTarget(total + total / 2)) << exponent;
  }
}

TEST(ChunkTargetTest, SmallDataHasFourWindowsOfSixteenChunksForEachLane) {
  for (uint64_t total = uint64_t{16} << 20; total < uint64_t{64} << 20; total += 999'983) {
    EXPECT_GE(total / ChunkTarget(total), 4u * 16 * 64) << total;
  }
}

TEST(ChunkTargetTest, LargeDataHasAtMostTwoToTheTwentyTwoChunks) {
  for (int exponent = 26; exponent < 52; ++exponent) {
    for (const uint64_t more : {0, 1, 12345}) {
      const uint64_t total = (uint64_t{1} << exponent) + more;
      EXPECT_LE((total - 1) / ChunkTarget(total) + 1, uint64_t{1} << 22) << total;
    }
  }
}

}  // namespace
}  // namespace penstock
