// Tests windows that fail, damaged records, and queries of death.
#include "absl/strings/str_cat.h"
#include "client/fetch/testing/fetch_controller_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_F(FetchControllerTest, DamageFailsTheJobNamingTheServer) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.FailNextFetch(0, absl::DataLossError("a.tfrecord: record 3: bad CRC"));
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kDataLoss,
                                        "10.0.0.1:7070: a.tfrecord: record 3: bad CRC"));
}

TEST_F(FetchControllerTest, ARefusalThatMayPassIsAskedAgain) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.FailNextFetch(0, absl::ResourceExhaustedError("budget"));
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

TEST_F(FetchControllerTest, AWindowThatFailsIsOpenedAgainLater) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.FailWindows(0, 5, absl::UnavailableError("i/o error"));
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_GE(fleet.elapsed(), absl::Milliseconds(50));
}

TEST_F(FetchControllerTest, AWindowThatKeepsFailingEndsTheJob) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.FailWindows(0, 1'000'000, absl::ResourceExhaustedError("window 7 needs 9 GiB of 1 GiB"));
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kResourceExhausted,
                                        "10.0.0.1:7070: window 7 needs 9 GiB of 1 GiB"));
  EXPECT_GE(fleet.elapsed(), absl::Seconds(1));
}

TEST_F(FetchControllerTest, AWindowThatCannotBeReadIsAskedForAsLongAsServersAreWaitedFor) {
  for (const bool comes_back : {true, false}) {
    FakeFleet& fleet = MakeFleet({.servers = 1});
    fleet.FailWindows(0, comes_back ? 100 : 1'000'000, absl::UnavailableError("i/o error"));
    EXPECT_EQ(fleet.Run(), comes_back) << fleet.violation() << fleet.failure();
    EXPECT_GE(fleet.elapsed(), comes_back ? absl::Milliseconds(50) : controller_.server_timeout);
  }
}

// A server that has no room for all windows that are read. The plan has 16 lanes.
class FullServerTest : public FetchControllerTest {
 protected:
  FakeFleet& WithRoomFor(uint32_t windows, uint32_t servers, uint32_t window_rows = 400) {
    MakePlan(Chunks(25'600 / window_rows, window_rows), {.lanes = 16, .window_chunks = 1});
    return MakeFleet({.servers = servers, .windows_in_use = windows});
  }
};

TEST_F(FullServerTest, WhatIsReadAheadNeedNotFit) {
  // The look-ahead is three windows of a lane.
  FakeFleet& fleet = WithRoomFor(20, 1, /*window_rows=*/40);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

TEST_F(FullServerTest, WhatIsReadSideBySideMust) {
  FakeFleet& fleet = WithRoomFor(12, 1);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kResourceExhausted, "10.0.0.1:7070: windows do not fit"));
  EXPECT_LE(fleet.elapsed(), absl::Seconds(10));
}

TEST_F(FullServerTest, AServerThatIsAwayIsWaitedForWhereTheOtherIsFull) {
  FakeFleet& fleet = WithRoomFor(12, 2);
  fleet.KillAt(absl::Milliseconds(20), 1);
  fleet.RestartAt(absl::Seconds(15), 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_THAT(fleet.reports(), Contains("10.0.0.1:7070: windows do not fit; still retrying"));
}

TEST_F(FullServerTest, AServerThatStaysAwayIsNotWaitedForWithoutEnd) {
  FakeFleet& fleet = WithRoomFor(12, 2);
  fleet.KillAt(absl::Milliseconds(20), 1);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("do not fit")));
  EXPECT_GE(fleet.elapsed(), controller_.server_timeout);
}

// Late servers are asked again for rows that nobody waits for, while others refuse theirs.
TEST_F(FullServerTest, ServersThatAreLateBesidesAreNotMistaken) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    MakePlan(Chunks(1'600, 40), {.lanes = 16, .window_chunks = 1});
    FakeFleet& fleet = MakeFleet({.servers = 2, .seed = seed, .windows_in_use = 10});
    for (int i = 0; i < 8; ++i) {
      const uint32_t server = (seed + i) % 2;
      fleet.SlowDownAt(absl::Milliseconds(50 + 400 * i), server, 200);
      fleet.SlowDownAt(absl::Milliseconds(250 + 400 * i), server, 1);
    }
    EXPECT_TRUE(fleet.Run()) << seed << fleet.violation() << fleet.failure();
  }
}

