#include "records/engine/storage_speed.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

using std::chrono::microseconds;

constexpr size_t kChunk = 256 << 10;

TEST(StorageSpeedTest, IsFastUntilAReadWaits) {
  StorageSpeed speed(microseconds(200));
  EXPECT_FALSE(speed.slow());
  speed.Note(kChunk, microseconds(30));
  EXPECT_FALSE(speed.slow());
  speed.Note(kChunk, microseconds(5000));
  EXPECT_TRUE(speed.slow());
  EXPECT_EQ(speed.slow_reads(), 1u);
}

TEST(StorageSpeedTest, IsFastAgainAfterManyFastReadsInARow) {
  StorageSpeed speed(microseconds(200));
  speed.Note(kChunk, microseconds(5000));
  for (int i = 0; i < 63; ++i) speed.Note(kChunk, microseconds(30));
  EXPECT_TRUE(speed.slow());
  speed.Note(kChunk, microseconds(5000));
  for (int i = 0; i < 63; ++i) speed.Note(kChunk, microseconds(30));
  EXPECT_TRUE(speed.slow());
  speed.Note(kChunk, microseconds(30));
  EXPECT_FALSE(speed.slow());
  EXPECT_EQ(speed.slow_reads(), 2u);
}

TEST(StorageSpeedTest, ALargeChunkMayTakeLonger) {
  StorageSpeed speed(microseconds(200));
  speed.Note(size_t{64} << 20, microseconds(20000));
  EXPECT_FALSE(speed.slow());
  speed.Note(kChunk, microseconds(20000));
  EXPECT_TRUE(speed.slow());
}

TEST(StorageSpeedTest, KnowsTheReadThatLastsLongest) {
  StorageSpeed speed(microseconds(200));
  EXPECT_FALSE(speed.Longest().has_value());
  {
    const StorageSpeed::Reading first(speed, "a.tfrecord");
    const auto after_first = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() == after_first) continue;
    const StorageSpeed::Reading second(speed, "b.tfrecord");
    EXPECT_EQ(speed.Longest()->shard, "a.tfrecord");
    EXPECT_GT(speed.Longest()->lasts.count(), 0);
  }
  EXPECT_FALSE(speed.Longest().has_value());
}

}  // namespace
}  // namespace penstock
