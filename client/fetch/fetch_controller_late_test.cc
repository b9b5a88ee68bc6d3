// Tests how the controller handles late servers, and how many extra loads they may cause.
#include "client/fetch/testing/fetch_controller_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Windows handed over because their server was late or silent, over all servers.
uint64_t ExtraLoads(FakeFleet& fleet) {
  uint64_t extra = 0;
  for (uint32_t s = 0; s < fleet.controller().servers().size(); ++s) {
    extra += fleet.controller().servers()[s].counted.extra_loads;
  }
  return extra;
}

uint64_t HandedOver(FakeFleet& fleet) {
  uint64_t handed_over = 0;
  for (uint32_t s = 0; s < fleet.controller().servers().size(); ++s) {
    handed_over += fleet.controller().servers()[s].counted.handed_over;
  }
  return handed_over;
}

TEST_F(FetchControllerTest, AServerThatBecomesSlowLosesItsWindows) {
  FakeFleet& fleet = MakeFleet({.servers = 4, .consume = absl::Milliseconds(5)});
  fleet.SlowDownAt(absl::Milliseconds(150), 2, 100);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  const ServerCounts& slow = fleet.controller().servers()[2].counted;
  EXPECT_GT(slow.late_requests, 0u);
  EXPECT_GT(slow.handed_over, 0u);
  EXPECT_GT(fleet.cancels(), 0u);
  EXPECT_EQ(slow.lost_requests, 0u);
  EXPECT_LT(fleet.longest_wait(), absl::Milliseconds(150));
}

TEST_F(FetchControllerTest, ASlowServerCostsLittleTime) {
  const FleetOptions options{.servers = 4, .consume = absl::Milliseconds(5)};
  FakeFleet& quiet = MakeFleet(options);
  EXPECT_TRUE(quiet.Run());
  const absl::Duration undisturbed = quiet.elapsed();
  FakeFleet& fleet = MakeFleet(options);
  fleet.SlowDownAt(absl::Milliseconds(150), 2, 100);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_LT(fleet.elapsed(), 1.3 * undisturbed);
}

TEST_F(FetchControllerTest, ASilentServerIsDoneWithoutLongBeforeItIsLost) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(5)});
  fleet.StallAt(absl::Milliseconds(150), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_LT(fleet.longest_wait(), absl::Milliseconds(400));
  EXPECT_GT(fleet.controller().servers()[0].counted.handed_over, 0u);
}

// Two of four servers are slow already, so the third cannot be marked slow too. But it is silent.
TEST_F(FetchControllerTest, ASilentServerIsLeftThoughOthersAreSlow) {
  MakePlan(Chunks(2000, 40), {.lanes = 16, .window_chunks = 8});
  FakeFleet& fleet = MakeFleet({.servers = 4, .consume = absl::Milliseconds(5)});
  fleet.SlowDownAt(absl::Milliseconds(150), 0, 100);
  fleet.SlowDownAt(absl::Milliseconds(150), 1, 100);
  fleet.StallAt(absl::Milliseconds(1500), 2);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_LT(fleet.longest_wait(), absl::Seconds(1));
}

// More than half of the servers are silent, so silence is the usual case.
TEST_F(FetchControllerTest, MostServersMayBeSilentAtOnce) {
  MakePlan(Chunks(2000, 40), {.lanes = 16, .window_chunks = 8});
  FakeFleet& fleet = MakeFleet({.servers = 4, .consume = absl::Milliseconds(5)});
  for (uint32_t i = 0; i < 3; ++i) fleet.StallAt(absl::Milliseconds(500), i);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_LT(fleet.longest_wait(), absl::Milliseconds(600));
}

// These extra loads are not bounded, because the server is as good as lost.
TEST_F(FetchControllerTest, TheWindowsOfASilentServerAreExtraLoadsToo) {
  MakePlan(Chunks(4000, 40), {.lanes = 64, .window_chunks = 8});
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(5)});
  fleet.StallAt(absl::Milliseconds(500), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_GT(HandedOver(fleet), 0u);
  EXPECT_EQ(ExtraLoads(fleet), HandedOver(fleet));
}

