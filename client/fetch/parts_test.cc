// Tests each of the controller's parts alone, without a controller.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/fetch/connections.h"
#include "client/fetch/damage_judge.h"
#include "client/fetch/lane_map.h"
#include "client/fetch/lateness.h"
#include "client/fetch/process_clock.h"
#include "client/fetch/request_book.h"
#include "client/fetch/server_table.h"
#include "client/fetch/slot_queue.h"
#include "client/fetch/suspects.h"
#include "client/fetch/testing/idle_actions.h"
#include "client/fetch/window_table.h"
#include "client/plan/plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Verdict = DamageRuling::Verdict;

constexpr uint64_t kBytes = 2000;  // Ten records of a window.

Plan MakePlan() {
  return *Plan::Create({std::vector<uint32_t>(64, 40), std::vector<uint32_t>(64, 8000), 1},
                       {.lanes = 16, .window_chunks = 4});
}

// Three servers and the parts that look at them.
class PartsTest : public ::testing::Test {
 protected:
  explicit PartsTest(OnError on_error = OnError::kReplace) : on_error_(on_error) {}
  void SetUp() override { Pass(absl::Seconds(1)); }

  void Pass(absl::Duration time) {
    outer_ += time;
    clock_.Set(outer_, [] { return absl::InfiniteFuture(); });
  }
  // Sends Hello. Each server is a process of its own, unless `instance` says otherwise.
  void Greet(uint32_t server, uint64_t instance = 0) {
    ServerEntry& entry = servers_[server];
    connections_.Connect(entry);
    ServerInfo info;
    info.cores = 4;
    info.instance = instance == 0 ? server + 1 : instance;
    ASSERT_TRUE(servers_.AcceptHello(entry, info));
    entry.up_at = entry.heard_at = clock_.now();
    lanes_.PlaceAfterHello(clock_.now());
  }
  void GreetAll() {
    for (uint32_t i = 0; i < servers_.size(); ++i) Greet(i);
    ASSERT_TRUE(lanes_.Place(clock_.now()));
  }
  WindowEntry& OpenWindow(uint32_t server) {
    WindowEntry& window = windows_.New();
    window.order = order_;
    window.rows = 40;
    window.bytes = 4 * kBytes;
    window.opened_on = servers_.stream(server);
    window.opened_at = clock_.now();
    return window;
  }
  RequestEntry& Ask(uint32_t server, WindowEntry& window, uint32_t rows) {
    RequestEntry& request = requests_.New(clock_.now(), window, rows);
    requests_.Link(servers_[server], request);
    return request;
  }
  Verdict CallDamaged(uint32_t server, WindowEntry& window, uint32_t record = 3,
                      bool rest_of_chunk = false) {
    StreamError error;
    error.status = absl::DataLossError("CRC differs");
    error.damage = Damage{"a.tfrecord", 4096, record, rest_of_chunk};
    const DamageRuling ruling = judge_.Hear(clock_.now(), servers_[server], window, error);
    if (ruling.verdict == Verdict::kAskAnother) window.Avoid(server);
    failure_ = std::string(ruling.failure.message());
    return ruling.verdict;
  }

  const OnError on_error_;
  absl::Time outer_ = absl::UnixEpoch();
  const Plan plan_ = MakePlan();
  const std::shared_ptr<const EpochOrder> order_ =
      std::make_shared<const EpochOrder>(plan_.Epoch(0));
  IdleActions actions_;
  ProcessClock clock_;
  ServerTable servers_{{"a:1", "b:1", "c:1"}, /*seed=*/1};
  Connections connections_{clock_, servers_, actions_, /*credit_bytes=*/8000, absl::Seconds(30)};
  LaneMap lanes_{plan_, servers_};
  SlotQueue slots_{4, 100};
  Lateness lateness_{clock_, slots_, servers_};
  DamageJudge judge_{plan_, servers_, lanes_, actions_, on_error_, false, nullptr, nullptr};
  std::string failure_;  // Error of the last CallDamaged().
  Suspects suspects_{clock_, servers_, actions_};
  NumberedTable<WindowEntry> windows_;
  RequestBook requests_{servers_, /*row_bytes=*/100, /*max_bytes=*/12000};
};

