// Tests servers that come, go, leave the set and keep silent.
#include "client/fetch/testing/fetch_controller_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(FetchControllerTest, AKilledServerLosesNothing) {
  FakeFleet& fleet = MakeFleet({.servers = 3});
  fleet.KillAt(absl::Milliseconds(30), 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
}

TEST_F(FetchControllerTest, AStalledServerLosesNothing) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.StallAt(absl::Milliseconds(30), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_LT(fleet.elapsed(), absl::Seconds(30));
}

TEST_F(FetchControllerTest, AServerThatComesBackIsUsedAgain) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.KillAt(absl::Milliseconds(30), 0);
  fleet.RestartAt(absl::Seconds(5), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_GT(fleet.elapsed(), absl::Seconds(5));
}

// SIGSTOP, a debugger or a paused virtual machine may stop the client.
TEST_F(FetchControllerTest, AClientThatWasStoppedBlamesNobody) {
  FakeFleet& fleet = MakeFleet({.servers = 8});
  fleet.StopClientAt(absl::Milliseconds(30), absl::Seconds(20));
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_THAT(fleet.reports(), IsEmpty());
  for (uint32_t s = 0; s < 8; ++s) EXPECT_EQ(fleet.connects(s), 1u);
}

TEST_F(FetchControllerTest, TheTimeThatAClientWasStoppedIsNotTimeWithoutAServer) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.KillAt(absl::Milliseconds(30), 0);
  fleet.StopClientAt(absl::Seconds(1), absl::Seconds(40));
  fleet.RestartAt(absl::Seconds(20), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

TEST_F(FetchControllerTest, ADrainedServerLosesNothing) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.DrainAt(absl::Milliseconds(30), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_EQ(fleet.controller().servers()[0].counted.lost_requests, 0u);
}

TEST_F(FetchControllerTest, TellsOfAServerThatStaysAwayAndIsBack) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(400)});
  fleet.KillAt(absl::Milliseconds(30), 1);
  fleet.RestartAt(absl::Seconds(9), 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_THAT(fleet.reports(),
              ElementsAre(AllOf(StartsWith("10.0.0.2:7070: connection refused; unreachable for "),
                                HasSubstr("still retrying")),
                          "10.0.0.2:7070 answers again"));
  EXPECT_OK(fleet.controller().servers()[1].last_error);
}

TEST_F(FetchControllerTest, TellsOfAServerThatIsBackAndRefuses) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  FetchController& controller = fleet.controller();
  absl::Time now = absl::UnixEpoch();
  controller.Advance(now);
  for (uint32_t generation = 1; generation <= 6; ++generation) {
    controller.OnBroken(now, {1, generation}, absl::UnavailableError("connection refused"));
    AdvanceTo(controller, now += absl::Milliseconds(1300));
  }
  controller.OnBroken(now, {1, 7}, absl::UnauthenticatedError("no token"));
  EXPECT_THAT(fleet.reports(),
              ElementsAre("10.0.0.2:7070: connection refused; unreachable for 5s, still retrying",
                          HasSubstr("10.0.0.2:7070: no token; the server is left out")));
}

// Hello alone does not mean that the server is back.
TEST_F(FetchControllerTest, TellsOfAServerThatComesAndGoes) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(400)});
  fleet.DieOfWindows(1);
  for (int second = 1; second < 30; ++second) fleet.RestartAt(absl::Seconds(second), 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_THAT(fleet.reports(),
              Contains(AllOf(StartsWith("10.0.0.2:7070"), HasSubstr("unreachable for"))).Times(1));
  EXPECT_THAT(fleet.reports(), Not(Contains(HasSubstr("answers again"))));
}

TEST_F(FetchControllerTest, DoesNotTellOfAServerThatOnlyRestarts) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(400)});
  fleet.KillAt(absl::Milliseconds(30), 1);
  fleet.RestartAt(absl::Seconds(3), 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_THAT(fleet.reports(), IsEmpty());
}

