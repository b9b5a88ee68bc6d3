#include "client/fetch/scheduler.h"

#include "client/fetch/testing/fake_fleet.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ChunkTable Chunks(uint32_t chunks, uint32_t rows) {
  return {std::vector<uint32_t>(chunks, rows), std::vector<uint32_t>(chunks, rows * 200), 1};
}

// A plan, its steps and a fleet; run once.
class SchedulerTest : public ::testing::Test {
 protected:
  void MakePlan(ChunkTable table, PlanOptions options = {}) {
    plan_ = std::make_unique<Plan>(*Plan::Create(std::move(table), options));
  }
  FakeFleet& MakeFleet(FleetOptions fleet = {}, StepOptions steps = {.global_batch_size = 128}) {
    if (plan_ == nullptr) MakePlan(Chunks(400, 40), {.lanes = 16, .window_chunks = 8});
    absl::StatusOr<Steps> made = Steps::Create(plan_->rows(), steps);
    scheduler_.row_bytes = 200;
    fleet_ = std::make_unique<FakeFleet>(*plan_, *made, scheduler_, fleet);
    return *fleet_;
  }

  std::unique_ptr<Plan> plan_;
  SchedulerOptions scheduler_{.num_slots = 16, .fetch_bytes = 8000};
  std::unique_ptr<FakeFleet> fleet_;
};

TEST_F(SchedulerTest, DeliversEveryRowInOrder) {
  FakeFleet& fleet = MakeFleet();
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.delivered(), 16000u / 128);
}

TEST_F(SchedulerTest, ReleasesEveryWindow) {
  FakeFleet& fleet = MakeFleet();
  EXPECT_TRUE(fleet.Run());
  EXPECT_EQ(fleet.open_windows(), 0u);
}

TEST_F(SchedulerTest, GathersStripsIntoRequests) {
  FakeFleet& fleet = MakeFleet({.consume = absl::Milliseconds(20)});
  EXPECT_TRUE(fleet.Run());
  // 8,000 bytes are 40 rows; strips have 16 or fewer.
  EXPECT_LT(fleet.fetches(), 16000u / 20);
}

TEST_F(SchedulerTest, SpreadsRowsOverServers) {
  FakeFleet& fleet = MakeFleet({.servers = 4});
  EXPECT_TRUE(fleet.Run());
  for (uint32_t s = 0; s < 4; ++s) EXPECT_NEAR(fleet.rows_fetched(s), 4000, 1200);
}

TEST_F(SchedulerTest, AKilledServerLosesNothing) {
  FakeFleet& fleet = MakeFleet({.servers = 3});
  fleet.KillAt(absl::Milliseconds(30), 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
}

TEST_F(SchedulerTest, AStalledServerLosesNothing) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.StallAt(absl::Milliseconds(30), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_LT(fleet.elapsed(), absl::Seconds(30));
}

TEST_F(SchedulerTest, AServerThatComesBackIsUsedAgain) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.KillAt(absl::Milliseconds(30), 0);
  fleet.RestartAt(absl::Seconds(5), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_GT(fleet.elapsed(), absl::Seconds(5));
}

TEST_F(SchedulerTest, ADrainedServerLosesNothing) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.DrainAt(absl::Milliseconds(30), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_EQ(fleet.scheduler().lost_requests(0), 0u);
}

TEST_F(SchedulerTest, WithoutServersNamesEachAndItsReason) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.KillAt(absl::ZeroDuration(), 0);
  fleet.KillAt(absl::ZeroDuration(), 1);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("30s"), HasSubstr("10.0.0.1:7070: connection"),
                             HasSubstr("10.0.0.2:7070: connection refused"))));
}

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

TEST_F(SchedulerTest, AServerThatEndsTheStreamForACauseEndsTheJob) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.BreakAt(absl::Milliseconds(30), 0, absl::InvalidArgumentError("window 3: bad range"));
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kInvalidArgument, "10.0.0.1:7070: window 3: bad range"));
}

TEST_F(SchedulerTest, ARequestThatIsNeverAnsweredIsAskedAgain) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.ForgetNextFetch(0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_LT(fleet.elapsed(), absl::Seconds(5));
  EXPECT_GT(fleet.scheduler().servers()[0].counted.late_requests, 0u);
}

