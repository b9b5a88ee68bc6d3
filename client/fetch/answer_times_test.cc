#include "client/fetch/answer_times.h"

#include "client/fetch/token_bucket.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(AnswerTimesTest, IsThe95thPercentileOfTheLastSamples) {
  AnswerTimes times(100);
  for (int i = 100; i >= 1; --i) times.Add(absl::Milliseconds(i));
  for (int i = 0; i < 4; ++i) times.Add(absl::Milliseconds(1000));  // 100, 99, 98, 97 fall out.
  EXPECT_EQ(times.p95(), absl::Milliseconds(95));
}

TEST(AnswerTimesTest, ForgetsWhatIsOld) {
  AnswerTimes times(16);
  for (int i = 0; i < 16; ++i) times.Add(absl::Seconds(9));
  for (int i = 0; i < 16; ++i) times.Add(absl::Milliseconds(2));
  EXPECT_EQ(times.p95(), absl::Milliseconds(2));
}

TEST(AnswerTimesTest, KnowsTheFirstSample) {
  AnswerTimes times(64);
  EXPECT_EQ(times.p95(), absl::ZeroDuration());
  times.Add(absl::Milliseconds(7));
  EXPECT_EQ(times.p95(), absl::Milliseconds(7));
}

TEST(TokenBucketTest, GivesAShareOfWhatIsEarned) {
  TokenBucket bucket(0.05, 8);
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    bucket.Earn();
    taken += bucket.Take();
  }
  EXPECT_GE(taken, 57);
  EXPECT_LE(taken, 58);
}

TEST(TokenBucketTest, KeepsAReserve) {
  TokenBucket bucket(0.05, 8);
  int taken = 0;
  while (bucket.Take(/*reserve=*/5)) ++taken;
  EXPECT_EQ(taken, 3);
  EXPECT_TRUE(bucket.Take());
}

}  // namespace
}  // namespace penstock