TEST_F(FetchControllerTest, AShardThatNoServerHasEndsTheJobAtOnce) {
  for (const uint32_t servers : {1, 3}) {
    FakeFleet& fleet = MakeFleet({.servers = servers});
    for (uint32_t i = 0; i < servers; ++i) {
      fleet.FailWindows(i, 1'000'000, absl::NotFoundError("a.tfrecord: no such file"));
    }
    EXPECT_FALSE(fleet.Run());
    EXPECT_THAT(fleet.failure(),
                StatusIs(absl::StatusCode::kNotFound,
                         AllOf(StartsWith("10.0.0.1:7070: a.tfrecord: no such file; "),
                               EndsWith("; shard paths are relative to the servers' --data-root: "
                                        "check that the manifest belongs to the data there"))));
    EXPECT_THAT(fleet.failure().message(), HasSubstr(absl::StrCat("10.0.0.", servers, ":7070: a")));
    EXPECT_LT(fleet.elapsed(), absl::Seconds(1));
    EXPECT_THAT(fleet.reports(), SizeIs(servers - 1));
  }
}

// Its mount is empty, or it has other data, or it may not read it.
TEST_F(FetchControllerTest, AServerThatLacksTheDataIsLeftOut) {
  for (const absl::Status& lack : {absl::NotFoundError("a.tfrecord: no such file"),
                                   absl::FailedPreconditionError("a.tfrecord: changed"),
                                   absl::PermissionDeniedError("a.tfrecord: permission denied")}) {
    FakeFleet& fleet = MakeFleet({.servers = 3, .consume = absl::Milliseconds(100)});
    fleet.FailWindows(1, 1'000'000, lack);
    EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
    EXPECT_EQ(fleet.rows_fetched(1), 0u);
    EXPECT_GE(fleet.connects(1), 3u);
    EXPECT_LE(fleet.connects(1), 8u);
    EXPECT_LT(fleet.longest_wait(), absl::Milliseconds(50));
    EXPECT_THAT(fleet.reports(), ElementsAre(AllOf(StartsWith("10.0.0.2:7070: a.tfrecord: "),
                                                   HasSubstr("; the server is left out, and"))));
  }
}

TEST_F(FetchControllerTest, AServerWhoseDataIsBackIsUsedAgain) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(100)});
  fleet.FailWindows(1, 3, absl::NotFoundError("a.tfrecord: no such file"));
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_GT(fleet.rows_fetched(1), 1000u);
  EXPECT_THAT(fleet.reports(), ElementsAre(HasSubstr("is left out"), HasSubstr("answers again")));
}

// A window may be missing from the only server that is left, while it serves others.
TEST_F(FetchControllerTest, AShardThatTheLastServerLacksEndsTheJobAfterItsTimeout) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(20)});
  fleet.KillAt(absl::ZeroDuration(), 0);
  fleet.LackWindow(1, WindowId{0, 3, 1}, absl::NotFoundError("a.tfrecord: no such file"));
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure().message(), AllOf(HasSubstr("10.0.0.1:7070: connection refused"),
                                               HasSubstr("10.0.0.2:7070: a.tfrecord: no such")));
  EXPECT_GT(fleet.elapsed(), absl::Seconds(30));
  EXPECT_LT(fleet.elapsed(), absl::Seconds(45));
}

// In a set that changes, the server that has the data may come.
TEST_F(FetchControllerTest, ALackIsWaitedOutWhileOthersMayCome) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .listed = 0});
  fleet.ServersAt(absl::Milliseconds(1), 1);
  fleet.FailWindows(0, 1'000'000, absl::NotFoundError("a.tfrecord: no such file"));
  fleet.ServersAt(absl::Seconds(20), 2);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.rows_fetched(0), 0u);
}

TEST_F(FetchControllerTest, AServerThatDiesOfEveryWindowEndsTheJob) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.DieOfWindows(0);
  fleet.DieOfWindows(1);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("makes servers fail")));
}

Damage Record(uint32_t record) { return {"a.tfrecord", 65536, record, false}; }

// A window that every run of the fixture's plan needs.
constexpr WindowId kBadWindow{0, 3, 1};

