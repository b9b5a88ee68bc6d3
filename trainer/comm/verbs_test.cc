#include "trainer/comm/verbs.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Calls body(ranks) as each of `size` ranks, on separate threads.
void RunVerbs(uint32_t size, const std::function<void(RankVerbs&)>& body) {
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, info = TestRank(rank, size)] {
      RankVerbs ranks;
      EXPECT_FALSE(ranks.IsInitialized());
      ASSERT_OK(ranks.Init(info, {}));
      body(ranks);
    });
  }
}

TEST(RankVerbsTest, KnowsItsPlace) {
  RankVerbs ranks;
  ASSERT_OK(ranks.Init(RankInfo(), {}));
  EXPECT_TRUE(ranks.IsInitialized());
  EXPECT_EQ(ranks.Size(), 1u);
  EXPECT_EQ(ranks.CrossSize(), 1u);
  EXPECT_THAT(ranks.Init(RankInfo(), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("already")));
  EXPECT_THAT(ranks.MetricAverage(3), IsOkAndHolds(3));
  ASSERT_OK(ranks.Shutdown());
  EXPECT_FALSE(ranks.IsInitialized());
}

TEST(RankVerbsTest, CrossRanksAreThoseOfTheSameLocalRank) {
  const std::vector<size_t> blocks = {0, 1, 0, 1};
  EXPECT_EQ(FindCrossPlace(blocks, 3).rank, 1u);
  EXPECT_EQ(FindCrossPlace(blocks, 3).size, 2u);
  const std::vector<size_t> round_robin = {0, 0, 1, 1, 2};
  EXPECT_EQ(FindCrossPlace(round_robin, 1).rank, 1u);
  EXPECT_EQ(FindCrossPlace(round_robin, 4).rank, 0u);
  EXPECT_EQ(FindCrossPlace(round_robin, 4).size, 1u);
}

TEST(RankVerbsTest, ReducesInEveryWay) {
  RunVerbs(3, [](RankVerbs& ranks) {
    const auto own = static_cast<float>(ranks.Rank() + 2);  // 2, 3, 4
    auto reduced = [&](const AllreduceOptions& options) {
      std::vector<float> values(5, own);
      EXPECT_OK(ranks.Allreduce(std::span(values), options));
      return values;
    };
    EXPECT_THAT(reduced({}), Each(3.0f));
    EXPECT_THAT(reduced({.op = ReduceOp::kSum}), Each(9.0f));
    EXPECT_THAT(reduced({.op = ReduceOp::kMin}), Each(2.0f));
    EXPECT_THAT(reduced({.op = ReduceOp::kMax}), Each(4.0f));
    EXPECT_THAT(reduced({.op = ReduceOp::kProduct}), Each(24.0f));
    EXPECT_THAT(reduced({.op = ReduceOp::kSum, .prescale = 2, .postscale = 3}), Each(54.0f));
    // With a product, a prescale factor counts once per rank.
    EXPECT_THAT(reduced({.op = ReduceOp::kProduct, .prescale = 2, .postscale = 3}), Each(576.0f));
  });
}

TEST(RankVerbsTest, ArraysOfAGroupMayHaveDifferentLengths) {
  RunVerbs(3, [](RankVerbs& ranks) {
    const auto own = static_cast<float>(ranks.Rank());
    std::vector<float> few = {own, 10 * own}, many(7, 1 + own), none;
    ASSERT_OK(ranks.GroupedAllreduce<float>({few, none, many}, {.op = ReduceOp::kSum}));
    EXPECT_THAT(few, ElementsAre(3, 30));
    EXPECT_THAT(many, AllOf(SizeIs(7), Each(6.0f)));
    ASSERT_OK(ranks.Wait(ranks.GroupedAllreduceAsync<float>({many, few})));
    EXPECT_THAT(few, ElementsAre(3, 30));
    EXPECT_THAT(many, Each(6.0f));
  });
}

