#include <future>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/store_client.h"
#include "trainer/comm/store_server.h"
#include "trainer/comm/store_table.h"
#include "trainer/comm/testing/rank_threads.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Collects the messages to a rank.
class Ear final : public StoreMember {
 public:
  void Tell(const v1::StoreMessage& message) override { heard.push_back(message); }
  std::vector<uint32_t> missing() const {
    std::vector<uint32_t> last;
    for (const auto& message : heard) {
      if (message.has_missing())
        last = {message.missing().rank().begin(), message.missing().rank().end()};
      if (message.has_joined()) std::erase(last, message.joined().rank());
    }
    return last;
  }
  std::vector<std::string> lost() const {
    std::vector<std::string> all;
    for (const auto& message : heard) {
      if (message.has_lost()) all.push_back(message.lost().why());
    }
    return all;
  }
  std::vector<v1::StoreMessage> heard;
};

v1::RankHello Hello(uint32_t rank, uint64_t generation = 2, uint32_t world_size = 3,
                    const std::string& job = "job") {
  v1::RankHello hello;
  hello.set_job(job);
  hello.set_generation(generation);
  hello.set_rank(rank);
  hello.set_world_size(world_size);
  hello.set_host("host");
  hello.set_pid(40 + rank);
  return hello;
}

class StoreTableTest : public testing::Test {
 protected:
  StoreTable table_{"job", /*generation=*/2, /*world_size=*/3};
  Ear ears_[3];
};

TEST_F(StoreTableTest, TellsWhoIsMissing) {
  ASSERT_OK(table_.Join(Hello(0), ears_[0]));
  ASSERT_OK(table_.Join(Hello(2), ears_[2]));
  EXPECT_THAT(ears_[0].missing(), ElementsAre(1));
  ASSERT_OK(table_.Join(Hello(1), ears_[1]));
  for (const Ear& ear : ears_) EXPECT_THAT(ear.missing(), IsEmpty());
}

TEST_F(StoreTableTest, WhatWasPutReachesThoseWhoCameLater) {
  ASSERT_OK(table_.Join(Hello(0), ears_[0]));
  v1::StoreEntry entry;
  entry.set_key("id");
  entry.set_value("abc");
  ASSERT_OK(table_.Put(entry));
  ASSERT_OK(table_.Join(Hello(1), ears_[1]));
  for (Ear* ear : {&ears_[0], &ears_[1]}) {
    EXPECT_TRUE(std::any_of(ear->heard.begin(), ear->heard.end(),
                            [](const auto& m) { return m.put().value() == "abc"; }));
  }
}

TEST_F(StoreTableTest, OfAValueForEachRankEveryOneGetsItsOwn) {
  ASSERT_OK(table_.Join(Hello(0), ears_[0]));
  v1::StoreEntry entry;
  entry.set_key("address");
  for (const char* value : {"a", "b", "c"}) entry.add_values(value);
  ASSERT_OK(table_.Put(entry));
  ASSERT_OK(table_.Join(Hello(2), ears_[2]));
  for (const auto& [rank, value] : {std::pair{0, "a"}, {2, "c"}}) {
    std::vector<std::string> told;
    for (const auto& message : ears_[rank].heard) {
      if (message.has_put()) told.push_back(message.put().value());
    }
    EXPECT_THAT(told, ElementsAre(value));
  }
  entry.add_values("d");
  EXPECT_THAT(table_.Put(entry),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4 values for 3 ranks")));
}

TEST_F(StoreTableTest, WhatIsForOneRankReachesThatOneAlone) {
  for (uint32_t r : {0, 1}) ASSERT_OK(table_.Join(Hello(r), ears_[r]));
  const size_t before = ears_[1].heard.size();
  v1::StoreEntry entry;
  entry.set_key("progress");
  entry.set_value("7");
  entry.set_to(0);
  ASSERT_OK(table_.Put(entry));
  EXPECT_EQ(ears_[0].heard.back().put().value(), "7");
  EXPECT_EQ(ears_[1].heard.size(), before);
  entry.set_to(2);
  EXPECT_THAT(table_.Put(entry), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2")));
}

// Counts the bytes that rank 0 would send.
class Scale final : public StoreMember {
 public:
  explicit Scale(uint64_t& bytes) : bytes_(bytes) {}
  void Tell(const v1::StoreMessage& message) override { bytes_ += message.ByteSizeLong(); }

 private:
  uint64_t& bytes_;
};

TEST(StoreTableSizeTest, MeetingCostsTheSquareOfTheRanks) {
  constexpr uint32_t kRanks = 256;
  constexpr uint64_t kAddress = 136;  // Size of Gloo's addresses.
  StoreTable table("job", 2, kRanks);
  uint64_t bytes = 0;
  std::vector<Scale> scales(kRanks, Scale(bytes));
  for (uint32_t r = 0; r < kRanks; ++r) ASSERT_OK(table.Join(Hello(r, 2, kRanks), scales[r]));
  v1::StoreEntry entry;
  for (uint32_t r = 0; r < kRanks; ++r) entry.add_values(std::string(kAddress, 'x'));
  for (uint32_t r = 0; r < kRanks; ++r) {
    entry.set_key(absl::StrCat("gloo/", r));
    ASSERT_OK(table.Put(entry));
  }
  EXPECT_LT(bytes, 2 * kAddress * kRanks * kRanks);
}

TEST_F(StoreTableTest, RefusesAnOldGeneration) {
  EXPECT_THAT(table_.Join(Hello(1, 1), ears_[1]),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("start 1"), HasSubstr("is at start 2"))));
  EXPECT_THAT(table_.Join(Hello(1, 3), ears_[1]),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("still belongs to start 2")));
}