// Other clients use the server's memory for minutes.
TEST_F(FetchControllerTest, AServerThatSaysItIsShortOfMemoryIsWaitedFor) {
  FleetOptions starved{
      .servers = 1, .load = absl::Minutes(10), .credit_every = absl::Milliseconds(2500)};
  FakeFleet& fleet = MakeFleet(starved);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.connects(0), 1u);
  EXPECT_THAT(fleet.reports(), Contains(HasSubstr("10.0.0.1:7070: not enough memory")));
  EXPECT_LE(fleet.reports().size(), fleet.elapsed() / absl::Minutes(1) + 1);
}

// Other clients use the server's threads for minutes. No window is to blame.
TEST_F(FetchControllerTest, AServerThatSaysItIsBusyIsWaitedFor) {
  FakeFleet& fleet = MakeFleet({.servers = 1,
                                .load = absl::Minutes(10),
                                .credit_every = absl::Milliseconds(2500),
                                .working = true});
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.connects(0), 1u);
  EXPECT_THAT(fleet.reports(), Contains(HasSubstr("10.0.0.1:7070: busy")));
  EXPECT_THAT(fleet.reports(), Each(Not(HasSubstr("memory"))));
  EXPECT_THAT(fleet.reports(), Each(Not(HasSubstr("may make servers fail"))));
}

TEST_F(FetchControllerTest, AServerThatIsAsSlowAndSaysNothingEndsTheJob) {
  FakeFleet& fleet = MakeFleet({.servers = 1, .load = absl::Minutes(20)});
  EXPECT_FALSE(fleet.Run());
  EXPECT_TRUE(absl::IsUnavailable(fleet.failure())) << fleet.failure();
  EXPECT_THAT(fleet.reports(), Each(Not(HasSubstr("not enough memory"))));
}

class FetchControllerDamageTest : public FetchControllerTest {
 protected:
  FakeFleet& Damaged(uint32_t servers, std::initializer_list<uint32_t> damaged,
                     OnError on_error = OnError::kFail) {
    controller_.on_error = on_error;
    FakeFleet& fleet = MakeFleet({.servers = servers});
    for (uint32_t s : damaged) fleet.DamageWindow(s, kBadWindow, Record(7));
    return fleet;
  }
};

TEST_F(FetchControllerDamageTest, TwoServersThatAgreeEndTheJob) {
  FakeFleet& fleet = Damaged(2, {0, 1});
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("a.tfrecord: chunk at offset 65536, record 7"),
                             HasSubstr("10.0.0.1:7070"), HasSubstr("10.0.0.2:7070"),
                             HasSubstr("reported by"), HasSubstr("--on-error replace"))));
}

TEST_F(FetchControllerDamageTest, OneServerIsAskedTwice) {
  FakeFleet& fleet = Damaged(1, {0});
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("reported it twice")));
}

TEST_F(FetchControllerDamageTest, AServerThatIsAwayIsWaitedForBeforeTheOnlyOneIsBelieved) {
  FakeFleet& fleet = Damaged(2, {0});
  fleet.KillAt(absl::ZeroDuration(), 1);
  fleet.RestartAt(absl::Seconds(2), 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

TEST_F(FetchControllerDamageTest, AServerThatIsLateIsWaitedForBeforeTheOtherIsBelieved) {
  FakeFleet& fleet = Damaged(2, {0});
  fleet.SlowDownAt(absl::ZeroDuration(), 1, 100);
  fleet.SlowDownAt(absl::Seconds(2), 1, 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

TEST_F(FetchControllerDamageTest, AServerThatStaysAwayIsNotWaitedForLong) {
  FakeFleet& fleet = Damaged(2, {0});
  fleet.KillAt(absl::ZeroDuration(), 1);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("reported it twice")));
}

TEST_F(FetchControllerDamageTest, AServerThatStandsAloneIsNotBelieved) {
  for (uint32_t liar = 0; liar < 3; ++liar) {
    FakeFleet& fleet = Damaged(3, {liar});
    EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
    EXPECT_TRUE(fleet.controller().replaced().empty());
  }
}

// Makes servers with these instances. Those of instance 7 find a record damaged.
class FetchControllerInstanceTest : public FetchControllerDamageTest {
 protected:
  FakeFleet& Instances(std::initializer_list<uint64_t> instances,
                       OnError on_error = OnError::kFail) {
    FakeFleet& fleet = Damaged(static_cast<uint32_t>(instances.size()), {}, on_error);
    uint32_t server = 0;
    for (const uint64_t instance : instances) {
      if (instance == 7) fleet.DamageWindow(server, kBadWindow, Record(7));
      fleet.SetInstance(server++, instance);
    }
    return fleet;
  }
};

// A name may stand for the IPv4 and the IPv6 address of one process.
TEST_F(FetchControllerInstanceTest, AServerIsNotItsOwnSecondOpinion) {
  for (const auto& instances :
       {std::initializer_list<uint64_t>{7, 7, 8}, {7, 8, 7}, {8, 7, 7}, {7, 7, 7, 8}}) {
    for (const OnError on_error : {OnError::kFail, OnError::kReplace}) {
      FakeFleet& fleet = Instances(instances, on_error);
      EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
      EXPECT_TRUE(fleet.controller().replaced().empty());
    }
  }
}

TEST_F(FetchControllerInstanceTest, TheOnlyServerIsAskedTwiceAtWhicheverAddress) {
  FakeFleet& fleet = Instances({7, 7, 7});
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("reported it twice; no other server could be asked")));
  FakeFleet& replacing = Instances({7, 7, 7}, OnError::kReplace);
  EXPECT_TRUE(replacing.Run()) << replacing.violation() << replacing.failure();
  EXPECT_EQ(replacing.controller().replaced().size(), 1u);
}

