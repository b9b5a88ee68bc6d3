#include "client/fetch/answer_times.h"

#include <vector>

#include "client/fetch/extra_loads.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

constexpr uint32_t kAnswerBytes = 100;

TEST(AnswerTimesTest, IsTheLongestOfTheMedianServer) {
  AnswerTimes times;
  for (int i = 1; i <= 16; ++i) {
    times.Add(0, kAnswerBytes, absl::Milliseconds(i));
    times.Add(1, kAnswerBytes, absl::Milliseconds(10 * i));
    times.Add(2, kAnswerBytes, absl::Milliseconds(100 * i));
  }
  EXPECT_EQ(times.Usual(kAnswerBytes), absl::Milliseconds(160));
}

TEST(AnswerTimesTest, TheFasterOfTwoIsTheMeasure) {
  AnswerTimes times;
  times.Add(0, kAnswerBytes, absl::Seconds(1));
  times.Add(1, kAnswerBytes, absl::Milliseconds(1));
  EXPECT_EQ(times.Usual(kAnswerBytes), absl::Milliseconds(1));
}

TEST(AnswerTimesTest, AnAnswerInNoTimeIsASample) {
  AnswerTimes times;
  times.Add(0, kAnswerBytes, absl::Seconds(1));
  times.Add(1, kAnswerBytes, absl::ZeroDuration());
  EXPECT_LE(times.Usual(kAnswerBytes), absl::Nanoseconds(1));
  EXPECT_LE(times.Usual(kAnswerBytes, std::vector{absl::Seconds(9), absl::ZeroDuration()}),
            absl::Nanoseconds(1));
}

TEST(AnswerTimesTest, WhoIsLeftOutIsNoMeasure) {
  AnswerTimes times;
  times.Add(0, kAnswerBytes, absl::Seconds(1));
  times.Add(1, kAnswerBytes, absl::Milliseconds(1));
  const std::vector ages = {absl::ZeroDuration(), AnswerTimes::kLeftOut};
  EXPECT_EQ(times.Usual(kAnswerBytes, ages), absl::Seconds(1));
  EXPECT_EQ(times.Usual(kAnswerBytes, std::vector(2, AnswerTimes::kLeftOut)), absl::ZeroDuration());
}

TEST(AnswerTimesTest, SlowServersCountOnceHoweverMuchTheyAnswer) {
  AnswerTimes times;
  for (uint32_t server = 0; server < 5; ++server)
    times.Add(server, kAnswerBytes, absl::Milliseconds(3));
  for (int i = 0; i < 1000; ++i) times.Add(5 + i % 4, kAnswerBytes, absl::Seconds(9));
  EXPECT_EQ(times.Usual(kAnswerBytes), absl::Milliseconds(3));
}

TEST(AnswerTimesTest, ForgetsWhatIsOld) {
  AnswerTimes times;
  for (int i = 0; i < 16; ++i) times.Add(0, kAnswerBytes, absl::Seconds(9));
  for (int i = 0; i < 16; ++i) times.Add(0, kAnswerBytes, absl::Milliseconds(2));
  EXPECT_EQ(times.Usual(kAnswerBytes), absl::Milliseconds(2));
}

TEST(AnswerTimesTest, ForgetsWhoLeft) {
  AnswerTimes times;
  for (uint32_t server = 0; server < 5; ++server) times.Add(server, kAnswerBytes, absl::Seconds(9));
  for (uint32_t server = 0; server < 5; ++server) times.Forget(server);
  times.Forget(100);
  for (int i = 0; i < 8; ++i) times.Add(5, kAnswerBytes, absl::Milliseconds(2));
  EXPECT_EQ(times.Usual(kAnswerBytes), absl::Milliseconds(2));
}

TEST(AnswerTimesTest, KnowsTheFirstSample) {
  AnswerTimes times;
  EXPECT_EQ(times.Usual(kAnswerBytes), absl::ZeroDuration());
  times.Add(7, kAnswerBytes, absl::Milliseconds(7));
  EXPECT_EQ(times.Usual(kAnswerBytes), absl::Milliseconds(7));
}

TEST(AnswerTimesTest, MoreBytesMayTakeLonger) {
  AnswerTimes times;
  for (int i = 0; i < 16; ++i) times.Add(0, kAnswerBytes, absl::Milliseconds(2));
  EXPECT_EQ(times.Usual(10 * kAnswerBytes), absl::Milliseconds(20));
  EXPECT_EQ(times.Usual(1), absl::Milliseconds(2));
}

TEST(AnswerTimesTest, WhatIsOnItsWayCountsToo) {
  AnswerTimes times;
  for (uint32_t server = 0; server < 3; ++server)
    times.Add(server, kAnswerBytes, absl::Milliseconds(2));
  const std::vector<absl::Duration> ages = {absl::Seconds(1), absl::ZeroDuration(),
                                            absl::Seconds(2), absl::Seconds(3)};
  EXPECT_EQ(times.Usual(kAnswerBytes, ages), absl::Seconds(1));
  EXPECT_EQ(times.Usual(kAnswerBytes), absl::Milliseconds(2));
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

TEST(TokenBucketTest, Grows) {
  TokenBucket bucket(0.05, 0);
  EXPECT_FALSE(bucket.Take());
  bucket.Grow(2);
  EXPECT_TRUE(bucket.Take());
  EXPECT_TRUE(bucket.Take());
  EXPECT_FALSE(bucket.Take());
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