TEST(RankVerbsTest, WholeNumbersAreSummedAndNotAveraged) {
  RunVerbs(2, [](RankVerbs& ranks) {
    std::vector<int64_t> values = {int64_t{1} << 40, int64_t(ranks.Rank())};
    ASSERT_OK(ranks.Allreduce(std::span(values), {.op = ReduceOp::kSum}));
    EXPECT_THAT(values, ElementsAre(int64_t{1} << 41, 1));
    EXPECT_THAT(ranks.Allreduce(std::span(values)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sum them")));
  });
}

TEST(RankVerbsTest, AsynchronousOnesRunInOrder) {
  RunVerbs(2, [](RankVerbs& ranks) {
    std::vector<std::vector<double>> arrays(50, std::vector<double>(100, 1.0));
    std::vector<RankHandle> handles;
    for (auto& array : arrays) {
      handles.push_back(ranks.AllreduceAsync(std::span(array), {.op = ReduceOp::kSum}));
    }
    for (size_t i = handles.size(); i-- > 0;) {
      ASSERT_OK(ranks.Wait(handles[i]));
      EXPECT_TRUE(handles[i].done());
      EXPECT_THAT(arrays[i], Each(2.0));
    }
    EXPECT_OK(ranks.Wait(handles[0]));
  });
}

TEST(RankVerbsTest, GathersPartsOfDifferentSizes) {
  RunVerbs(3, [](RankVerbs& ranks) {
    const std::vector<int32_t> own(ranks.Rank(), int32_t(ranks.Rank()));
    EXPECT_THAT(ranks.Allgather(std::span(own)), IsOkAndHolds(ElementsAre(1, 2, 2)));
  });
}

TEST(RankVerbsTest, BroadcastsArraysAndObjects) {
  RunVerbs(2, [](RankVerbs& ranks) {
    std::vector<float> a(3, float(ranks.Rank())), b(2, float(ranks.Rank()));
    const std::span<float> arrays[] = {a, b};
    ASSERT_OK(ranks.BroadcastParameters(arrays, 1));
    EXPECT_THAT(a, Each(1.0f));
    EXPECT_THAT(b, Each(1.0f));
    std::string object = ranks.Rank() == 1 ? "a longer object" : "";
    ASSERT_OK(ranks.BroadcastObject(object, 1));
    EXPECT_EQ(object, "a longer object");
    EXPECT_THAT(ranks.BroadcastObject(object, 2),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2")));
  });
}

TEST(RankVerbsTest, AlltoallBySplits) {
  RunVerbs(2, [](RankVerbs& ranks) {
    const std::vector<int32_t> values =
        ranks.Rank() == 0 ? std::vector<int32_t>{1, 2, 3} : std::vector<int32_t>{4};
    const std::vector<size_t> splits =
        ranks.Rank() == 0 ? std::vector<size_t>{1, 2} : std::vector<size_t>{1, 0};
    const auto got = ranks.Alltoall(std::span(values), splits);
    ASSERT_OK(got);
    EXPECT_EQ(*got,
              ranks.Rank() == 0 ? (std::vector<int32_t>{1, 4}) : (std::vector<int32_t>{2, 3}));
    EXPECT_FALSE(ranks.Alltoall(std::span(values), std::vector<size_t>{9, 9}).ok());
  });
}

TEST(RankVerbsTest, ReducescatterGivesEachItsPart) {
  RunVerbs(2, [](RankVerbs& ranks) {
    const std::vector<double> values = {1, 2, 3, 4, 5};
    const auto part = ranks.Reducescatter(std::span(values), {.op = ReduceOp::kSum});
    ASSERT_OK(part);
    EXPECT_EQ(*part,
              ranks.Rank() == 0 ? (std::vector<double>{2, 4}) : (std::vector<double>{6, 8, 10}));
  });
}

// Rank 1 may fail while rank 0 is still in Init(), which then returns the error.
TEST(RankVerbsTest, AFailureIsToldToTheOthers) {
  std::jthread failing([info = TestRank(1, 2)] {
    RankVerbs ranks;
    ASSERT_OK(ranks.Init(info, {}));
    ASSERT_OK(ranks.Shutdown(absl::DataLossError("no more data")));
  });
  RankVerbs ranks;
  absl::Status told = ranks.Init(TestRank(0, 2), {});
  if (told.ok()) told = ranks.Barrier();
  EXPECT_THAT(told, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no more data")));
}

// Rank 1 ends after all ranks have met, but before they gather their places.
TEST(RankVerbsTest, AnInitThatFailedCanBeTriedAgain) {
  std::jthread failing([info = TestRank(1, 2)] {
    ASSERT_OK_AND_ASSIGN(const auto group, RankGroup::Join(info, {}));
    group->Fail(absl::DataLossError("no more data"));
  });
  RankVerbs ranks;
  EXPECT_THAT(ranks.Init(TestRank(0, 2), {}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no more data")));
  EXPECT_FALSE(ranks.IsInitialized());
  EXPECT_THAT(ranks.Barrier(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Init")));
  failing.join();
  std::jthread again([info = TestRank(1, 2)] {
    RankVerbs other;
    ASSERT_OK(other.Init(info, {}));
    EXPECT_OK(other.Barrier());
  });
  ASSERT_OK(ranks.Init(TestRank(0, 2), {}));
  EXPECT_OK(ranks.Barrier());
  EXPECT_EQ(ranks.Size(), 2u);
}

// Checks that every operation of `ranks`, which is not initialized, returns an error.
void ExpectAllRefuse(RankVerbs& ranks) {
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("call Init()"));
  std::vector<float> values = {1, 2};
  const std::span<const float> constant = values;
  const std::span<float> arrays[] = {values};
  const std::vector<size_t> splits = {2};
  std::string object = "kept";
  const RankHandle handle = ranks.AllreduceAsync(std::span(values));
  EXPECT_TRUE(handle.done());
  EXPECT_THAT(ranks.Wait(handle), refused);
  EXPECT_THAT(ranks.Allreduce(std::span(values)), refused);
  EXPECT_THAT(ranks.GroupedAllreduce<float>({values}), refused);
  EXPECT_THAT(ranks.Allgather(constant), refused);
  EXPECT_THAT(ranks.Broadcast(std::span(values), 0), refused);
  EXPECT_THAT(ranks.BroadcastParameters(arrays, 0), refused);
  EXPECT_THAT(ranks.BroadcastObject(object, 0), refused);
  EXPECT_THAT(ranks.Alltoall(constant, splits), refused);
  EXPECT_THAT(ranks.Reducescatter(constant), refused);
  EXPECT_THAT(ranks.Barrier(), refused);
  EXPECT_THAT(ranks.MetricAverage(1), refused);
  EXPECT_THAT(ranks.Shutdown(), refused);
  EXPECT_THAT(values, ElementsAre(1, 2));
  EXPECT_EQ(object, "kept");
}

TEST(RankVerbsTest, OperationsBeforeInitAndAfterShutdownAreRefused) {
  RankVerbs ranks;
  ExpectAllRefuse(ranks);
  ASSERT_OK(ranks.Init(RankInfo(), {}));
  const RankHandle last = [&ranks] {
    std::vector<float> values = {1};
    const RankHandle handle = ranks.AllreduceAsync(std::span(values));
    EXPECT_OK(ranks.Shutdown());
    return handle;
  }();
  EXPECT_OK(ranks.Wait(last));
  ExpectAllRefuse(ranks);
}

TEST(RankVerbsDeathTest, APlaceBeforeInitEndsTheProgramWithAWord) {
  const RankVerbs ranks;
  EXPECT_DEATH((void)ranks.Rank(), "call Init\\(\\) first");
  EXPECT_DEATH((void)ranks.LocalSize(), "call Init\\(\\) first");
  EXPECT_DEATH((void)ranks.CrossSize(), "call Init\\(\\) first");
}

TEST(DistributedOptimizerTest, AppliesTheMeanOfRanksOnceAllPassesAreIn) {
  RunVerbs(2, [](RankVerbs& ranks) {
    std::vector<float> applied;
    DistributedOptimizer optimizer(ranks,
                                   [&](DistributedOptimizer::Gradients gradients) {
                                     applied.assign(gradients[0].begin(), gradients[0].end());
                                   },
                                   {.backward_passes_per_step = 2});
    for (int step = 0; step < 2; ++step) {
      std::vector<float> gradient = {1, float(ranks.Rank())};
      const std::span<float> arrays[] = {gradient};
      EXPECT_THAT(optimizer.Step(arrays), IsOkAndHolds(false));
      EXPECT_THAT(applied, step == 0 ? testing::Matcher<std::vector<float>>(IsEmpty())
                                     : testing::Matcher<std::vector<float>>(ElementsAre(2, 1)));
      gradient = {1, float(ranks.Rank())};
      EXPECT_THAT(optimizer.Step(arrays), IsOkAndHolds(true));
      EXPECT_THAT(applied, ElementsAre(2, 1));
    }
  });
}

}  // namespace
}  // namespace penstock