TEST_F(FetchControllerInstanceTest, AnotherServerIsWaitedForBeforeTheOnlyOneIsBelieved) {
  FakeFleet& fleet = Instances({7, 7, 8});
  fleet.KillAt(absl::ZeroDuration(), 2);
  fleet.RestartAt(absl::Seconds(2), 2);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

// One of the addresses is away when windows are first placed.
TEST_F(FetchControllerInstanceTest, AnAddressThatCameLaterIsNoSecondOpinionEither) {
  for (const auto& instances : {std::initializer_list<uint64_t>{7, 7, 8}, {7, 8, 7}, {8, 7, 7}}) {
    for (uint32_t later = 0; later < 3; ++later) {
      FakeFleet& fleet = Instances(instances);
      fleet.KillAt(absl::ZeroDuration(), later);
      fleet.RestartAt(absl::Milliseconds(25), later);
      EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
    }
  }
}

TEST_F(FetchControllerInstanceTest, AnotherAddressOfTheOnlyServerIsNotWaitedFor) {
  constexpr WindowId kReadLater{0, 3, 2};
  for (const uint32_t lost : {0, 1}) {
    FakeFleet& fleet = Instances({9, 9});
    for (const uint32_t s : {0, 1}) fleet.DamageWindow(s, kReadLater, Record(7));
    fleet.KillAt(absl::Milliseconds(10), lost);
    EXPECT_FALSE(fleet.Run());
    EXPECT_THAT(fleet.failure(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("reported it twice")));
    EXPECT_GT(fleet.elapsed(), absl::Milliseconds(10));
    EXPECT_LT(fleet.elapsed(), absl::Seconds(4));
  }
}

TEST_F(FetchControllerDamageTest, ADisagreementIsReported) {
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

TEST_F(FetchControllerDamageTest, ReplacesWhatServersAgreeOn) {
  FakeFleet& fleet = Damaged(2, {0, 1}, OnError::kReplace);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  ASSERT_EQ(fleet.controller().replaced().size(), 1u);
  EXPECT_EQ(fleet.controller().replaced()[0].record, 7u);
  EXPECT_THAT(fleet.reports(), ::testing::ElementsAre(HasSubstr("replaced a.tfrecord")));
}

TEST_F(FetchControllerDamageTest, TheOnlyServerMayHaveRecordsReplaced) {
  FakeFleet& fleet = Damaged(1, {0}, OnError::kReplace);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.controller().replaced().size(), 1u);
}

// No record of kBadWindow is good, nor any record of some chunks that follow it. A chunk has 40
// rows, and a window 8 chunks.
class FetchControllerSpareTest : public FetchControllerDamageTest {
 protected:
  FakeFleet& Emptied(FleetOptions options, const std::set<uint32_t>& chunks = {},
                     StepOptions steps = {.global_batch_size = 128}) {
    controller_.on_error = OnError::kReplace;
    FakeFleet& fleet = MakeFleet(options, steps);
    for (uint32_t s = 0; s < options.servers; ++s) {
      fleet.DamageWindow(s, kBadWindow, Record(7));
      fleet.EmptyWindow(s, kBadWindow, chunks);
    }
    return fleet;
  }
  // The epoch's chunks in order, beginning with the one that follows kBadWindow, without those of
  // kBadWindow.
  std::vector<uint32_t> Following() {
    if (plan_ == nullptr) MakeFleet();
    const EpochOrder order = plan_->Epoch(kBadWindow.epoch);
    std::vector<uint32_t> before, after;
    bool seen = false;
    for (uint32_t lane = 0; lane < order.num_lanes(); ++lane) {
      for (uint32_t i = 0; i < order.num_windows(lane); ++i) {
        const WindowId id{kBadWindow.epoch, lane, i};
        seen |= id == kBadWindow;
        if (id == kBadWindow) continue;
        for (uint32_t chunk : order.WindowChunks(id)) (seen ? after : before).push_back(chunk);
      }
    }
    after.insert(after.end(), before.begin(), before.end());
    return after;
  }
  std::set<uint32_t> First(size_t chunks) {
    const std::vector<uint32_t> following = Following();
    return {following.begin(), following.begin() + chunks};
  }
};

TEST_F(FetchControllerSpareTest, TheFollowingChunkStandsForAWindowWithoutAGoodRecord) {
  const uint32_t expected = Following()[0];
  for (uint32_t servers : {1, 2, 5}) {
    FakeFleet& fleet = Emptied({.servers = servers});
    EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
    EXPECT_EQ(fleet.spares_used(),
              (std::map<WindowId, std::set<uint32_t>>{{kBadWindow, {expected}}}));
    EXPECT_EQ(fleet.controller().replaced().size(), 1u);
    EXPECT_THAT(fleet.reports(), Contains(AllOf(HasSubstr("window 1 of lane 3 in epoch 0"),
                                                HasSubstr("has no good record"))));
  }
}

// The controller reports one line when it tries the first spare and one when the window is done,
// however many spares it tries in between.
TEST_F(FetchControllerSpareTest, ALongSearchIsToldInTwoLines) {
  FakeFleet& fleet = Emptied({.servers = 2}, First(20));
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_THAT(fleet.reports(), Contains(HasSubstr("no good record. The first")).Times(2));
  EXPECT_THAT(fleet.reports(),
              Contains(AllOf(HasSubstr("window 1 of lane 3 in epoch 0 and the 20 chunks after it "
                                       "have no good record. The first good record of "),
                             HasSubstr("replaces all rows of the window"))));
}

// The chunk is the same in whatever order servers answer and die, and for either rank.
TEST_F(FetchControllerSpareTest, AllComeToTheFirstChunkThatHasAGoodRecord) {
  constexpr size_t kWithout = 5;
  const uint32_t expected = Following()[kWithout];
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const StepOptions steps{.global_batch_size = 100,  // Both ranks read rows of kBadWindow.
                            .rank = static_cast<uint32_t>(seed % 2),
                            .world_size = 2};
    FakeFleet& fleet = Emptied({.servers = 3, .seed = seed}, First(kWithout), steps);
    fleet.KillAt(absl::Milliseconds(7 * seed), seed % 3);
    fleet.RestartAt(absl::Milliseconds(7 * seed + 500), seed % 3);
    EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
    EXPECT_EQ(fleet.spares_used(),
              (std::map<WindowId, std::set<uint32_t>>{{kBadWindow, {expected}}}));
    EXPECT_EQ(fleet.controller().replaced().size(), 1 + kWithout);
    EXPECT_EQ(fleet.open_windows(), 0u);
  }
}

