#include "base/process/stop_signals.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using Meaning = StopSignals::Meaning;

constexpr StopSignals::Clock::time_point kStart{std::chrono::hours(1)};

TEST(StopSignalsTest, ASecondOneWithinASecondIsTheSameRequest) {
  StopSignals signals;
  EXPECT_EQ(signals.received(), 0);
  EXPECT_EQ(signals.Receive(SIGTERM, kStart), Meaning::kStop);
  EXPECT_EQ(signals.Receive(SIGTERM, kStart), Meaning::kNothing);
  EXPECT_EQ(signals.Receive(SIGINT, kStart + milliseconds(999)), Meaning::kNothing);
  EXPECT_EQ(signals.Receive(SIGINT, kStart + milliseconds(1000)), Meaning::kStopAtOnce);
  EXPECT_EQ(signals.received(), SIGTERM);
}

TEST(StopSignalsTest, SigUsr1IsNeitherTheSecondNorTheFirstOfTwo) {
  StopSignals signals;
  EXPECT_EQ(signals.Receive(SIGUSR1, kStart), Meaning::kStop);
  EXPECT_EQ(signals.Receive(SIGUSR1, kStart + milliseconds(5000)), Meaning::kNothing);
  EXPECT_EQ(signals.Receive(SIGTERM, kStart + milliseconds(6000)), Meaning::kStop);
  EXPECT_EQ(signals.received(), SIGTERM);
  EXPECT_EQ(signals.Receive(SIGTERM, kStart + milliseconds(6999)), Meaning::kNothing);
  EXPECT_EQ(signals.Receive(SIGUSR1, kStart + milliseconds(9000)), Meaning::kNothing);
  EXPECT_EQ(signals.Receive(SIGTERM, kStart + milliseconds(9000)), Meaning::kStopAtOnce);
}

TEST(StopSignalsTest, WhatIsForgottenIsNoFirst) {
  StopSignals signals;
  signals.Receive(SIGINT, kStart);
  signals.Forget();
  EXPECT_EQ(signals.received(), 0);
  EXPECT_EQ(signals.Receive(SIGINT, kStart + milliseconds(5000)), Meaning::kStop);
}

TEST(StopSignalsTest, SighupIsOneUnlessItIsIgnored) {
  signal(SIGHUP, SIG_DFL);  // The tests may run under nohup.
  sigset_t set = StopSignals::Set();
  EXPECT_EQ(sigismember(&set, SIGHUP), 1);
  signal(SIGHUP, SIG_IGN);
  set = StopSignals::Set();
  signal(SIGHUP, SIG_DFL);
  EXPECT_EQ(sigismember(&set, SIGHUP), 0);
  EXPECT_EQ(sigismember(&set, SIGTERM), 1);
}

}  // namespace
}  // namespace penstock