TEST_F(SchedulerTest, TheOnlyServerThatForgetsARequestIsAskedAgain) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.ForgetNextFetch(0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_LT(fleet.elapsed(), absl::Seconds(60));
  EXPECT_GT(fleet.scheduler().lost_requests(0), 0u);
}

TEST_F(SchedulerTest, AServerThatDiesOfEveryWindowEndsTheJob) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.DieOfWindows(0);
  fleet.DieOfWindows(1);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("makes servers break")));
}

TEST_F(SchedulerTest, ReconnectsWithinASecondAndNotMuchMoreOften) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.KillAt(absl::ZeroDuration(), 0);
  EXPECT_FALSE(fleet.Run());
  // 100, 200, 400, 800 ms, then 1 s each, for 30 s; a quarter more or less.
  EXPECT_GE(fleet.connects(0), 24u);
  EXPECT_LE(fleet.connects(0), 45u);
}

TEST_F(SchedulerTest, KeepsToTheCredit) {
  scheduler_.num_slots = 64;
  FakeFleet& fleet = MakeFleet({.servers = 1, .credit_bytes = 20'000});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
}

TEST_F(SchedulerTest, KeepsToItsOwnLimitWhateverTheCredit) {
  scheduler_.num_slots = 64;
  scheduler_.max_outstanding_bytes = 20'000;
  FakeFleet& fleet = MakeFleet({.servers = 1, .credit_bytes = uint64_t{1} << 40});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
}

TEST_F(SchedulerTest, NeverOpensMoreWindowsThanAServerAllows) {
  MakePlan(Chunks(5000, 3), {.shuffle = false});
  scheduler_.num_slots = 200;
  FakeFleet& fleet = MakeFleet({.servers = 1});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_LT(fleet.most_windows(), 1024u);
}

TEST_F(SchedulerTest, RefusesAServerThatDecodesDifferently) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.scheduler().Advance(absl::UnixEpoch());
  fleet.scheduler().OnHello(absl::UnixEpoch(), {0, 1}, {.cores = 1, .decoder_version = 1});
  fleet.scheduler().OnHello(absl::UnixEpoch(), {1, 1}, {.cores = 1, .decoder_version = 2});
  const ServerEntry& second = fleet.scheduler().servers()[1];
  EXPECT_EQ(second.state, ServerState::kRefused);
  EXPECT_THAT(second.last_error,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("10.0.0.1:7070")));
}

TEST_F(SchedulerTest, AnAnswerBeyondItsRequestBreaksTheStream) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.scheduler().Advance(absl::UnixEpoch());
  fleet.OpenStream({0, 1}, "10.0.0.1:7070");
  EXPECT_TRUE(fleet.scheduler().OnPart(absl::UnixEpoch(), {0, 1}, 1 << 20, 0, 5000).empty());
}

TEST_F(SchedulerTest, UnshuffledEpochsUseAllServers) {
  MakePlan(Chunks(300, 40), {.shuffle = false});
  FakeFleet& fleet = MakeFleet({.servers = 3});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  for (uint32_t s = 0; s < 3; ++s) EXPECT_GT(fleet.rows_fetched(s), 0u);
}

TEST_F(SchedulerTest, TwoSlotsAreEnough) {
  scheduler_.num_slots = 2;
  FakeFleet& fleet = MakeFleet();
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
}

TEST_F(SchedulerTest, StopsAfterMaxSteps) {
  scheduler_.max_steps = 7;
  FakeFleet& fleet = MakeFleet();
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_EQ(fleet.delivered(), 7u);
  EXPECT_EQ(fleet.open_windows(), 0u);
}

TEST_F(SchedulerTest, AServerThatJoinsCarriesLoad) {
  FakeFleet& fleet = MakeFleet({.servers = 3, .listed = 1, .consume = absl::Milliseconds(20)});
  fleet.ServersAt(absl::Milliseconds(100), 3);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_GT(fleet.rows_fetched(1), 2000u);
  EXPECT_GT(fleet.rows_fetched(2), 2000u);
}

TEST_F(SchedulerTest, AServerThatLeavesTheSetFinishesWhatItWasAsked) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.ServersAt(absl::Milliseconds(30), 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.scheduler().lost_requests(1), 0u);
  EXPECT_EQ(fleet.scheduler().servers()[1].state, ServerState::kRemoved);
}