TEST_F(FetchControllerSpareTest, ARunWithoutAnyGoodRecordEnds) {
  FakeFleet& fleet = Emptied({.servers = 2}, First(Following().size()));
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kDataLoss,
                                        AllOf(HasSubstr("window 1 of lane 3 in epoch 0"),
                                              HasSubstr("no other chunk of the epoch has one"))));
  EXPECT_EQ(fleet.controller().replaced().size(), 1 + Following().size());
}

TEST_F(FetchControllerSpareTest, AServerThatKnowsNoSparesLeavesTheWindowToOthers) {
  for (uint32_t old = 0; old < 2; ++old) {
    FakeFleet& fleet = Emptied({.servers = 2}, First(1));
    fleet.KnowNoSpares(old);
    EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
    EXPECT_EQ(fleet.spares_used().at(kBadWindow), (std::set<uint32_t>{Following()[1]}));
  }
}

TEST_F(FetchControllerSpareTest, WhereNoServerKnowsSparesTheRunEnds) {
  FakeFleet& fleet = Emptied({.servers = 2});
  for (uint32_t s : {0, 1}) fleet.KnowNoSpares(s);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bad CRC")));
}

TEST_F(FetchControllerTest, AReadErrorIsAskedOfAnotherServer) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.FailWindows(0, 1'000'000, absl::UnavailableError("i/o error"));
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.rows_fetched(0), 0u);
}

