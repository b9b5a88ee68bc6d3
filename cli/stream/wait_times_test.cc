#include "cli/stream/wait_times.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

double Us(absl::Duration duration) { return absl::ToDoubleMicroseconds(duration); }

TEST(WaitTimesTest, OfNoneEveryQuantileIsZero) {
  EXPECT_EQ(WaitTimes().Quantile(0.5), absl::ZeroDuration());
  EXPECT_EQ(WaitTimes().max(), absl::ZeroDuration());
}

TEST(WaitTimesTest, QuantilesAreAtMostOnePercentTooHigh) {
  WaitTimes waits;
  for (int i = 1; i <= 10000; ++i) waits.Add(absl::Microseconds(i));
  EXPECT_EQ(waits.count(), 10000u);
  for (double q : {0.01, 0.5, 0.99, 1.0}) {
    EXPECT_GE(Us(waits.Quantile(q)), q * 10000 * 0.9999);
    EXPECT_LE(Us(waits.Quantile(q)), q * 10000 * 1.0101);
  }
  EXPECT_EQ(waits.max(), absl::Milliseconds(10));
}

TEST(WaitTimesTest, OneLongWaitIsTheMaximumAndMovesNoMedian) {
  WaitTimes waits;
  for (int i = 0; i < 999; ++i) waits.Add(absl::Microseconds(3));
  waits.Add(absl::Seconds(5));
  EXPECT_NEAR(Us(waits.Quantile(0.99)), 3, 0.04);
  EXPECT_EQ(waits.max(), absl::Seconds(5));
  EXPECT_EQ(waits.Quantile(1.0), absl::Seconds(5));
}

TEST(WaitTimesTest, TakesWhatIsBeyondItsClasses) {
  WaitTimes waits;
  waits.Add(absl::ZeroDuration());
  waits.Add(absl::Nanoseconds(1));
  waits.Add(absl::Hours(24));
  EXPECT_LE(waits.Quantile(0.5), absl::Microseconds(1));
  EXPECT_EQ(waits.max(), absl::Hours(24));
}

}  // namespace
}  // namespace penstock