using LaneMapTest = PartsTest;

TEST_F(LaneMapTest, WaitsAMomentForTheOtherServersOfTheSet) {
  EXPECT_FALSE(lanes_.Place(clock_.now()));
  Greet(0);
  EXPECT_FALSE(lanes_.Place(clock_.now()));
  EXPECT_FALSE(lanes_.placed());
  EXPECT_TRUE(lanes_.Place(lanes_.place_at()));
  EXPECT_EQ(lanes_.ServerOf({0, 5, 0}, {}), 0u);
}

TEST_F(LaneMapTest, AvoidsServersWhileThereIsAnother) {
  GreetAll();
  const WindowId id{0, 5, 0};
  std::vector<uint32_t> avoid = {*lanes_.ServerOf(id, {})};
  const uint32_t second = *lanes_.ServerOf(id, avoid);
  EXPECT_NE(second, avoid[0]);
  EXPECT_FALSE(lanes_.NoOtherThan(servers_[avoid[0]], id, avoid));
  avoid = {0, 1, 2};
  EXPECT_EQ(lanes_.ServerOf(id, avoid), lanes_.ServerOf(id, {}));
}

TEST_F(LaneMapTest, AvoidsEveryAddressOfAProcess) {
  for (uint32_t i = 0; i < 2; ++i) Greet(i, /*instance=*/7);
  Greet(2, /*instance=*/8);
  ASSERT_TRUE(lanes_.Place(clock_.now()));
  for (uint32_t lane = 0; lane < 16; ++lane) {
    EXPECT_EQ(lanes_.ServerOf({0, lane, 0}, std::vector<uint32_t>{0}), 2u) << lane;
  }
}

using RequestBookTest = PartsTest;

TEST_F(RequestBookTest, AServerMayAlwaysHaveOneRequest) {
  GreetAll();
  requests_.ShareAmong(3);  // 4,000 bytes each: 40 rows.
  EXPECT_TRUE(requests_.HasRoom(servers_[0], 1000));
  RequestEntry& request = Ask(0, OpenWindow(0), 30);
  EXPECT_TRUE(requests_.HasRoom(servers_[0], 10));
  EXPECT_FALSE(requests_.HasRoom(servers_[0], 11));
  requests_.End(request);
  EXPECT_TRUE(requests_.HasRoom(servers_[0], 1000));
}

TEST_F(RequestBookTest, FindsARequestOnItsOwnStreamAlone) {
  GreetAll();
  RequestEntry& request = Ask(0, OpenWindow(0), 30);
  const uint64_t number = request.number;
  EXPECT_EQ(requests_.Find(number, servers_.stream(0)), &request);
  EXPECT_EQ(requests_.Find(number, servers_.stream(1)), nullptr);
  requests_.End(request);
  EXPECT_EQ(requests_.Find(number, servers_.stream(0)), nullptr);
  EXPECT_EQ(servers_[0].first_request, nullptr);
}

TEST_F(RequestBookTest, SaysWhereReceivedRowsBelong) {
  GreetAll();
  RequestEntry& request = Ask(0, OpenWindow(0), 10);
  request.Claim(std::vector<Range>{{.rows = 6, .slot = 1, .slot_row = 20},
                                   {.rows = 4, .slot = 2, .slot_row = 0}});
  std::vector<RowCopy> copies;
  RequestBook::Receive(clock_.now(), request, 4, 3, copies);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].rows, 2u);
  EXPECT_EQ(copies[0].slot_row, 24u);
  EXPECT_EQ(copies[1].rows, 1u);
  EXPECT_EQ(copies[1].slot, 2u);
  EXPECT_EQ(request.rows_missing, 7u);
}

class LatenessTest : public PartsTest {
 protected:
  // All servers take 20 ms to answer a request for ten rows, once a window is loaded.
  void AnswerMany(absl::Duration load = absl::ZeroDuration()) {
    for (uint32_t i = 0; i < 48; ++i) {
      WindowEntry& window = OpenWindow(i % 3);
      RequestEntry& request = Ask(i % 3, window, 10);
      Pass(load);
      window.NoteReady(clock_.now());
      Pass(absl::Milliseconds(20));
      lateness_.CountAnswer(request);
      requests_.End(request);
    }
  }
};