TEST_F(StoreTableTest, RefusesAnotherWorldAJobAndARankTwice) {
  EXPECT_THAT(table_.Join(Hello(1, 2, 4), ears_[1]),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("3 on rank 0"), HasSubstr("4 on rank 1"))));
  EXPECT_THAT(table_.Join(Hello(1, 2, 3, "other"), ears_[1]),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\"other\"")));
  EXPECT_THAT(table_.Join(Hello(3), ears_[1]),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("rank 3 does not exist: there are 3 ranks")));
  ASSERT_OK(table_.Join(Hello(1), ears_[1]));
  EXPECT_THAT(table_.Join(Hello(1), ears_[2]),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("pid 41 on host")));
}

TEST_F(StoreTableTest, AConnectionThatBreaksIsALostRank) {
  for (uint32_t r : {0, 1, 2}) ASSERT_OK(table_.Join(Hello(r), ears_[r]));
  table_.Remove(1);
  EXPECT_THAT(ears_[0].lost(), ElementsAre(HasSubstr("rank 1 (pid 41 on host) died")));
  table_.Remove(2);  // It ends because of rank 1, so this is not news.
  EXPECT_EQ(ears_[0].lost().size(), 1u);
}

TEST_F(StoreTableTest, ARankThatIsDoneIsNotLost) {
  for (uint32_t r : {0, 1}) ASSERT_OK(table_.Join(Hello(r), ears_[r]));
  table_.Leave(1, {});
  table_.Remove(1);
  EXPECT_THAT(ears_[0].lost(), IsEmpty());
  EXPECT_FALSE(table_.WaitUntilEmpty(std::chrono::milliseconds(1)));
  v1::RankLeave leave;
  leave.set_error("out of memory");
  table_.Leave(0, leave);
  EXPECT_THAT(ears_[0].lost(), ElementsAre(HasSubstr("rank 0 (pid 40 on host) failed: out of")));
  table_.Remove(0);
  EXPECT_TRUE(table_.WaitUntilEmpty(std::chrono::milliseconds(1)));
}

TEST(StoreTest, CarriesValuesBetweenRanks) {
  RunRanks(3, [](RankGroup& group) {
    const std::string own = absl::StrCat("value of ", group.info().rank);
    ASSERT_OK(group.store()->Put(absl::StrCat("key", group.info().rank), own));
    for (int r = 0; r < 3; ++r) {
      EXPECT_THAT(group.store()->Get(absl::StrCat("key", r), absl::Seconds(60)),
                  IsOkAndHolds(absl::StrCat("value of ", r)));
    }
    ASSERT_OK(group.communicator().Barrier());
  });
}

