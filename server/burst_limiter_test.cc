#include "server/burst_limiter.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

class BurstLimiterTest : public ::testing::Test {
 protected:
  static constexpr int kOfHost = 3, kOfAll = 10;

  // Returns the number of lines, of `asked` at the same moment, that are let through.
  int NumAllowed(const std::string& host, int asked) {
    int allowed = 0;
    for (int i = 0; i < asked; ++i) allowed += limiter_.Allow(host, now_).has_value();
    return allowed;
  }

  BurstLimiter limiter_{kOfHost, kOfAll};
  BurstLimiter::Clock::time_point now_ = BurstLimiter::Clock::now();
};

TEST_F(BurstLimiterTest, ALoopGetsItsBurstAndThenALineEachPause) {
  EXPECT_EQ(NumAllowed("a", 100), kOfHost);
  now_ += BurstLimiter::kPauseOfHost - std::chrono::nanoseconds(1);
  EXPECT_EQ(NumAllowed("a", 100), 0);
  now_ += std::chrono::nanoseconds(1);
  EXPECT_EQ(NumAllowed("a", 100), 1);
  now_ += 100 * BurstLimiter::kPauseOfHost;
  EXPECT_EQ(NumAllowed("a", 100), kOfHost);
}

TEST_F(BurstLimiterTest, TheNextLineTellsHowManyWereLeftOut) {
  EXPECT_EQ(limiter_.Allow("a", now_), 0);
  EXPECT_EQ(NumAllowed("a", 100), kOfHost - 1);
  EXPECT_EQ(limiter_.Allow("b", now_), 100 - (kOfHost - 1));
  EXPECT_EQ(limiter_.Allow("b", now_), 0);
}

TEST_F(BurstLimiterTest, AHostThatLoopsDoesNotHideOthers) {
  NumAllowed("a", 10'000);
  EXPECT_EQ(NumAllowed("b", kOfHost), kOfHost);
}

TEST_F(BurstLimiterTest, AllHostsTogetherHaveAnAllowanceToo) {
  int allowed = 0;
  for (int host = 0; host < 10'000; ++host) allowed += NumAllowed(absl::StrCat(host), 2);
  EXPECT_EQ(allowed, kOfAll);
  now_ += BurstLimiter::kPause;
  EXPECT_EQ(NumAllowed("new", 2), 1);
}

}  // namespace
}  // namespace penstock