TEST_F(LatenessTest, ARequestIsLateFourTimesLaterThanUsual) {
  GreetAll();
  EXPECT_EQ(lateness_.AnswerLimit(0), absl::Seconds(1));  // Nothing was observed yet.
  AnswerMany();
  EXPECT_EQ(lateness_.AnswerLimit(kBytes), absl::Milliseconds(80));
}

TEST_F(LatenessTest, RowsOfALargeImageMayTakeLonger) {
  GreetAll();
  AnswerMany();
  WindowEntry& large = OpenWindow(0);
  large.bytes *= 30;
  large.NoteReady(clock_.now());
  RequestEntry& request = Ask(0, large, 10);
  EXPECT_EQ(lateness_.DueBy(request), clock_.now() + 30 * absl::Milliseconds(80));
}

TEST_F(LatenessTest, AnAnswerDoesNotTakeTheTimeOfTheLoadBeforeIt) {
  GreetAll();
  AnswerMany(absl::Milliseconds(700));
  EXPECT_EQ(lateness_.AnswerLimit(kBytes), absl::Milliseconds(80));
}

TEST_F(LatenessTest, WhatTheConsumerWaitsForIsLateInHalfTheTime) {
  GreetAll();
  WindowEntry& window = OpenWindow(0);
  window.NoteReady(clock_.now());
  RequestEntry& request = Ask(0, window, 10);
  request.Claim(std::vector<Range>{{.rows = 10, .step = 3}});
  EXPECT_EQ(lateness_.DueBy(request), clock_.now() + absl::Seconds(1));
  slots_.NoteWaiting(2);
  EXPECT_EQ(lateness_.DueBy(request), clock_.now() + absl::Seconds(1));
  slots_.NoteWaiting(3);
  EXPECT_EQ(lateness_.DueBy(request), clock_.now() + absl::Milliseconds(500));
}

TEST_F(LatenessTest, OfThreeServersOneMayBeSlow) {
  GreetAll();
  EXPECT_TRUE(lateness_.MayBeSlow(servers_[0]));
  lateness_.MarkSlow(servers_[0]);
  EXPECT_TRUE(servers_[0].slow);
  EXPECT_FALSE(lateness_.MayBeSlow(servers_[1]));
  Pass(absl::Seconds(5));  // But a silent server is worse than a slow one.
  EXPECT_TRUE(lateness_.MayBeSlow(servers_[1]));
}

TEST_F(LatenessTest, EachPenaltyIsTwiceTheOneBefore) {
  GreetAll();
  lateness_.MarkSlow(servers_[0]);
  EXPECT_EQ(servers_[0].penalty, absl::Milliseconds(500));
  for (int i = 0; i < 10; ++i) lateness_.Penalise(servers_[0]);
  EXPECT_EQ(servers_[0].penalty, absl::Seconds(16));
  EXPECT_EQ(servers_[0].probe_at, clock_.now() + absl::Seconds(16));
}

TEST_F(LatenessTest, AServerThatWasInTimeForLongBeginsWithTheFirstPenalty) {
  GreetAll();
  ServerEntry& server = servers_[0];
  lateness_.MarkSlow(server);
  server.in_time = 15;
  lateness_.MarkSlow(server);
  EXPECT_EQ(server.penalty, absl::Seconds(1));
  server.in_time = 16;
  lateness_.MarkSlow(server);
  EXPECT_EQ(server.penalty, absl::Milliseconds(500));
}

using DamageJudgeTest = PartsTest;

TEST_F(DamageJudgeTest, TwoServersAreBelieved) {
  GreetAll();
  WindowEntry& window = OpenWindow(0);
  EXPECT_EQ(CallDamaged(0, window), Verdict::kAskAnother);
  EXPECT_THAT(judge_.agreed(), IsEmpty());
  EXPECT_EQ(CallDamaged(1, window), Verdict::kReplaced);
  EXPECT_EQ(judge_.agreed().size(), 1u);
  EXPECT_THAT(actions_.reports, ElementsAre(HasSubstr("reported by a:1 and b:1")));
  EXPECT_EQ(CallDamaged(2, window), Verdict::kAskAgain);
}

