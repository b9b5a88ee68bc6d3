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

}  // namespace
}  // namespace penstock