TEST_F(FetchControllerTest, TellsOfAServerThatRefuses) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.controller().Advance(absl::UnixEpoch());
  fleet.controller().OnBroken(absl::UnixEpoch(), {1, 1}, absl::UnauthenticatedError("no token"));
  EXPECT_THAT(fleet.reports(),
              ElementsAre("10.0.0.2:7070: no token; the server is left out, and tried again at "
                          "least every 6.25s"));
}

TEST_F(FetchControllerTest, ServersThatAllRefuseEndTheJobAtOnce) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.controller().Advance(absl::UnixEpoch());
  fleet.controller().OnBroken(absl::UnixEpoch(), {0, 1}, absl::UnauthenticatedError("no token"));
  fleet.controller().Advance(absl::UnixEpoch());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       "every server refused this client: 10.0.0.1:7070: no token"));
  EXPECT_THAT(fleet.reports(), IsEmpty());
}

TEST_F(FetchControllerTest, WhereServersAreStillUnknownARefusalEndsNothing) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .listed = 1});
  FetchController& controller = fleet.controller();
  const std::vector<std::string> addresses = {"10.0.0.1:7070"};
  controller.OnServersChanged(absl::UnixEpoch(), addresses, /*all_known=*/false);
  controller.Advance(absl::UnixEpoch());
  controller.OnBroken(absl::UnixEpoch(), {0, 1}, absl::UnauthenticatedError("no token"));
  controller.Advance(absl::UnixEpoch());
  EXPECT_OK(fleet.failure());
  EXPECT_THAT(fleet.reports(),
              ElementsAre(HasSubstr("10.0.0.1:7070: no token; the server is left out")));
  controller.OnServersChanged(absl::UnixEpoch(), addresses);
  controller.Advance(absl::UnixEpoch());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("no token")));
}

// The server that was up may be missing from the set for one look only.
TEST_F(FetchControllerTest, ARefusedServerThatIsLeftAloneEndsTheJobAfterItsTimeout) {
  controller_.silence_timeout = absl::Hours(1);
  FakeFleet& fleet = MakeFleet({.servers = 2});
  FetchController& controller = fleet.controller();
  absl::Time now = absl::UnixEpoch();
  const std::vector<std::string> both = {"10.0.0.1:7070", "10.0.0.2:7070"};
  controller.OnServersChanged(now, both);
  controller.Advance(now);
  controller.OnBroken(now, {0, 1}, absl::UnauthenticatedError("no token"));
  controller.OnHello(now, {1, 1}, {.cores = 1});
  controller.OnServersChanged(now, std::vector<std::string>{"10.0.0.1:7070"});
  // The removed server owes no answer and is left at once. The time-out runs from then on.
  EXPECT_EQ(controller.Advance(now), now);
  EXPECT_EQ(controller.servers()[1].state, ServerState::kRemoved);
  controller.Advance(now);
  AdvanceTo(controller, now += absl::Seconds(29));
  EXPECT_OK(fleet.failure());
  AdvanceTo(controller, now += absl::Seconds(1));
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kUnavailable,
                                        AllOf(HasSubstr("30s"), HasSubstr("no token"))));
}

// Waits until the server is connected. It then sends Hello as process `instance`, and its stream
// ends.
void SayHelloAndBreak(FetchController& controller, absl::Time& now, uint32_t server,
                      uint64_t instance, const absl::Status& end) {
  while (!controller.servers()[server].has_stream()) AdvanceTo(controller, now += absl::Seconds(1));
  const StreamId stream = {server, controller.servers()[server].generation};
  controller.OnHello(now, stream, {.instance = instance, .cores = 1});
  controller.OnBroken(now, stream, end);
}

