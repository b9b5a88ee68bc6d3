#include "client/fetch/process_clock.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

const absl::Time kStart = absl::UnixEpoch() + absl::Seconds(100);

class ProcessClockTest : public ::testing::Test {
 protected:
  void SetAt(absl::Duration at) {
    clock_.Set(kStart + at, [this] { return next_wake_; });
  }
  absl::Duration Now() const { return clock_.now() - kStart; }

  ProcessClock clock_;
  absl::Time next_wake_ = absl::InfiniteFuture();
};

TEST_F(ProcessClockTest, GoesWithTheOuterClock) {
  SetAt(absl::Seconds(1));
  next_wake_ = clock_.ExpectWake(clock_.now() + absl::Seconds(1));
  SetAt(absl::Seconds(2) + absl::Milliseconds(50));
  EXPECT_EQ(Now(), absl::Seconds(2) + absl::Milliseconds(50));
  EXPECT_EQ(clock_.resumed_at(), absl::InfinitePast());
}

TEST_F(ProcessClockTest, StandsWhileTheProcessIsStopped) {
  SetAt(absl::Seconds(1));
  next_wake_ = clock_.ExpectWake(clock_.now() + absl::Seconds(1));
  SetAt(absl::Seconds(60));
  EXPECT_EQ(Now(), absl::Seconds(2));
  EXPECT_EQ(clock_.resumed_at(), clock_.now());
  EXPECT_EQ(clock_.ToOuter(clock_.now()), kStart + absl::Seconds(60));
}

TEST_F(ProcessClockTest, DoesNotStandWhereTheOwnerWantsToWakeLaterByNow) {
  SetAt(absl::Seconds(1));
  clock_.ExpectWake(clock_.now() + absl::Seconds(1));
  next_wake_ = kStart + absl::Seconds(90);
  SetAt(absl::Seconds(60));
  EXPECT_EQ(Now(), absl::Seconds(60));
}

}  // namespace
}  // namespace penstock
