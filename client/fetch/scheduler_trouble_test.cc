// Windows that fail, damaged records, queries of death.
#include "client/fetch/testing/scheduler_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(SchedulerTest, DamageFailsTheJobNamingTheServer) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.FailNextFetch(0, absl::DataLossError("a.tfrecord: record 3: bad CRC"));
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kDataLoss,
                                        "10.0.0.1:7070: a.tfrecord: record 3: bad CRC"));
}

TEST_F(SchedulerTest, ARefusalThatMayPassIsAskedAgain) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.FailNextFetch(0, absl::ResourceExhaustedError("budget"));
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

TEST_F(SchedulerTest, AWindowThatFailsIsOpenedAgainLater) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.FailWindows(0, 5, absl::UnavailableError("i/o error"));
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_GE(fleet.elapsed(), absl::Milliseconds(50));
}

TEST_F(SchedulerTest, AWindowThatKeepsFailingEndsTheJob) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.FailWindows(0, 1'000'000, absl::ResourceExhaustedError("window 7 needs 9 GiB of 1 GiB"));
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kResourceExhausted,
                                        "10.0.0.1:7070: window 7 needs 9 GiB of 1 GiB"));
  EXPECT_GE(fleet.elapsed(), absl::Seconds(1));
}

TEST_F(SchedulerTest, AMissingShardEndsTheJobAtOnce) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.FailWindows(1, 1, absl::NotFoundError("a.tfrecord: no such file"));
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kNotFound, "10.0.0.2:7070: a.tfrecord: no such file"));
  EXPECT_LT(fleet.elapsed(), absl::Seconds(1));
}

TEST_F(SchedulerTest, AServerThatDiesOfEveryWindowEndsTheJob) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.DieOfWindows(0);
  fleet.DieOfWindows(1);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("makes servers break")));
}

Damage Record(uint32_t record) { return {"a.tfrecord", 65536, record, false}; }

// A window that every run of the fixture's plan needs.
constexpr WindowId kWindow{0, 3, 1};

class SchedulerDamageTest : public SchedulerTest {
 protected:
  FakeFleet& Damaged(uint32_t servers, std::initializer_list<uint32_t> damaged,
                     OnError on_error = OnError::kFail) {
    scheduler_.on_error = on_error;
    FakeFleet& fleet = MakeFleet({.servers = servers});
    for (uint32_t s : damaged) fleet.DamageWindow(s, kWindow, Record(7));
    return fleet;
  }
};

TEST_F(SchedulerDamageTest, TwoServersThatAgreeEndTheJob) {
  FakeFleet& fleet = Damaged(2, {0, 1});
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("a.tfrecord: chunk at offset 65536, record 7"),
                             HasSubstr("10.0.0.1:7070"), HasSubstr("10.0.0.2:7070"),
                             HasSubstr("agree"), HasSubstr("--on-error replace"))));
}

TEST_F(SchedulerDamageTest, OneServerIsAskedTwice) {
  FakeFleet& fleet = Damaged(1, {0});
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("says so twice")));
}

TEST_F(SchedulerDamageTest, AServerThatIsAwayIsWaitedForBeforeTheOnlyOneIsBelieved) {
  FakeFleet& fleet = Damaged(2, {0});
  fleet.KillAt(absl::ZeroDuration(), 1);
  fleet.RestartAt(absl::Seconds(2), 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

TEST_F(SchedulerDamageTest, AServerThatIsLateIsWaitedForBeforeTheOtherIsBelieved) {
  FakeFleet& fleet = Damaged(2, {0});
  fleet.SlowDownAt(absl::ZeroDuration(), 1, 100);
  fleet.SlowDownAt(absl::Seconds(2), 1, 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

TEST_F(SchedulerDamageTest, AServerThatStaysAwayIsNotWaitedForLong) {
  FakeFleet& fleet = Damaged(2, {0});
  fleet.KillAt(absl::ZeroDuration(), 1);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("says so twice")));
}

TEST_F(SchedulerDamageTest, AServerThatStandsAloneIsNotBelieved) {
  for (uint32_t liar = 0; liar < 3; ++liar) {
    FakeFleet& fleet = Damaged(3, {liar});
    EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
    EXPECT_TRUE(fleet.scheduler().replaced().empty());
  }
}

TEST_F(SchedulerDamageTest, ADisagreementIsReported) {
  size_t reports = 0;
  for (uint32_t liar = 0; liar < 2; ++liar) {
    FakeFleet& fleet = Damaged(2, {liar});
    EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
    for (const std::string& report : fleet.reports()) {
      EXPECT_THAT(report, HasSubstr("served it"));
      ++reports;
    }
  }
  EXPECT_EQ(reports, 1u);  // The window's own server was the liar once.
}

TEST_F(SchedulerDamageTest, ReplacesWhatServersAgreeOn) {
  FakeFleet& fleet = Damaged(2, {0, 1}, OnError::kReplace);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  ASSERT_EQ(fleet.scheduler().replaced().size(), 1u);
  EXPECT_EQ(fleet.scheduler().replaced()[0].record, 7u);
  EXPECT_THAT(fleet.reports(), ::testing::ElementsAre(HasSubstr("replaced a.tfrecord")));
}

TEST_F(SchedulerDamageTest, TheOnlyServerMayHaveRecordsReplaced) {
  FakeFleet& fleet = Damaged(1, {0}, OnError::kReplace);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.scheduler().replaced().size(), 1u);
}

TEST_F(SchedulerTest, AReadErrorIsAskedOfAnotherServer) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.FailWindows(0, 1'000'000, absl::UnavailableError("i/o error"));
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.rows_fetched(0), 0u);
}

TEST_F(SchedulerTest, AQueryOfDeathIsNamedBeforeItKillsTheFleet) {
  FakeFleet& fleet = MakeFleet({.servers = 8});
  for (uint32_t s = 0; s < 8; ++s) fleet.DieOfRow(s, kWindow, 5);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("window 1 of lane 3 in epoch 0"), HasSubstr("chunks"))));
  uint64_t breaks = 0;
  for (uint32_t s = 0; s < 8; ++s) breaks += fleet.scheduler().servers()[s].counted.breaks;
  EXPECT_EQ(breaks, 4u);  // And the fifth: the second that was asked for nothing else.
}

TEST_F(SchedulerTest, ASuspectThatProvesHarmlessIsReadOn) {
  FakeFleet& fleet = MakeFleet({.servers = 4});
  const std::vector<uint32_t> ranking = {0, 1, 2, 3};
  for (uint32_t s : ranking) fleet.DieOfRow(s, kWindow, 5);
  fleet.DieOnlyTimes(3);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_THAT(fleet.reports(), ::testing::Contains(HasSubstr("asked for alone")));
}

// As where servers are restarted one after the other.
TEST_F(SchedulerTest, OneDeathMoreMayBeChance) {
  FakeFleet& fleet = MakeFleet({.servers = 4});
  for (uint32_t s = 0; s < 4; ++s) fleet.DieOfRow(s, kWindow, 5);
  fleet.DieOnlyTimes(4);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

}  // namespace
}  // namespace penstock
