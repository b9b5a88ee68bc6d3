#include "trainer/comm/shard_merge.h"

#include <cmath>
#include <functional>
#include <utility>

#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Returns additions at distances 1, 2, 4, ...
std::vector<ShardAddition> Tree(size_t shards) {
  std::vector<ShardAddition> tree;
  for (size_t distance = 1; distance < shards; distance *= 2) {
    for (size_t v = 0; v + distance < shards; v += 2 * distance) tree.push_back({v, v + distance});
  }
  return tree;
}

TEST(SlicesTest, NoSliceIsLargerThanTheLargest) {
  for (const size_t ranks : {1, 2, 3, 8}) {
    for (size_t count = 1; count <= 20 * kSliceBlock; count += kSliceBlock / 2) {
      EXPECT_EQ(SliceBegin(ranks, ranks, count), count);
      for (size_t rank = 0; rank < ranks; ++rank) {
        EXPECT_LE(SliceBegin(rank + 1, ranks, count) - SliceBegin(rank, ranks, count),
                  LargestSlice(ranks, count));
      }
    }
  }
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

// With 6 shards on 2 ranks, 2 + 3 crosses ranks, so 0 + 2 and 0 + 4 must wait for it.
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
  // Sizes that slices do not divide, and values whose sum depends on the order of the additions.
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
  static std::vector<float> Merged(Communicator& ranks, size_t shards,
                                   WireFloat wire = WireFloat::kFp32) {
    ShardMerge merge(ranks, Tree(shards), shards, kSize, wire);
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

// A rank sends a sum as halves only if it has no other sum to send.
using SeveralSumsOfARankTest = ShardMergeTest;

INSTANTIATE_TEST_SUITE_P(Worlds, SeveralSumsOfARankTest, testing::Values(World{12, 4}));

TEST_P(SeveralSumsOfARankTest, AreSentInFull) {
  SingleCommunicator alone;
  const std::vector<float> expected = Merged(alone, GetParam().shards);
  RunRanks(GetParam().ranks, [&](RankGroup& group) {
    EXPECT_EQ(Merged(group.communicator(), GetParam().shards, WireFloat::kBf16), expected);
  });
}

class FastMergeTest : public ShardMergeTest {
 protected:
  using Make = std::function<std::vector<float>(size_t first_shard, size_t count)>;

  // Returns the sums of every rank, after checking that they are equal.
  static std::vector<float> MergedFast(World world, WireFloat wire, const Make& make = Gradients) {
    std::vector<std::vector<float>> merged(world.ranks);
    RunRanks(world.ranks, [&](RankGroup& group) {
      ShardMerge merge(group.communicator(), FastTree(world.shards, world.ranks), world.shards,
                       kSize, wire);
      std::vector<float> gradients = make(merge.first_shard(), merge.num_shards());
      EXPECT_OK(merge.Run(gradients.data(), Add));
      gradients.resize(kSize);
      merged[group.info().rank] = gradients;
    });
    for (const auto& one : merged) EXPECT_EQ(one, merged[0]);
    return merged[0];
  }
};

INSTANTIATE_TEST_SUITE_P(Worlds, FastMergeTest,
                         testing::Values(World{8, 2}, World{9, 3}, World{12, 4}, World{3, 3}));

// Twelve numbers of up to 2^23 are added: rounding costs 2^-24 of that in float, 2^-8 in bf16.
TEST_P(FastMergeTest, IsTheSumWithinRoundingAndTheSameOnAllRanks) {
  std::vector<double> sum(kSize);
  const std::vector<float> gradients = Gradients(0, GetParam().shards);
  for (size_t i = 0; i < gradients.size(); ++i) sum[i % kSize] += gradients[i];
  const std::vector<float> exact = MergedFast(GetParam(), WireFloat::kFp32);
  const std::vector<float> bf16 = MergedFast(GetParam(), WireFloat::kBf16);
  for (size_t i = 0; i < kSize; ++i) {
    EXPECT_NEAR(exact[i], sum[i], 12.0);
    EXPECT_NEAR(bf16[i], sum[i], 12.0 * (1 << 15));
  }
  EXPECT_NE(bf16, exact);
}

// Gradients are small. At 1e-7, where fp16 itself ends, only rounding is lost. At AdamW's epsilon,
// at most half a percent is lost.
TEST_P(FastMergeTest, SmallGradientsKeepTheirPrecisionInFp16) {
  for (const auto& [size, most] : {std::pair{1e-2, 5e-4}, {1e-7, 5e-4}, {1e-8, 5e-3}}) {
    auto make = [size = size](size_t first, size_t count) {
      std::vector<float> gradients(count * kSize);
      for (size_t i = 0; i < gradients.size(); ++i) {
        CounterRng rng(DeriveKey(2, first * kSize + i));
        gradients[i] = static_cast<float>(size * (2 * rng.Uniform() - 1));
      }
      return gradients;
    };
    const std::vector<float> exact = MergedFast(GetParam(), WireFloat::kFp32, make);
    const std::vector<float> fp16 = MergedFast(GetParam(), WireFloat::kFp16, make);
    double error = 0, all = 0;
    for (size_t i = 0; i < kSize; ++i) {
      error += std::pow(double(fp16[i]) - exact[i], 2);
      all += std::pow(double(exact[i]), 2);
    }
    EXPECT_LT(std::sqrt(error / all), most) << size;
  }
}

TEST_P(FastMergeTest, WhatIsTooLargeForFp16IsInfiniteOnAllRanks) {
  auto make = [](size_t first, size_t count) {
    std::vector<float> gradients(count * kSize, 1.0f);
    if (first == 0) gradients[kSize - 1] = 64.0f;
    return gradients;
  };
  const std::vector<float> merged = MergedFast(GetParam(), WireFloat::kFp16, make);
  EXPECT_EQ(merged[0], static_cast<float>(GetParam().shards));
  EXPECT_EQ(merged[kSize - 1], INFINITY);
}

TEST(HalfTest, RoundsToTheNearest) {
  auto round = [](WireFloat wire, float value) {
    uint16_t half;
    ToHalves(wire, &value, 1, &half);
    FromHalves(wire, &half, 1, &value);
    return value;
  };
  for (const WireFloat wire : {WireFloat::kBf16, WireFloat::kFp16}) {
    for (const float exact : {0.0f, -0.0f, 1.0f, -1.5f, 0.09375f, 32.0f}) {
      EXPECT_EQ(round(wire, exact), exact);
    }
    EXPECT_TRUE(std::isnan(round(wire, std::nanf(""))));
    EXPECT_EQ(round(wire, INFINITY), INFINITY);
    EXPECT_NE(round(wire, 1e-10f), 0.0f);  // It becomes a subnormal half.
  }
  EXPECT_EQ(round(WireFloat::kBf16, 1.001f), 1.0f);
  EXPECT_EQ(round(WireFloat::kFp16, 1.001f), 1.0009765625f);
  EXPECT_EQ(round(WireFloat::kFp16, 63.96875f), 63.96875f);
  EXPECT_EQ(round(WireFloat::kFp16, -64.0f), -INFINITY);
  EXPECT_EQ(round(WireFloat::kFp16, 1.00048828125f), 1.0f);  // A tie goes to even.
  EXPECT_EQ(round(WireFloat::kFp16, 1.00146484375f), 1.001953125f);
  EXPECT_EQ(round(WireFloat::kFp16, 6e-11f), 0x1p-34f);
}

}  // namespace
}  // namespace penstock