TEST_F(FetchControllerTest, OnlyNonsenseIsRefusedForNonsense) {
  controller_.server_timeout = absl::Hours(1);
  FakeFleet& fleet = MakeFleet({.servers = 2});
  FetchController& controller = fleet.controller();
  const ServerEntry& server = controller.servers()[1];
  const absl::Status nonsense = absl::FailedPreconditionError("rows nobody asked for");
  absl::Time now = absl::UnixEpoch();
  controller.Advance(now);
  for (int i = 0; i < 3; ++i) SayHelloAndBreak(controller, now, 1, 7, nonsense);
  EXPECT_EQ(server.state, ServerState::kRefused);
  SayHelloAndBreak(controller, now, 1, 7, absl::UnavailableError("connection reset"));
  EXPECT_EQ(server.state, ServerState::kBackoff);
  SayHelloAndBreak(controller, now, 1, 7, nonsense);
  EXPECT_EQ(server.state, ServerState::kRefused);
}

TEST_F(FetchControllerTest, ANewProcessHasTalkedNoNonsense) {
  controller_.server_timeout = absl::Hours(1);
  FakeFleet& fleet = MakeFleet({.servers = 2});
  FetchController& controller = fleet.controller();
  const absl::Status nonsense = absl::FailedPreconditionError("rows nobody asked for");
  absl::Time now = absl::UnixEpoch();
  controller.Advance(now);
  for (int i = 0; i < 3; ++i) SayHelloAndBreak(controller, now, 1, 7, nonsense);
  for (int i = 0; i < 2; ++i) {
    SayHelloAndBreak(controller, now, 1, 8, nonsense);
    EXPECT_EQ(controller.servers()[1].state, ServerState::kBackoff);
  }
  SayHelloAndBreak(controller, now, 1, 8, nonsense);
  EXPECT_EQ(controller.servers()[1].state, ServerState::kRefused);
}

// Waits until the server is connected, and refuses it. Returns how long the wait was.
absl::Duration Refuse(FetchController& controller, absl::Time& now, uint32_t server,
                      const absl::Status& refusal) {
  const absl::Time from = now;
  while (!controller.servers()[server].has_stream()) {
    AdvanceTo(controller, now += absl::Milliseconds(10));
  }
  controller.OnBroken(now, {server, controller.servers()[server].generation}, refusal);
  return now - from;
}

// The waits are 1, 2 and 4 s, then a sixth of the time-out. Each may be a quarter longer or
// shorter.
TEST_F(FetchControllerTest, AServerThatRefusedIsAskedAgainWellWithinTheTimeout) {
  controller_.silence_timeout = absl::Hours(2);
  controller_.server_timeout = absl::Hours(1);
  for (const int timeout : {30, 120, 3600}) {
    controller_.server_timeout = absl::Seconds(timeout);
    FetchController& controller = MakeFleet({.servers = 2}).controller();
    absl::Time now = absl::UnixEpoch();
    controller.Advance(now);
    Refuse(controller, now, 1, absl::UnauthenticatedError("no token"));
    for (const int wait : {1, 2, 4, 8, 16, 32, 64}) {
      const int most = std::min({wait, timeout / 6, 30});
      const double waited =
          absl::ToDoubleSeconds(Refuse(controller, now, 1, absl::UnauthenticatedError("no token")));
      EXPECT_GE(waited, 0.74 * most);
      EXPECT_LE(waited, 1.26 * most);
      if (now > absl::UnixEpoch() + absl::Seconds(0.7 * timeout)) break;
    }
  }
}

TEST_F(FetchControllerTest, TellsOfAServerThatRefusesAgainAtIntervals) {
  controller_.silence_timeout = absl::Hours(2);
  controller_.server_timeout = absl::Hours(1);
  FakeFleet& fleet = MakeFleet({.servers = 2});
  absl::Time now = absl::UnixEpoch();
  fleet.controller().Advance(now);
  while (now < absl::UnixEpoch() + absl::Minutes(11)) {
    Refuse(fleet.controller(), now, 1, absl::UnauthenticatedError("no token"));
  }
  EXPECT_THAT(fleet.reports(), Contains(HasSubstr("10.0.0.2:7070: no token")).Times(3));
}

