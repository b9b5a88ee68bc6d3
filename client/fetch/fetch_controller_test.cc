// Tests which rows the controller requests while nothing goes wrong.
#include "client/fetch/testing/fetch_controller_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

TEST_F(FetchControllerTest, DeliversEveryRowInOrder) {
  FakeFleet& fleet = MakeFleet();
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.delivered(), 16000u / 128);
}

TEST_F(FetchControllerTest, ReleasesEveryWindow) {
  FakeFleet& fleet = MakeFleet();
  EXPECT_TRUE(fleet.Run());
  EXPECT_EQ(fleet.open_windows(), 0u);
}

TEST_F(FetchControllerTest, GathersStripsIntoRequests) {
  FakeFleet& fleet = MakeFleet({.consume = absl::Milliseconds(20)});
  EXPECT_TRUE(fleet.Run());
  // 8,000 bytes are 40 rows. Strips have at most 16.
  EXPECT_LT(fleet.fetches(), 16000u / 20);
}

TEST_F(FetchControllerTest, SpreadsRowsOverServers) {
  FakeFleet& fleet = MakeFleet({.servers = 4});
  EXPECT_TRUE(fleet.Run());
  for (uint32_t s = 0; s < 4; ++s) EXPECT_NEAR(fleet.rows_fetched(s), 4000, 1200);
}

TEST_F(FetchControllerTest, KeepsToTheCredit) {
  controller_.num_slots = 64;
  FakeFleet& fleet = MakeFleet({.servers = 1, .credit_bytes = 20'000});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
}

TEST_F(FetchControllerTest, KeepsToItsOwnLimitWhateverTheCredit) {
  controller_.num_slots = 64;
  controller_.max_outstanding_bytes = 20'000;
  FakeFleet& fleet = MakeFleet({.servers = 1, .credit_bytes = uint64_t{1} << 40});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
}

TEST_F(FetchControllerTest, NeverOpensMoreWindowsThanAServerAllows) {
  MakePlan(Chunks(5000, 3), {.shuffle = false});
  controller_.num_slots = 200;
  FakeFleet& fleet = MakeFleet({.servers = 1});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_LT(fleet.most_windows(), 1024u);
}

// An epoch is one batch, and there are slots for hundreds of batches.
TEST_F(FetchControllerTest, LooksAheadOverFewOfManySmallEpochs) {
  MakePlan(Chunks(1, 40));
  controller_.num_slots = 500;
  FakeFleet& fleet = MakeFleet({.servers = 1}, {.global_batch_size = 40, .epochs = 2000});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_EQ(fleet.delivered(), 2000u);
  EXPECT_LE(fleet.most_windows(), 64u);
}

TEST_F(FetchControllerTest, UnshuffledEpochsUseAllServers) {
  MakePlan(Chunks(300, 40), {.shuffle = false});
  FakeFleet& fleet = MakeFleet({.servers = 3});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  for (uint32_t s = 0; s < 3; ++s) EXPECT_GT(fleet.rows_fetched(s), 0u);
}

TEST_F(FetchControllerTest, TwoSlotsAreEnough) {
  controller_.num_slots = 2;
  FakeFleet& fleet = MakeFleet();
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
}

TEST_F(FetchControllerTest, StopsAfterMaxSteps) {
  controller_.max_steps = 7;
  FakeFleet& fleet = MakeFleet();
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_EQ(fleet.delivered(), 7u);
  EXPECT_EQ(fleet.open_windows(), 0u);
}

// 2,000 lanes on one server are more than it allows to be open.
TEST_F(FetchControllerTest, OpensWindowsInTheOrderOfNeedUpToTheLimit) {
  MakePlan(Chunks(6000, 4), {.lanes = 2000, .window_chunks = 1, .strip_rows = 2});
  controller_.num_slots = 40;
  FakeFleet& fleet = MakeFleet({.servers = 1});
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_LT(fleet.most_windows(), 1024u);
  EXPECT_GT(fleet.most_windows(), 900u);
}

// All of them move to a server that has already reached its limit.
TEST_F(FetchControllerTest, WindowsOfALostServerFindRoomOnAFullOne) {
  MakePlan(Chunks(3000, 8), {.lanes = 200, .window_chunks = 2, .strip_rows = 2});
  controller_.num_slots = 30;
  controller_.max_open_windows = 60;
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.KillAt(absl::Milliseconds(40), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_LE(fleet.most_windows(), 60u);
}

TEST_F(FetchControllerTest, AConsumerMayHoldAllSlotsButOne) {
  for (uint32_t slots : {2u, 3u, 8u}) {
    controller_.num_slots = slots;
    FakeFleet& fleet = MakeFleet({.hold = slots - 1});
    EXPECT_TRUE(fleet.Run()) << slots << " slots: " << fleet.violation() << fleet.failure();
  }
}

TEST_F(FetchControllerTest, DoesTheSameGivenTheSameEvents) {
  std::vector<uint64_t> fetches;
  for (int i = 0; i < 2; ++i) {
    FakeFleet& fleet = MakeFleet({.servers = 3, .seed = 5});
    fleet.SlowDownAt(absl::Milliseconds(40), 1, 30);
    fleet.KillAt(absl::Milliseconds(60), 0);
    EXPECT_TRUE(fleet.Run()) << fleet.violation();
    fetches.push_back(fleet.fetches() << 20 | fleet.windows_opened());
  }
  EXPECT_EQ(fetches[0], fetches[1]);
}

}  // namespace
}  // namespace penstock
