#include "trainer/comm/communicator.h"

#include <atomic>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/gated_communicator.h"
#include "trainer/comm/testing/rank_threads.h"

namespace penstock {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::span<uint8_t>> Spans(std::vector<std::vector<uint8_t>>& parts) {
  return {parts.begin(), parts.end()};
}

class WorldTest : public testing::TestWithParam<uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Sizes, WorldTest, testing::Values(1, 2, 3, 4, 8));

TEST_P(WorldTest, AllGatherBringsEveryPartInItsOwnSize) {
  RunRanks(GetParam(), [](RankGroup& group) {
    Communicator& ranks = group.communicator();
    std::vector<std::vector<uint8_t>> parts;
    // Rank 0's part is empty.
    for (size_t r = 0; r < ranks.size(); ++r) parts.emplace_back(r * 1000, 0);
    std::fill(parts[ranks.rank()].begin(), parts[ranks.rank()].end(), uint8_t(ranks.rank()));
    ASSERT_OK(ranks.AllGather(Spans(parts)));
    for (size_t r = 0; r < ranks.size(); ++r) EXPECT_THAT(parts[r], Each(uint8_t(r)));
  });
}

TEST_P(WorldTest, AllToAllTransposes) {
  RunRanks(GetParam(), [](RankGroup& group) {
    Communicator& ranks = group.communicator();
    std::vector<std::vector<uint8_t>> out, in(ranks.size(), std::vector<uint8_t>(100));
    for (size_t r = 0; r < ranks.size(); ++r) out.emplace_back(100, uint8_t(16 * ranks.rank() + r));
    ASSERT_OK(
        ranks.AllToAll(std::vector<std::span<const uint8_t>>(out.begin(), out.end()), Spans(in)));
    for (size_t r = 0; r < ranks.size(); ++r) {
      EXPECT_THAT(in[r], Each(uint8_t(16 * r + ranks.rank())));
    }
  });
}

TEST_P(WorldTest, BroadcastReachesAllFromAnyRoot) {
  RunRanks(GetParam(), [](RankGroup& group) {
    Communicator& ranks = group.communicator();
    for (size_t root = 0; root < ranks.size(); ++root) {
      std::vector<uint8_t> bytes(300'000, uint8_t(ranks.rank() == root ? 7 + root : 0));
      ASSERT_OK(ranks.Broadcast(root, bytes));
      EXPECT_EQ(bytes, std::vector<uint8_t>(bytes.size(), uint8_t(7 + root)));
    }
  });
}

TEST_P(WorldTest, NobodyLeavesABarrierBeforeAllHaveComeToIt) {
  std::atomic<uint32_t> here{0};
  RunRanks(GetParam(), [&](RankGroup& group) {
    for (uint32_t round = 1; round <= 20; ++round) {
      ++here;
      ASSERT_OK(group.communicator().Barrier());
      EXPECT_GE(here.load(), round * GetParam());
    }
  });
}

TEST(CommunicatorTest, MessagesBetweenTwoRanksKeepTheirOrder) {
  RunRanks(2, [](RankGroup& group) {
    Communicator& ranks = group.communicator();
    uint8_t numbers[] = {1, 2, 3};
    if (ranks.rank() == 0) {
      for (uint8_t& number : numbers) ASSERT_OK(ranks.Send(1, {&number, 1}));
    } else {
      uint8_t got[3] = {};
      const Communicator::Incoming in[] = {{0, {&got[0], 1}}, {0, {&got[1], 1}}};
      ASSERT_OK(ranks.Exchange({}, in));
      ASSERT_OK(ranks.Receive(0, {&got[2], 1}));
      EXPECT_THAT(got, ElementsAre(1, 2, 3));
    }
  });
}

TEST(GatedCommunicatorTest, NothingTravelsFromItsStepOn) {
  RunRanks(2, [](RankGroup& group) {
    GatedCommunicator gated(group.communicator(), /*last=*/3);
    for (uint64_t step = 0; step < 6; ++step) {
      gated.Mark(step, 0);
      uint8_t bytes[2] = {};
      bytes[gated.rank()] = 7;
      const std::span<uint8_t> parts[] = {{&bytes[0], 1}, {&bytes[1], 1}};
      ASSERT_OK(gated.AllGather(parts));
      EXPECT_EQ(bytes[1 - gated.rank()], step < 3 ? 7 : 0);
    }
  });
}

TEST(CommunicatorTest, MessagesToOneselfMustFit) {
  SingleCommunicator single;
  uint8_t a[4] = {1, 2, 3, 4}, b[4] = {}, small[2] = {};
  const Communicator::Outgoing out{0, a};
  const Communicator::Incoming in{0, b}, wrong{0, small};
  ASSERT_OK(single.Exchange({&out, 1}, {&in, 1}));
  EXPECT_THAT(b, ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(single.Exchange({&out, 1}, {&wrong, 1}).ok());
  EXPECT_FALSE(single.Exchange({&out, 1}, {}).ok());
  EXPECT_THAT(single.Send(1, a), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 1")));
}

// Rank 2 fails while the others wait for it and for each other. All of them name it and its reason,
// and none waits on.
TEST(CommunicatorTest, AFailingRankEndsAllAndIsNamed) {
  RunRanks(4, [](RankGroup& group) {
    Communicator& ranks = group.communicator();
    if (ranks.rank() == 2) return group.Fail(absl::DataLossError("shard 7 is cut short"));
    absl::Status status;
    while (status.ok()) status = ranks.Barrier();
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kUnavailable,
                         testing::AllOf(HasSubstr("rank 2 (pid "), HasSubstr("shard 7 is cut"))));
    EXPECT_EQ(ranks.Barrier(), status);
  });
}

TEST(CommunicatorTest, AWaitThatNobodyAnswersEndsAndNamesThePeer) {
  RankGroupOptions options;
  options.tcp.timeout = absl::Milliseconds(300);
  options.tcp.verdict_timeout = absl::Milliseconds(100);
  RunRanks(
      2,
      [](RankGroup& group) {
        if (group.info().rank == 1) {
          EXPECT_FALSE(group.store()->WaitForLost(absl::Seconds(60)).ok());
          return;
        }
        const absl::Status status = group.communicator().Barrier();
        EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 1")));
        group.Fail(status);
      },
      options);
}

}  // namespace
}  // namespace penstock
