#include "trainer/checkpoint/same_bits.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/testing/checkpoint_fixture.h"

namespace penstock {
namespace {

using testing::ElementsAre;

using SameBitsTest = CheckpointTest;

TEST_F(SameBitsTest, NamesEveryReasonWhyBitsDiffer) {
  CheckpointInfo now = info_;
  EXPECT_THAT(BitDifferences(info_, now), testing::IsEmpty());
  now.virtual_shards = 4;
  now.targets = "a 0.8, b 11, k 4000";
  now.precision = "fp32";
  now.world_size = 3;
  EXPECT_THAT(
      BitDifferences(info_, now),
      ElementsAre(
          "--virtual-shards was 8 and is now 4",
          "the target formula of --spec was a 0.8, b 11, k 400 and is now a 0.8, b 11, k 4000",
          "--precision was bf16 and is now fp32", "the world size was 2 and is now 3"));
}

TEST_F(SameBitsTest, TheWorldSizeDoesNotMatterToADeterministicReduction) {
  info_.reduction = "deterministic";
  CheckpointInfo now = info_;
  now.world_size = 8;
  EXPECT_THAT(BitDifferences(info_, now), testing::IsEmpty());
  now.accumulate = 3;
  now.remainder = "carry";
  EXPECT_THAT(BitDifferences(info_, now), ElementsAre("--accumulate was 2 and is now 3",
                                                      "--remainder was short and is now carry"));
}

TEST_F(SameBitsTest, OfLongPlansWhereTheyDifferIsShown) {
  CheckpointInfo now = info_;
  info_.gemm_plan = std::string(1000, 'a') + "4" + std::string(1000, 'b');
  now.gemm_plan = std::string(1000, 'a') + "5" + std::string(1000, 'b');
  const std::string before(20, 'a'), after(59, 'b');
  EXPECT_THAT(BitDifferences(info_, now),
              ElementsAre("the GEMM plan was ..." + before + "4" + after + "... and is now ..." +
                          before + "5" + after + "..."));
}

TEST_F(SameBitsTest, WhatAnOldFileDoesNotTellIsNotCompared) {
  CheckpointInfo now = info_;
  info_.gemm_plan = info_.libraries = info_.targets = "";
  EXPECT_THAT(BitDifferences(info_, now), testing::IsEmpty());
}

}  // namespace
}  // namespace penstock