// A token that is removed for a moment must not cost a job that worked.
TEST_F(FetchControllerTest, ARefusalThatIsMendedEndsNoJobThatWorked) {
  for (const absl::Status& refusal :
       {absl::UnauthenticatedError("no token"), absl::PermissionDeniedError("other folders")}) {
    FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(50)});
    fleet.RefuseFor(absl::Seconds(1), absl::Seconds(25), refusal);
    EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
    EXPECT_LT(fleet.longest_wait(), absl::Seconds(33));
  }
}

TEST_F(FetchControllerTest, ARefusalThatLastsEndsTheJobAfterItsTimeout) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(50)});
  fleet.RefuseFor(absl::Seconds(1), absl::Hours(1), absl::UnauthenticatedError("no token"));
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kUnavailable,
                                        AllOf(HasSubstr("30s"), HasSubstr("10.0.0.1:7070: no"),
                                              HasSubstr("10.0.0.2:7070: no token"))));
  EXPECT_LT(fleet.elapsed(), absl::Seconds(35));
}

TEST_F(FetchControllerTest, WithoutServersNamesEachAndItsReason) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.KillAt(absl::ZeroDuration(), 0);
  fleet.KillAt(absl::ZeroDuration(), 1);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("30s"), HasSubstr("10.0.0.1:7070: connection"),
                             HasSubstr("10.0.0.2:7070: connection refused"))));
}

TEST_F(FetchControllerTest, AServerThatEndsTheStreamForACauseEndsTheJob) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.BreakAt(absl::Milliseconds(30), 0, absl::InvalidArgumentError("window 3: bad range"));
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kInvalidArgument, "10.0.0.1:7070: window 3: bad range"));
}

TEST_F(FetchControllerTest, ARequestThatIsNeverAnsweredIsAskedAgain) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.ForgetNextFetch(0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_LT(fleet.elapsed(), absl::Seconds(5));
  EXPECT_GT(fleet.controller().servers()[0].counted.late_requests, 0u);
}

TEST_F(FetchControllerTest, TheOnlyServerThatForgetsARequestIsAskedAgain) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.ForgetNextFetch(0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_LT(fleet.elapsed(), absl::Seconds(60));
  EXPECT_GT(fleet.controller().servers()[0].counted.lost_requests, 0u);
}

TEST_F(FetchControllerTest, ReconnectsWithinASecondAndNotMuchMoreOften) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.KillAt(absl::ZeroDuration(), 0);
  EXPECT_FALSE(fleet.Run());
  // The waits are 100, 200, 400 and 800 ms, then 1 s each, for 30 s. Each may be a quarter longer
  // or shorter.
  EXPECT_GE(fleet.connects(0), 24u);
  EXPECT_LE(fleet.connects(0), 45u);
}

TEST_F(FetchControllerTest, RefusesAServerThatDecodesDifferently) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.controller().Advance(absl::UnixEpoch());
  fleet.controller().OnHello(absl::UnixEpoch(), {0, 1}, {.cores = 1, .decoder_version = 1});
  fleet.controller().OnHello(absl::UnixEpoch(), {1, 1}, {.cores = 1, .decoder_version = 2});
  const ServerEntry& second = fleet.controller().servers()[1];
  EXPECT_EQ(second.state, ServerState::kRefused);
  EXPECT_THAT(second.last_error,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("10.0.0.1:7070")));
}

TEST_F(FetchControllerTest, AnAnswerBeyondItsRequestBreaksTheStream) {
  FakeFleet& fleet = MakeFleet({.servers = 1});
  fleet.controller().Advance(absl::UnixEpoch());
  fleet.OpenStream({0, 1}, "10.0.0.1:7070");
  EXPECT_TRUE(fleet.controller().OnPart(absl::UnixEpoch(), {0, 1}, 1 << 20, 0, 5000).empty());
}