TEST_F(FetchControllerTest, ASlowServerThatRecoversIsUsedAgain) {
  MakePlan(Chunks(2000, 40), {.lanes = 16, .window_chunks = 8});
  FakeFleet& fleet = MakeFleet({.servers = 4, .consume = absl::Milliseconds(5)});
  fleet.SlowDownAt(absl::Milliseconds(150), 2, 100);
  fleet.SlowDownAt(absl::Milliseconds(600), 2, 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_GT(fleet.rows_fetched(2), 80'000u / 8);
}

// On a busy machine a healthy server is late now and then. This is not reported.
TEST_F(FetchControllerTest, AServerThatIsLateForAMomentIsNotNamed) {
  MakePlan(Chunks(2000, 40), {.lanes = 16, .window_chunks = 8});
  FakeFleet& fleet = MakeFleet({.servers = 4, .consume = absl::Milliseconds(5)});
  for (int i = 0; i < 4; ++i) {
    fleet.SlowDownAt(absl::Milliseconds(150 + 900 * i), i, 100);
    fleet.SlowDownAt(absl::Milliseconds(400 + 900 * i), i, 1);
  }
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_GT(HandedOver(fleet), 0u);
  EXPECT_THAT(fleet.reports(), Not(Contains(HasSubstr("missing its deadline"))));
  EXPECT_THAT(fleet.reports(), Not(Contains(HasSubstr("meets its deadline again"))));
}

TEST_F(FetchControllerTest, AServerThatStaysSlowIsNamedOnceAndAgainWhenItIsWell) {
  MakePlan(Chunks(4000, 40), {.lanes = 16, .window_chunks = 8});
  FakeFleet& fleet = MakeFleet({.servers = 4, .consume = absl::Milliseconds(5)});
  fleet.SlowDownAt(absl::Milliseconds(150), 2, 100);
  fleet.SlowDownAt(absl::Milliseconds(3000), 2, 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_GT(fleet.elapsed(), absl::Seconds(6));
  EXPECT_THAT(fleet.reports(),
              Contains(HasSubstr(" keeps missing its deadline of 50ms: ")).Times(1));
  EXPECT_THAT(fleet.reports(), Contains(HasSubstr("meets its deadline again")).Times(1));
}

// A slow server is probed with rows that nobody waits for.
TEST_F(FetchControllerTest, AServerThatStaysSlowGetsNoWindows) {
  MakePlan(Chunks(2000, 40), {.lanes = 16, .window_chunks = 8});
  FakeFleet& fleet = MakeFleet({.servers = 4, .consume = absl::Milliseconds(5)});
  fleet.SlowDownAt(absl::Milliseconds(150), 2, 100);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_GT(fleet.elapsed(), absl::Seconds(2));
  EXPECT_LT(fleet.rows_fetched(2), 80'000u / 20);
  EXPECT_LT(fleet.longest_wait(), absl::Milliseconds(150));
}

TEST_F(FetchControllerTest, NobodyIsLateWhereAllAreSlow) {
  FakeFleet& fleet = MakeFleet({.servers = 4, .consume = absl::Milliseconds(5)});
  for (uint32_t i = 0; i < 4; ++i) fleet.SlowDownAt(absl::Milliseconds(150), i, 100);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_EQ(ExtraLoads(fleet), 0u);
}

TEST_F(FetchControllerTest, ASlowServerMayDieOfItsProbe) {
  MakePlan(Chunks(2000, 40), {.lanes = 16, .window_chunks = 8});
  FakeFleet& fleet = MakeFleet({.servers = 3, .consume = absl::Milliseconds(5)});
  fleet.SlowDownAt(absl::Milliseconds(150), 2, 400);
  for (int i = 0; i < 30; ++i) fleet.KillAt(absl::Milliseconds(700 + 97 * i), 2);
  for (int i = 0; i < 30; ++i) fleet.RestartAt(absl::Milliseconds(705 + 97 * i), 2);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

// Each server is slow in turn, so that windows would be loaded again and again.
TEST_F(FetchControllerTest, ExtraLoadsAreBounded) {
  MakePlan(Chunks(4000, 40), {.lanes = 32, .window_chunks = 4});
  FakeFleet& fleet = MakeFleet({.servers = 4, .consume = absl::Milliseconds(5)});
  for (int i = 0; i < 40; ++i) {
    fleet.SlowDownAt(absl::Milliseconds(150 + 150 * i), i % 4, 100);
    fleet.SlowDownAt(absl::Milliseconds(300 + 150 * i), i % 4, 1);
  }
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_GT(ExtraLoads(fleet), 0u);
  EXPECT_LE(ExtraLoads(fleet), 8 + 12 + 0.05 * fleet.windows_opened());
}

TEST_F(FetchControllerTest, TheOnlyServerMayBeSlow) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.SlowDownAt(absl::Milliseconds(50), 0, 200);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.controller().servers()[0].counted.handed_over, 0u);
}

// The first loads of a cold fleet take seconds. No server counts as late.
TEST_F(FetchControllerTest, ColdLoadsHaveADeadlineOfTheirOwn) {
  FakeFleet& fleet = MakeFleet({.servers = 3, .load = absl::Seconds(1)});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_EQ(ExtraLoads(fleet), 0u);
}

// The windows that were ready on the lost server are loaded again elsewhere.
TEST_F(FetchControllerTest, LoadsOfALostServersWindowsHaveThatDeadlineToo) {
  FakeFleet& fleet = MakeFleet({.servers = 3, .load = absl::Seconds(1)});
  fleet.KillAt(absl::Milliseconds(1500), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_EQ(ExtraLoads(fleet), 0u);
}

}  // namespace
}  // namespace penstock
