#include "cli/stream/pace.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);

TEST(PaceTest, WithoutARateNoBatchTakesTime) { EXPECT_EQ(Pace(0).WorkUntil(kStart, 512), kStart); }

TEST(PaceTest, BatchesFollowOneAnotherAtTheRate) {
  Pace pace(1000);
  EXPECT_EQ(pace.WorkUntil(kStart, 100), kStart + absl::Milliseconds(100));
  EXPECT_EQ(pace.WorkUntil(kStart + absl::Milliseconds(100), 50), kStart + absl::Milliseconds(150));
}

TEST(PaceTest, ASleepThatEndsLateDoesNotSlowIt) {
  Pace pace(1000);
  pace.WorkUntil(kStart, 100);
  EXPECT_EQ(pace.WorkUntil(kStart + absl::Microseconds(100900), 100),
            kStart + absl::Milliseconds(200));
}

TEST(PaceTest, WhatWasLostWaitingIsNotMadeUpFor) {
  Pace pace(1000);
  pace.WorkUntil(kStart, 100);
  EXPECT_EQ(pace.WorkUntil(kStart + absl::Seconds(3), 100), kStart + absl::Milliseconds(3100));
}

}  // namespace
}  // namespace penstock