TEST_F(FetchControllerTest, AServerThatJoinsCarriesLoad) {
  FakeFleet& fleet = MakeFleet({.servers = 3, .listed = 1, .consume = absl::Milliseconds(20)});
  fleet.ServersAt(absl::Milliseconds(100), 3);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_GT(fleet.rows_fetched(1), 2000u);
  EXPECT_GT(fleet.rows_fetched(2), 2000u);
}

TEST_F(FetchControllerTest, AServerThatLeavesTheSetFinishesWhatItWasAsked) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.ServersAt(absl::Milliseconds(30), 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.controller().servers()[1].counted.lost_requests, 0u);
  EXPECT_EQ(fleet.controller().servers()[1].state, ServerState::kRemoved);
}

TEST_F(FetchControllerTest, AServerMayLeaveTheSetAndComeBack) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(20)});
  fleet.ServersAt(absl::Milliseconds(30), 1);
  fleet.ServersAt(absl::Milliseconds(600), 2);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.controller().servers().size(), 2u);
  EXPECT_GT(fleet.rows_fetched(1), 3000u);
  EXPECT_EQ(fleet.connects(1), 2u);
}

TEST_F(FetchControllerTest, WaitsForTheFirstServers) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .listed = 0});
  fleet.ServersAt(absl::Seconds(20), 2);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

TEST_F(FetchControllerTest, ASetThatStaysEmptyEndsTheJob) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .listed = 0});
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kUnavailable,
                                        AllOf(HasSubstr("30s"), HasSubstr("set of servers"))));
}

TEST_F(FetchControllerTest, ClosesEveryStreamAtItsEnd) {
  FakeFleet& fleet = MakeFleet({.servers = 3});
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_EQ(fleet.open_streams(), 0u);
}

TEST_F(FetchControllerTest, ClosesEveryStreamWhenItFails) {
  FakeFleet& fleet = MakeFleet({.servers = 3});
  fleet.FailWindows(1, 1, absl::InvalidArgumentError("window 3: bad range"));
  EXPECT_FALSE(fleet.Run());
  EXPECT_EQ(fleet.open_streams(), 0u);
}

TEST_F(FetchControllerTest, AKillStallsNobodyForLong) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(5)});
  fleet.KillAt(absl::Milliseconds(200), 1);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_LT(fleet.longest_wait(), absl::Milliseconds(50));
}

TEST_F(FetchControllerTest, AServerThatOutstaysItsGraceIsLeft) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .consume = absl::Milliseconds(5)});
  fleet.StallAt(absl::Milliseconds(100), 1);
  fleet.DrainAt(absl::Milliseconds(100), 1, absl::Milliseconds(150));
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  EXPECT_LT(fleet.longest_wait(), absl::Milliseconds(300));
}

// Hello alone does not keep a job alive.
TEST_F(FetchControllerTest, ServersThatNeverAnswerAreNoServers) {
  FakeFleet& fleet = MakeFleet({.servers = 2});
  fleet.ForgetFetches(0);
  fleet.ForgetFetches(1);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("30s")));
  EXPECT_LT(fleet.elapsed(), absl::Seconds(75));
}

TEST_F(FetchControllerTest, ASlowFirstRowIsNoReasonToFail) {
  controller_.server_timeout = absl::Milliseconds(500);
  FakeFleet& fleet = MakeFleet({.servers = 1, .load = absl::Seconds(3)});
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
}

TEST_F(FetchControllerTest, ALostServersWindowsAreOpenedElsewhereWithoutExtraLoads) {
  FakeFleet& fleet = MakeFleet({.servers = 3, .consume = absl::Milliseconds(5)});
  fleet.KillAt(absl::Milliseconds(100), 0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation();
  for (uint32_t s = 0; s < 3; ++s) {
    EXPECT_EQ(fleet.controller().servers()[s].counted.extra_loads, 0u);
  }
}

}  // namespace
}  // namespace penstock