TEST(StoreTest, AReasonMayBeInAnyEncoding) {
  RunRanks(2, [](RankGroup& group) {
    if (group.info().rank == 1) {
      return group.store()->Leave(absl::NotFoundError("/tmp/caf\xe9.pb: No such file"));
    }
    EXPECT_THAT(group.store()->WaitForLost(absl::Seconds(60)),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("failed: /tmp/caf\xe9.pb: No such file")));
  });
}

TEST(StoreTest, ARankThatWasInterruptedDidNotFail) {
  RunRanks(2, [](RankGroup& group) {
    if (group.info().rank == 1) return group.Fail(absl::CancelledError("stopped"));
    EXPECT_THAT(group.store()->WaitForLost(absl::Minutes(10)),
                StatusIs(absl::StatusCode::kCancelled,
                         AllOf(HasSubstr("rank 1 (pid "), HasSubstr("was interrupted"))));
  });
}

TEST(StoreTest, AllWhoAskedHearOnceThatARankIsLost) {
  RunRanks(2, [](RankGroup& group) {
    if (group.info().rank == 1) return group.store()->Leave(absl::DataLossError("bad shard"));
    std::promise<absl::Status> first, second;
    group.store()->OnLost(&first, [&](const absl::Status& why) { first.set_value(why); });
    group.store()->OnLost(&second, [&](const absl::Status& why) { second.set_value(why); });
    EXPECT_THAT(first.get_future().get().message(), HasSubstr("bad shard"));
    EXPECT_THAT(second.get_future().get().message(), HasSubstr("bad shard"));
    absl::Status late;
    group.store()->OnLost(&late, [&](const absl::Status& why) { late = why; });
    EXPECT_THAT(late.message(), HasSubstr("bad shard"));
    EXPECT_THAT(group.communicator().Barrier().message(), HasSubstr("bad shard"));
  });
}

TEST(StoreTest, WhoAsksNoLongerHearsNothing) {
  RunRanks(2, [](RankGroup& group) {
    if (group.info().rank == 1) {
      EXPECT_OK(group.store()->Get("rank 0 has asked", absl::Minutes(10)).status());
      return group.store()->Leave(absl::DataLossError("bad shard"));
    }
    bool called = false;
    std::promise<void> other;
    group.store()->OnLost(&called, [&](const absl::Status&) { called = true; });
    group.store()->OnLost(&called, nullptr);
    group.store()->OnLost(&other, [&](const absl::Status&) { other.set_value(); });
    ASSERT_OK(group.store()->Put("rank 0 has asked", ""));
    other.get_future().wait();
    EXPECT_FALSE(called);
  });
}

TEST(StoreTest, NamesTheRanksThatDidNotCome) {
  RankGroupOptions options;
  options.join_timeout = absl::Seconds(5);
  EXPECT_THAT(RankGroup::Join(TestRank(0, 4), options).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("ranks 1, 2, 3 of 4")));
}

TEST(StoreTest, SaysWhereRankZeroWasLookedFor) {
  RankGroupOptions options;
  options.join_timeout = absl::Milliseconds(300);
  EXPECT_THAT(RankGroup::Join(TestRank(1, 2), options).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(TestRank(1, 2).rendezvous)));
}

TEST(StoreTest, AnOldGenerationIsRefusedByName) {
  RankInfo zero = TestRank(0, 2), old = TestRank(1, 2);
  zero.generation = 1;
  ASSERT_OK_AND_ASSIGN(const auto server, StoreServer::Start(zero));
  EXPECT_THAT(StoreClient::Join(old, absl::Seconds(60)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("was restarted")));
}

TEST(StoreTest, ATakenAddressIsNamed) {
  RankInfo info = TestRank(0, 2);
  info.rendezvous = "127.0.0.1:0";
  ASSERT_OK_AND_ASSIGN(const auto server, StoreServer::Start(info));
  info.rendezvous = server->address();
  EXPECT_THAT(StoreServer::Start(info).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(info.rendezvous)));
}

TEST(StoreTest, AStopEndsTheWaitForRanks) {
  RankGroupOptions options;
  options.should_stop = [] { return true; };
  EXPECT_THAT(RankGroup::Join(TestRank(0, 2), options).status(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
}

}  // namespace
}  // namespace penstock
