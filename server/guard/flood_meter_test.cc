#include "server/guard/flood_meter.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

class FloodMeterTest : public ::testing::Test {
 protected:
  // Adds `grown`, which happened within `seconds`.
  void Pass(double seconds, const FlowReading& grown) {
    at_.seconds += seconds;
    at_.message_bytes += grown.message_bytes;
    at_.answered_calls += grown.answered_calls;
    at_.requests += grown.requests;
    at_.calls += grown.calls;
    at_.earned_calls += grown.earned_calls;
    at_.received_bytes += grown.received_bytes;
    at_.sent_bytes += grown.sent_bytes;
    meter_.Read(at_);
  }

  GuardLimits limits_;
  FlowReading at_;
  FloodMeter meter_{limits_, 0};
};

TEST_F(FloodMeterTest, BytesThatNothingAccountsForAddUp) {
  Pass(0, {.received_bytes = 1000});
  Pass(0, {.received_bytes = 500});
  EXPECT_EQ(meter_.bytes(), 1500);
}

TEST_F(FloodMeterTest, MessagesAccountForWhatCameBeforeThem) {
  Pass(0, {.received_bytes = 300'000});
  EXPECT_TRUE(meter_.HasTooManyBytes(Standing::kStranger));
  Pass(0, {.message_bytes = 300'100, .received_bytes = 0});
  EXPECT_EQ(meter_.bytes(), 0);
}

TEST_F(FloodMeterTest, AQuietConnectionSavesNothingUp) {
  Pass(1e6, {.message_bytes = uint64_t{1} << 30, .sent_bytes = uint64_t{1} << 40});
  Pass(0, {.received_bytes = limits_.stranger_bytes + 1});
  EXPECT_TRUE(meter_.HasTooManyBytes(Standing::kStranger));
}

TEST_F(FloodMeterTest, WindowUpdatesOfOneThatReadsAreFree) {
  // Each update has 13 bytes, and stands for 64 KiB or more that were read.
  for (int i = 0; i < 1000; ++i) {
    Pass(0.001, {.received_bytes = 16 * 13, .sent_bytes = uint64_t{1} << 20});
  }
  EXPECT_EQ(meter_.bytes(), 0);
}

TEST_F(FloodMeterTest, KeepaliveOfAnIdleConnectionIsFree) {
  for (int i = 0; i < 10'000; ++i) Pass(10, {.received_bytes = 2 * 46});
  EXPECT_EQ(meter_.bytes(), 0);
}

TEST_F(FloodMeterTest, TheLimitRisesWithTheStanding) {
  Pass(0, {.received_bytes = limits_.stranger_bytes + 1});
  EXPECT_TRUE(meter_.HasTooManyBytes(Standing::kStranger));
  EXPECT_TRUE(meter_.HasTooManyBytes(Standing::kKnown));
  EXPECT_FALSE(meter_.HasTooManyBytes(Standing::kInvited));
  Pass(0, {.received_bytes = limits_.invited_bytes});
  EXPECT_TRUE(meter_.HasTooManyBytes(Standing::kInvited));
  EXPECT_FALSE(meter_.HasTooManyBytes(Standing::kClient));
  Pass(0, {.received_bytes = limits_.client_bytes});
  EXPECT_TRUE(meter_.HasTooManyBytes(Standing::kClient));
}

TEST_F(FloodMeterTest, AClientMayHaveALargeHelloAndALargeMessageOnTheirWay) {
  Pass(0, {.received_bytes = wire::kMaxHelloBytes + 10'000});
  EXPECT_FALSE(meter_.HasTooManyBytes(Standing::kInvited));
  Pass(0, {.message_bytes = wire::kMaxHelloBytes});
  Pass(0, {.received_bytes = wire::kMaxClientMessageBytes + (64 << 10)});
  EXPECT_FALSE(meter_.HasTooManyBytes(Standing::kClient));
}

TEST_F(FloodMeterTest, CallsThatNobodyAnsweredAreLimited) {
  Pass(0, {.calls = 200});
  EXPECT_FALSE(meter_.HasTooManyCalls());
  Pass(0, {.calls = 1});
  EXPECT_TRUE(meter_.HasTooManyCalls());
}

TEST_F(FloodMeterTest, AnsweredCallsHaveNoLimit) {
  for (int i = 0; i < 1000; ++i) {
    Pass(0, {.answered_calls = 100, .earned_calls = 100, .requests = 100, .calls = 100});
  }
  EXPECT_EQ(meter_.calls(), 0);
  EXPECT_EQ(meter_.waiting_calls(), 0);
}

TEST_F(FloodMeterTest, AFewCallsASecondAccountForAllTheirHeaders) {
  for (int i = 0; i < 1000; ++i) {
    Pass(0.1, {.answered_calls = 1, .requests = 1, .calls = 1, .received_bytes = 1000});
  }
  EXPECT_EQ(meter_.bytes(), 0);
}

TEST_F(FloodMeterTest, HealthCallsBuyNoFlood) {
  // Each call has a few bytes of headers. More headers, which begin other things, follow it.
  for (int i = 0; i < 1000; ++i) {
    Pass(0.0005, {.answered_calls = 1, .requests = 1, .calls = 1, .received_bytes = 36 + 500});
  }
  EXPECT_TRUE(meter_.HasTooManyBytes(Standing::kKnown));
}

TEST_F(FloodMeterTest, RepeatedCallsThatWereLetInAccountForThemselves) {
  for (int i = 0; i < 100'000; ++i) {
    Pass(
        0.0001,
        {.answered_calls = 1, .earned_calls = 1, .requests = 1, .calls = 1, .received_bytes = 120});
  }
  EXPECT_EQ(meter_.bytes(), 0);
}

TEST_F(FloodMeterTest, OneWithManyWaitingCallsIsToBlame) {
  Pass(0, {.calls = 4});
  EXPECT_EQ(meter_.Blame(Standing::kKnown), 0);
  Pass(0, {.calls = 36});
  EXPECT_GT(meter_.Blame(Standing::kKnown), 30'000);
  Pass(0, {.requests = 40});
  EXPECT_EQ(meter_.waiting_calls(), 0);
}

TEST_F(FloodMeterTest, BytesThatDripAreNotForgottenUntilACallIsAnswered) {
  for (int i = 0; i < 1000; ++i) Pass(1, {.received_bytes = 60});
  EXPECT_EQ(meter_.bytes(), 0);
  EXPECT_TRUE(meter_.HasTooManyBytes(Standing::kKnown));
  EXPECT_FALSE(meter_.HasTooManyBytes(Standing::kClient));
  EXPECT_GT(meter_.Blame(Standing::kClient), 30'000);
  Pass(0, {.answered_calls = 1, .requests = 1, .calls = 1, .received_bytes = 100});
  EXPECT_FALSE(meter_.HasTooManyBytes(Standing::kKnown));
  EXPECT_EQ(meter_.Blame(Standing::kClient), 0);
}

TEST_F(FloodMeterTest, AMessageThatDoesNotGoOnIsStalled) {
  Pass(1, {.received_bytes = 20'000});
  Pass(29, {});
  EXPECT_FALSE(meter_.IsStalled());
  Pass(2, {});
  EXPECT_TRUE(meter_.IsStalled());
  Pass(0, {.message_bytes = 20'000});
  EXPECT_FALSE(meter_.IsStalled());
}

TEST_F(FloodMeterTest, CallsWithoutATokenAreBoundedByTheirRate) {
  for (int i = 0; i < 100; ++i) Pass(1, {.calls = 2000});
  EXPECT_FALSE(meter_.HasTooManyCalls());
  for (int i = 0; i < 10; ++i) Pass(1, {.calls = 2100});
  EXPECT_TRUE(meter_.HasTooManyCalls());
}

TEST_F(FloodMeterTest, OneThatBehavesIsNotToBlame) {
  Pass(0, {.calls = 1, .received_bytes = 2'000});
  EXPECT_EQ(meter_.Blame(Standing::kStranger), 0);
  Pass(0, {.received_bytes = 20'000});
  EXPECT_GT(meter_.Blame(Standing::kStranger), 10'000);
  EXPECT_EQ(meter_.Blame(Standing::kClient), 0);
}

}  // namespace
}  // namespace penstock
