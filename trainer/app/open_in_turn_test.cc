#include "trainer/app/open_in_turn.h"

#include <atomic>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"

namespace penstock {
namespace {

using testing::HasSubstr;

bool Never() { return false; }

TEST(OpenInTurnTest, RankZeroIsFirstAndNobodyIsDoneBeforeAllAre) {
  std::atomic<bool> first{false};
  std::atomic<int> opened{0};
  RunRanks(3, [&](RankGroup& group) {
    EXPECT_OK(OpenInTurn(group.info(), group.store(), Never, [&] {
      if (group.info().rank == 0) first = true;
      EXPECT_TRUE(first.load());
      ++opened;
      return absl::OkStatus();
    }));
    EXPECT_EQ(opened.load(), 3);
  });
}

TEST(OpenInTurnTest, OneRankAloneOpens) {
  EXPECT_THAT(OpenInTurn({}, nullptr, Never, [] { return absl::NotFoundError("no shard"); }),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no shard")));
}

// Rank 1 is told to stop while rank 0 still indexes; rank 0 hears of it.
TEST(OpenInTurnTest, AWaitingRankCanBeStopped) {
  RunRanks(2, [&](RankGroup& group) {
    StoreClient& store = *group.store();
    if (group.info().rank == 1) {
      const absl::Status stopped = OpenInTurn(
          group.info(), &store, [] { return true; }, [] { return absl::OkStatus(); });
      EXPECT_THAT(stopped, StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
      return group.Fail(stopped);
    }
    EXPECT_THAT(OpenInTurn(group.info(), &store, Never,
                           [&] { return store.WaitForLost(absl::Seconds(60)); }),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 1 (")));
  });
}

TEST(OpenInTurnTest, ARankThatCannotOpenEndsAll) {
  RunRanks(2, [&](RankGroup& group) {
    const absl::Status status = OpenInTurn(group.info(), group.store(), Never, [&] {
      return group.info().rank == 1 ? absl::DataLossError("shard 3 is cut short")
                                    : absl::OkStatus();
    });
    group.Fail(status);
    EXPECT_THAT(status.message(), HasSubstr("shard 3 is cut short"));
  });
}

}  // namespace
}  // namespace penstock
