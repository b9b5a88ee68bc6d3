#include "trainer/comm/shard_merge.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/base/counter_rng.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// At distance 1, 2, 4, ...
std::vector<ShardAddition> Tree(size_t shards) {
  std::vector<ShardAddition> tree;
  for (size_t distance = 1; distance < shards; distance *= 2) {
    for (size_t v = 0; v + distance < shards; v += 2 * distance) tree.push_back({v, v + distance});
  }
  return tree;
}

TEST(PlanMergeTest, OneRankAddsEverythingItself) {
  const MergePlan plan = PlanMerge(Tree(8), 8, 1);
  EXPECT_EQ(plan.local, Tree(8));
  EXPECT_THAT(plan.open, ElementsAre(0));
  EXPECT_THAT(plan.rest, IsEmpty());
}

TEST(PlanMergeTest, PowersOfTwoLeaveOneSumARank) {
  const MergePlan plan = PlanMerge(Tree(8), 8, 4);
  EXPECT_THAT(plan.local, SizeIs(4));
  EXPECT_THAT(plan.open, ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(plan.rest,
              ElementsAre(ShardAddition{0, 2}, ShardAddition{4, 6}, ShardAddition{0, 4}));
}

// Of 6 shards on 2 ranks, 2 + 3 crosses the border, so that 0 + 2 and 4 + 5 ... must wait for it.
TEST(PlanMergeTest, AnAdditionThatNeedsAnotherRanksWaits) {
  const MergePlan plan = PlanMerge(Tree(6), 6, 2);
  EXPECT_THAT(plan.local, ElementsAre(ShardAddition{0, 1}, ShardAddition{4, 5}));
  EXPECT_THAT(plan.open, ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(plan.rest,
              ElementsAre(ShardAddition{2, 3}, ShardAddition{0, 2}, ShardAddition{0, 4}));
}

TEST(CheckShardsAndRanksTest, NamesTheNearest) {
  EXPECT_OK(CheckShardsAndRanks(8, 8));
  EXPECT_OK(CheckShardsAndRanks(12, 4));
  EXPECT_THAT(CheckShardsAndRanks(8, 3),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("2 ranks"), HasSubstr("--virtual-shards 8 with 4 ranks"))));
  EXPECT_THAT(CheckShardsAndRanks(6, 4),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("2 ranks"), HasSubstr("--virtual-shards 8 with 4 ranks"))));
  EXPECT_THAT(CheckShardsAndRanks(8, 16),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("8 ranks"), HasSubstr("--virtual-shards 16 with 16"))));
}

struct World {
  size_t shards;
  uint32_t ranks;
};

class ShardMergeTest : public testing::TestWithParam<World> {
 protected:
  // Sizes that slices do not divide; values whose sum depends on the order of the additions.
  static constexpr size_t kSize = 1003;

  static std::vector<float> Gradients(size_t first, size_t count) {
    std::vector<float> gradients(count * kSize);
    for (size_t i = 0; i < gradients.size(); ++i) {
      CounterRng rng(DeriveKey(1, first * kSize + i));
      gradients[i] = static_cast<float>((rng.Uniform() - 0.5) * double(1 << rng.Below(24)));
    }
    return gradients;
  }
  static void Add(const float* addend, size_t count, float* sum) {
    for (size_t i = 0; i < count; ++i) sum[i] += addend[i];
  }
  static std::vector<float> Merged(Communicator& ranks, size_t shards) {
    ShardMerge merge(ranks, Tree(shards), shards, kSize);
    std::vector<float> gradients = Gradients(merge.first_shard(), merge.num_shards());
    EXPECT_OK(merge.Run(gradients.data(), Add));
    gradients.resize(kSize);
    return gradients;
  }
};

INSTANTIATE_TEST_SUITE_P(Worlds, ShardMergeTest,
                         testing::Values(World{8, 2}, World{8, 4}, World{8, 8}, World{12, 4},
                                         World{6, 2}, World{2, 2}));

TEST_P(ShardMergeTest, EveryRankHasTheBitsOfOneRankAlone) {
  SingleCommunicator alone;
  const std::vector<float> expected = Merged(alone, GetParam().shards);
  RunRanks(GetParam().ranks, [&](RankGroup& group) {
    EXPECT_EQ(Merged(group.communicator(), GetParam().shards), expected);
  });
}

}  // namespace
}  // namespace penstock
