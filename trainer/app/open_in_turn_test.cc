#include "trainer/app/open_in_turn.h"

#include <atomic>
#include <semaphore>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(OpenInTurnTest, RankZeroIsFirstAndNobodyIsDoneBeforeAllAre) {
  std::atomic<bool> first{false};
  std::atomic<int> opened{0};
  RunRanks(3, [&](RankGroup& group) {
    EXPECT_OK(OpenInTurn(group.info(), group.store(), {}, [&] {
      if (group.info().rank == 0) first = true;
      EXPECT_TRUE(first.load());
      ++opened;
      return absl::OkStatus();
    }));
    EXPECT_EQ(opened.load(), 3);
  });
}

TEST(OpenInTurnTest, OneRankAloneOpens) {
  EXPECT_THAT(OpenInTurn({}, nullptr, {}, [] { return absl::NotFoundError("no shard"); }),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no shard")));
}

// Rank 1 is told to stop while rank 0 is still indexing. Rank 0 learns of it.
TEST(OpenInTurnTest, AWaitingRankCanBeStopped) {
  RunRanks(2, [&](RankGroup& group) {
    StoreClient& store = *group.store();
    if (group.info().rank == 1) {
      const absl::Status stopped =
          OpenInTurn(group.info(), &store, {.should_stop = [] { return true; }},
                     [] { return absl::OkStatus(); });
      EXPECT_THAT(stopped, StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
      return group.Fail(stopped);
    }
    EXPECT_THAT(
        OpenInTurn(group.info(), &store, {}, [&] { return store.WaitForLost(absl::Minutes(10)); }),
        StatusIs(absl::StatusCode::kCancelled, HasSubstr("rank 1 (")));
  });
}

// Rank 0 fails because of the same signal, like a rank that is killed.
TEST(OpenInTurnTest, AStoppedRankIsStoppedWhateverBecameOfTheOthers) {
  RunRanks(2, [](RankGroup& group) {
    StoreClient& store = *group.store();
    if (group.info().rank == 0) return group.Fail(absl::DataLossError("shard 3 is cut short"));
    EXPECT_THAT(store.WaitForLost(absl::Minutes(10)).message(), HasSubstr("rank 0 ("));
    EXPECT_THAT(OpenInTurn(group.info(), &store, {.should_stop = [] { return true; }},
                           [] { return absl::OkStatus(); }),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
  });
}

TEST(OpenInTurnTest, ARankThatCannotOpenEndsAll) {
  RunRanks(2, [&](RankGroup& group) {
    const absl::Status status = OpenInTurn(group.info(), group.store(), {}, [&] {
      return group.info().rank == 1 ? absl::DataLossError("shard 3 is cut short")
                                    : absl::OkStatus();
    });
    group.Fail(status);
    EXPECT_THAT(status.message(), HasSubstr("shard 3 is cut short"));
  });
}

// Releases `heard` for each line that begins with `begin`.
OpenInTurnOptions Listening(std::counting_semaphore<>& heard, absl::string_view begin) {
  return {.late_after = absl::Milliseconds(1), .report = [&heard, begin](absl::string_view line) {
            if (absl::StartsWith(line, begin)) heard.release();
          }};
}

TEST(OpenInTurnTest, ARankThatIsWaitedForIsNamedAgainAndAgain) {
  std::counting_semaphore<> heard(0);
  RunRanks(2, [&](RankGroup& group) {
    EXPECT_OK(OpenInTurn(group.info(), group.store(),
                         Listening(heard, "rank 0 has not opened its data for"), [&] {
                           if (group.info().rank == 1) return absl::OkStatus();
                           for (int lines = 0; lines < 3; ++lines) heard.acquire();
                           return absl::OkStatus();
                         }));
  });
}

TEST(OpenInTurnTest, AllThatWaitNameTheOneThatIsLate) {
  std::counting_semaphore<> heard_by_0(0), heard_by_2(0);
  RunRanks(3, [&](RankGroup& group) {
    EXPECT_OK(OpenInTurn(group.info(), group.store(),
                         Listening(group.info().rank == 0 ? heard_by_0 : heard_by_2,
                                   "rank 1 has not opened its data"),
                         [&] {
                           if (group.info().rank != 1) return absl::OkStatus();
                           heard_by_0.acquire();
                           heard_by_2.acquire();
                           return absl::OkStatus();
                         }));
  });
}

TEST(OpenInTurnTest, SeveralThatAreLateAreNamedInOneLine) {
  std::counting_semaphore<> heard(0);
  RunRanks(3, [&](RankGroup& group) {
    EXPECT_OK(OpenInTurn(group.info(), group.store(),
                         Listening(heard, "ranks 1, 2 have not opened their data for"), [&] {
                           if (group.info().rank != 0) {
                             heard.acquire();
                             heard.release();
                           }
                           return absl::OkStatus();
                         }));
  });
}

}  // namespace
}  // namespace penstock