TEST_F(DamageJudgeTest, OneServerIsNotBelievedTwiceWhileThereAreOthers) {
  GreetAll();
  WindowEntry& window = OpenWindow(0);
  EXPECT_EQ(CallDamaged(0, window), Verdict::kAskAnother);
  EXPECT_EQ(CallDamaged(0, window), Verdict::kAskAnother);
  EXPECT_EQ(CallDamaged(1, window, /*record=*/4), Verdict::kAskAnother);
  judge_.ReportDoubts(window);
  EXPECT_EQ(actions_.reports.size(), 2u);
}

TEST_F(DamageJudgeTest, ARecordAndAllThatFollowItAreNotTheSameDamage) {
  GreetAll();
  WindowEntry& window = OpenWindow(0);
  EXPECT_EQ(CallDamaged(0, window), Verdict::kAskAnother);
  EXPECT_EQ(CallDamaged(1, window, 3, /*rest_of_chunk=*/true), Verdict::kAskAnother);
  EXPECT_EQ(CallDamaged(2, window, 3, /*rest_of_chunk=*/true), Verdict::kReplaced);
}

class StrictDamageJudgeTest : public PartsTest {
 protected:
  StrictDamageJudgeTest() : PartsTest(OnError::kFail) {}
};

TEST_F(StrictDamageJudgeTest, SaysWasOfOneRecordAndWereOfSeveral) {
  GreetAll();
  WindowEntry& window = OpenWindow(0);
  CallDamaged(0, window);
  EXPECT_EQ(CallDamaged(1, window), Verdict::kFail);
  EXPECT_THAT(failure_, AllOf(HasSubstr("record 3 was damaged after it was indexed (reported by "),
                              HasSubstr("uses another record instead")));
  CallDamaged(0, window, 5, /*rest_of_chunk=*/true);
  EXPECT_EQ(CallDamaged(1, window, 5, /*rest_of_chunk=*/true), Verdict::kFail);
  EXPECT_THAT(failure_, AllOf(HasSubstr("record 5 and all later records of the chunk were damaged "
                                        "after they were indexed (reported by "),
                              HasSubstr("uses other records instead")));
}

TEST_F(DamageJudgeTest, ADoubtAboutSeveralRecordsIsInThePlural) {
  GreetAll();
  WindowEntry& window = OpenWindow(1);
  CallDamaged(0, window);
  CallDamaged(0, window, 5, /*rest_of_chunk=*/true);
  judge_.ReportDoubts(window);
  EXPECT_THAT(actions_.reports, ElementsAre(HasSubstr("b:1 served it; check the disk"),
                                            HasSubstr("b:1 served them; check the disk")));
}

TEST_F(DamageJudgeTest, AWindowMayHaveManyRecordsThatServersAgreeOn) {
  GreetAll();
  WindowEntry& window = OpenWindow(0);
  for (uint32_t record = 0; record < 15; ++record) {
    EXPECT_EQ(CallDamaged(0, window, record), Verdict::kAskAnother) << record;
    EXPECT_EQ(CallDamaged(1, window, record), Verdict::kReplaced) << record;
  }
  for (uint32_t report = 0; report < 20; ++report) {
    EXPECT_EQ(CallDamaged(0, window, 100 + report), Verdict::kAskAnother) << report;
  }
  EXPECT_EQ(CallDamaged(0, window, 200), Verdict::kFail);
}

TEST_F(DamageJudgeTest, TheOnlyServerIsAskedAgainOnceTheOthersHadTime) {
  Greet(0);
  ASSERT_TRUE(lanes_.Place(lanes_.place_at()));
  WindowEntry& window = OpenWindow(0);
  EXPECT_EQ(CallDamaged(0, window), Verdict::kAskAnother);
  EXPECT_EQ(CallDamaged(0, window), Verdict::kAskLater);
  Pass(absl::Seconds(5));
  EXPECT_EQ(CallDamaged(0, window), Verdict::kReplaced);
}

using SuspectsTest = PartsTest;