TEST_F(SchedulerTest, AServerMayLeaveTheSetAndComeBack) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(20)});
  fleet.ServersAt(absl::Milliseconds(30), 1);
  fleet.ServersAt(absl::Milliseconds(600), 2);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.scheduler().servers().size(), 2u);
  EXPECT_GT(fleet.rows_fetched(1), 3000u);
  EXPECT_EQ(fleet.connects(1), 2u);
}

TEST_F(SchedulerTest, WaitsForTheFirstServers) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .listed = 0});
  fleet.ServersAt(absl::Seconds(20), 2);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

TEST_F(SchedulerTest, ASetThatStaysEmptyEndsTheJob) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .listed = 0});
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kUnavailable,
                                        AllOf(HasSubstr("30s"), HasSubstr("set of servers"))));
}

TEST_F(SchedulerTest, ClosesEveryStreamAtItsEnd) {
  FakeFleet& fleet = MakeFleet({.servers = 3});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_EQ(fleet.open_streams(), 0u);
}

TEST_F(SchedulerTest, ClosesEveryStreamWhenItFails) {
  FakeFleet& fleet = MakeFleet({.servers = 3});
  fleet.FailWindows(1, 1, absl::NotFoundError("a.tfrecord: no such file"));
  EXPECT_FALSE(fleet.Run());
  EXPECT_EQ(fleet.open_streams(), 0u);
}

// Random plans, ranks and faults; every row is checked by the fleet.
class SchedulerChaosTest : public ::testing::TestWithParam<int> {};

TEST_P(SchedulerChaosTest, ExactlyOnceInOrderAndAlive) {
  for (uint64_t seed = GetParam() * 50; seed < GetParam() * 50 + 50u; ++seed) {
    CounterRng rng(DeriveKey(77, seed));
    const uint32_t chunks = 1 + rng.Below(300);
    PlanOptions plan_options{.seed = seed,
                             .shuffle = rng.Below(5) != 0,
                             .lanes = static_cast<uint32_t>(1 + rng.Below(40)),
                             .window_chunks = static_cast<uint32_t>(1 + rng.Below(12)),
                             .strip_rows = static_cast<uint32_t>(rng.Below(20))};
    Plan plan = *Plan::Create(Chunks(chunks, 1 + rng.Below(60)), plan_options);
    const uint32_t world = 1 + rng.Below(4);
    StepOptions step_options{.global_batch_size = world + rng.Below(300),
                             .remainder = static_cast<Remainder>(1 + rng.Below(2)),
                             .epochs = 1 + rng.Below(3),
                             .rank = static_cast<uint32_t>(rng.Below(world)),
                             .world_size = world};
    absl::StatusOr<Steps> steps = Steps::Create(plan.rows(), step_options);
    if (!steps.ok()) continue;  // Fewer rows than one step.
    FleetOptions fleet_options{.servers = static_cast<uint32_t>(1 + rng.Below(5)),
                               .seed = seed,
                               .duplicate = 0.1,
                               .part_rows = static_cast<uint32_t>(1 + rng.Below(64))};
    SchedulerOptions options{.num_slots = static_cast<uint32_t>(2 + rng.Below(30)),
                             .row_bytes = 200,
                             .fetch_bytes = 200 + rng.Below(20000)};
    FakeFleet fleet(plan, *steps, options, fleet_options);
    for (int fault = rng.Below(6); fault > 0; --fault) {
      const auto server = static_cast<uint32_t>(rng.Below(fleet_options.servers));
      const absl::Duration when = absl::Milliseconds(rng.Below(200));
      const uint64_t kind = rng.Below(5);
      if (kind == 0) fleet.KillAt(when, server);
      if (kind == 1) fleet.DrainAt(when, server);
      if (kind == 2) fleet.StallAt(when, server);
      if (kind == 3) fleet.ForgetNextFetch(server);
      if (kind == 4) {
        fleet.FailWindows(server, static_cast<int>(1 + rng.Below(4)),
                          absl::UnavailableError("i/o error"));
      }
      fleet.RestartAt(when + absl::Milliseconds(rng.Below(3000)), server);
    }
    EXPECT_TRUE(fleet.Run()) << fleet.violation() << " " << fleet.failure() << " seed " << seed;
    EXPECT_EQ(fleet.open_windows(), 0u) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SchedulerChaosTest, ::testing::Range(0, 8));

}  // namespace
}  // namespace penstock