TEST_F(FetchControllerTest, EveryServerIsAskedBeforeTheJobEnds) {
  for (const absl::Status& status :
       {absl::UnavailableError("i/o error"), absl::ResourceExhaustedError("9 GiB of 1 GiB")}) {
    for (uint32_t good = 0; good < 8; ++good) {
      FakeFleet& fleet = MakeFleet({.servers = 8});
      for (uint32_t s = 0; s < 8; ++s) {
        if (s != good) fleet.FailWindows(s, 1'000'000, status);
      }
      EXPECT_TRUE(fleet.Run()) << good << fleet.violation() << fleet.failure();
      EXPECT_THAT(fleet.reports(),
                  Contains(HasSubstr(absl::StrCat(status.message(), "; still retrying"))));
    }
  }
}

TEST_F(FetchControllerTest, AServerThatHasHadEnoughHasNotDied) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .load = absl::Seconds(6)});
  for (int i = 1; i <= 8; ++i) {
    for (uint32_t s = 0; s < 2; ++s) {
      fleet.BreakAt(absl::Seconds(3 * i), s, absl::ResourceExhaustedError("too many windows"));
    }
  }
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_THAT(fleet.reports(), Each(Not(HasSubstr("requested alone"))));
}

TEST_F(FetchControllerTest, AQueryOfDeathIsNamedBeforeItKillsTheFleet) {
  FakeFleet& fleet = MakeFleet({.servers = 8});
  for (uint32_t s = 0; s < 8; ++s) fleet.DieOfRow(s, kBadWindow, 5);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("window 1 of lane 3 in epoch 0"), HasSubstr("chunks"))));
  uint64_t breaks = 0;
  for (uint32_t s = 0; s < 8; ++s) breaks += fleet.controller().servers()[s].counted.breaks;
  EXPECT_EQ(breaks, 5u);  // The last two servers had no other request.
}

TEST_F(FetchControllerTest, ASuspectThatProvesHarmlessIsReadOn) {
  FakeFleet& fleet = MakeFleet({.servers = 4});
  const std::vector<uint32_t> ranking = {0, 1, 2, 3};
  for (uint32_t s : ranking) fleet.DieOfRow(s, kBadWindow, 5);
  fleet.DieOnlyTimes(3);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_THAT(fleet.reports(), ::testing::Contains(HasSubstr("requested alone")));
}

// The same processes are back each time, so they did not die. In the end the network cannot be the
// cause either.
TEST_F(FetchControllerTest, StreamsThatBreakAreNoDeathsWhileTheirServersLive) {
  for (const int breaks : {13, 14}) {
    FakeFleet& fleet = MakeFleet({.servers = 3});
    for (uint32_t s = 0; s < 3; ++s) {
      fleet.SetInstance(s, 7 + s);
      fleet.DieOfRow(s, kBadWindow, 5);
    }
    fleet.DieOnlyTimes(breaks);
    EXPECT_EQ(fleet.Run(), breaks == 13) << fleet.violation() << fleet.failure();
    EXPECT_THAT(fleet.reports(), Contains(HasSubstr("requested alone")));
    if (breaks == 14) {
      EXPECT_THAT(fleet.failure(),
                  StatusIs(absl::StatusCode::kAborted, HasSubstr("makes servers fail")));
    }
  }
}

// Servers may be restarted one after the other.
TEST_F(FetchControllerTest, OneDeathMoreMayBeChance) {
  FakeFleet& fleet = MakeFleet({.servers = 4});
  for (uint32_t s = 0; s < 4; ++s) fleet.DieOfRow(s, kBadWindow, 5);
  fleet.DieOnlyTimes(4);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

}  // namespace
}  // namespace penstock