TEST_F(SuspectsTest, ASecondDeathAloneIsProof) {
  GreetAll();
  WindowEntry& window = OpenWindow(0);
  window.load_breaks = 3;
  ASSERT_TRUE(Suspects::IsStillSuspect(window));
  suspects_.Add(window);
  ASSERT_EQ(suspects_.Next(), &window);
  IndexedHeap<WindowEntry>::Leave(window);
  suspects_.set_server(&servers_[0]);
  ASSERT_TRUE(suspects_.LoadsSuspect(servers_[0]));
  const absl::Status reset = absl::UnavailableError("connection reset");
  for (const bool proved : {false, true}) {
    EXPECT_FALSE(suspects_.OnLost(servers_[0], reset, /*silent=*/false));
    ASSERT_TRUE(suspects_.IsAccusing(servers_[0]));
    const absl::Status death = suspects_.Confirm();
    EXPECT_EQ(absl::IsAborted(death), proved) << death;
  }
}

TEST_F(SuspectsTest, ASilentServerIsAvoidedAndProvesNothing) {
  GreetAll();
  WindowEntry& window = OpenWindow(0);
  suspects_.Add(window);
  ASSERT_EQ(suspects_.Next(), &window);
  IndexedHeap<WindowEntry>::Leave(window);
  suspects_.set_server(&servers_[0]);
  EXPECT_TRUE(suspects_.OnLost(servers_[0], absl::UnavailableError("silent"), /*silent=*/true));
  EXPECT_FALSE(suspects_.OnLost(servers_[1], absl::UnavailableError("reset"), /*silent=*/false));
  EXPECT_FALSE(suspects_.IsAccusing());
}

using ConnectionsTest = PartsTest;

TEST_F(ConnectionsTest, ADrainedServerIsLeftOnceItOwesNothing) {
  GreetAll();
  RequestEntry& request = Ask(0, OpenWindow(0), 10);
  connections_.Drain(servers_[0]);
  const auto never = [](ServerEntry&) { FAIL() << "it is in the set"; };
  connections_.CloseDrained(never);
  EXPECT_THAT(actions_.closed, IsEmpty());
  requests_.End(request);
  EXPECT_TRUE(connections_.IsDue());
  connections_.CloseDrained(never);
  EXPECT_EQ(actions_.closed.size(), 1u);
  EXPECT_EQ(servers_[0].state, ServerState::kBackoff);
}

TEST_F(ConnectionsTest, TheJobEndsWhenNoServerWasUsableForTooLong) {
  EXPECT_TRUE(connections_.CheckAlone("").ok());
  EXPECT_EQ(connections_.AloneUntil(), clock_.now() + absl::Seconds(30));
  Pass(absl::Seconds(30));
  EXPECT_THAT(connections_.CheckAlone("; more").message(), HasSubstr("no answer yet; more"));
  Greet(0);
  EXPECT_TRUE(connections_.CheckAlone("").ok());
}

TEST_F(ConnectionsTest, RefusalsEndTheJobUnlessOthersMayCome) {
  for (uint32_t i = 0; i < 3; ++i) {
    servers_[i].last_error = absl::PermissionDeniedError("token");
    connections_.Refuse(servers_[i], Refusal::kAccess);
  }
  EXPECT_EQ(connections_.CheckRefused().code(), absl::StatusCode::kPermissionDenied);
  connections_.NoteSet(/*all_known=*/false);
  EXPECT_TRUE(connections_.CheckRefused().ok());
}

TEST_F(ConnectionsTest, APersonIsToldOnceOfAServerThatStaysAway) {
  connections_.Connect(servers_[0]);
  servers_.BackOff(servers_[0], clock_.now(), absl::UnavailableError("refused"));
  connections_.NoteAway(servers_[0]);
  EXPECT_THAT(actions_.reports, IsEmpty());
  Pass(Connections::kTellAfter);
  connections_.NoteAway(servers_[0]);
  connections_.NoteAway(servers_[0]);
  connections_.NoteBack(servers_[0]);
  EXPECT_THAT(actions_.reports,
              ElementsAre(HasSubstr("unreachable for 5s"), HasSubstr("answers again")));
}

}  // namespace
}  // namespace penstock
