#include "CLI/CLI.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/app/options.h"
#include "trainer/app/rank_agreement.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/model/initialize.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string ConfigOf(const std::string& arguments) {
  TrainerOptions options;
  CLI::App app;
  AddOptions(app, options);
  app.parse(arguments);
  return app.config_to_str(true, false);
}

TEST(SharedOptionsTest, WhatChangesTheTrainingIsCompared) {
  const SharedSettings settings = SharedOptions(ConfigOf(""));
  for (const char* name : {"--lr", "--global-batch-size", "--virtual-shards", "--seed", "--model",
                           "--gemm", "--reduction", "--steps", "--epochs", "--dtype",
                           "--no-shuffle", "--remainder", "--checkpoint-dir", "--eval-every"}) {
    EXPECT_TRUE(settings.contains(name)) << name;
  }
  EXPECT_EQ(settings.at("--global-batch-size"), "256");
}

TEST(SharedOptionsTest, WhatBelongsToARankIsNot) {
  EXPECT_EQ(SharedOptions(ConfigOf("--rank 1 --world-size 2 --rendezvous h:1 --threads 3 "
                                   "--servers a:1 --json x --manifest m")),
            SharedOptions(ConfigOf("--rank 0 --world-size 2 --manifest /other/m")));
}

TEST(SharedOptionsTest, AllSaveOrNoneWhereverThatIs) {
  const SharedSettings one = SharedOptions(ConfigOf("--checkpoint-dir a"));
  EXPECT_EQ(one, SharedOptions(ConfigOf("--checkpoint-dir /other/b")));
  EXPECT_EQ(one.at("--checkpoint-dir"), "given");
  EXPECT_EQ(SharedOptions(ConfigOf("")).at("--checkpoint-dir"), "\"\"");
}

TEST(CompareSettingsTest, NamesOptionRankAndBothValues) {
  RunRanks(4, [](RankGroup& group) {
    const SharedSettings settings = {{"--seed", "1"},
                                     {"--lr", group.info().rank == 2 ? "0.01" : "0.001"}};
    EXPECT_THAT(CompareSettings(group.communicator(), settings),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("--lr is 0.001 on rank 0 and 0.01 on rank 2")));
    EXPECT_OK(CompareSettings(group.communicator(), {{"--seed", "1"}}));
  });
}

TEST(GatherMemoryTest, EveryRankHasAllRanks) {
  RunRanks(3, [](RankGroup& group) {
    const std::vector<MemoryUse> own = {{"slots", 10u + group.info().rank, ""}, {"state", 5, ""}};
    EXPECT_THAT(
        GatherMemory(group.communicator(), own),
        IsOkAndHolds(testing::ElementsAre(testing::ElementsAre(10, 5), testing::ElementsAre(11, 5),
                                          testing::ElementsAre(12, 5))));
  });
}

TEST(GatherMemoryTest, ARankWithOtherUsesIsAnError) {
  RunRanks(3, [](RankGroup& group) {
    std::vector<MemoryUse> own = {{"state", 5, ""}};
    if (group.info().rank == 1) own.push_back({"slots", 1, ""});
    EXPECT_THAT(GatherMemory(group.communicator(), own),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("rank 1 reports 2 uses of memory, but rank 0 reports 1")));
  });
}

TEST(ShareTrainingTest, EveryRankStartsWhereRankZeroDoes) {
  const ModelConfig model{"small", 1, 8, 2, 8};
  const ParameterTable table = ParameterTable::For(model);
  RunRanks(3, [&](RankGroup& group) {
    TrainState state(table.arena_size());
    CheckpointInfo info{.model = model};
    if (group.info().rank == 0) {
      InitializeParameters(table, 3, state.parameters);
      state.v[1] = 5;
      info.step = 7;
      info.cursor = "ps1-00-1-2";
    }
    ASSERT_OK(ShareTraining(group.communicator(), table, info, state));
    std::vector<float> expected(table.arena_size());
    InitializeParameters(table, 3, expected);
    EXPECT_EQ(state.parameters, expected);
    EXPECT_EQ(state.v[1], 5);
    EXPECT_EQ(state.step, 7u);
    EXPECT_EQ(info.cursor, "ps1-00-1-2");
  });
}

TEST(CompleteTest, ShardsThatTheRanksCannotShareAreAUsageError) {
  TrainerOptions options;
  options.manifest = "m";
  options.ranks.ranks = {.rank = 0, .world_size = 3, .rendezvous = "h:1"};
  EXPECT_THAT(Complete(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--virtual-shards 8 on 3 ranks"), HasSubstr("2 ranks"))));
}

// One rank's options after Complete().
TrainerOptions Completed(const std::string& arguments, uint32_t world_size) {
  TrainerOptions options;
  CLI::App app;
  AddOptions(app, options);
  app.parse("--manifest m --rank 0 --rendezvous h:1 --world-size " + std::to_string(world_size) +
            " " + arguments);
  EXPECT_OK(Complete(options));
  return options;
}

TEST(CompleteTest, TheRateIsScaledOnlyIfAsked) {
  EXPECT_EQ(Completed("--lr 0.5", 4).learning_rate, 0.5);
  EXPECT_EQ(Completed("--lr 0.5 --lr-scaling linear", 4).learning_rate, 2.0);
  EXPECT_EQ(Completed("--lr 0.5 --lr-scaling sqrt", 4).learning_rate, 1.0);
}

TEST(RankFlagsTest, AScaledRateWithoutWarmUpIsWarnedOf) {
  RankFlags flags;
  EXPECT_EQ(flags.WarmUpWarning(4, 0), "");
  flags.lr_scaling = "linear";
  EXPECT_THAT(flags.WarmUpWarning(4, 0), HasSubstr("linear on 4 ranks without --warmup-steps"));
  EXPECT_EQ(flags.WarmUpWarning(4, 100), "");
  EXPECT_EQ(flags.WarmUpWarning(1, 0), "");
}

TEST(CompleteTest, StepsOfAllRanksAreDividedUpwards) {
  EXPECT_EQ(Completed("--steps 10", 4).steps, 10u);
  EXPECT_EQ(Completed("--steps 10 --divide-steps", 4).steps, 3u);
}

TEST(CompleteTest, ADiagnosisHasStepsToCompare) {
  TrainerOptions options;
  options.manifest = "m";
  options.profile.synthetic_data = true;
  for (const uint64_t steps : {1, 3}) {
    options.steps = steps;
    EXPECT_THAT(Complete(options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("give --steps 4 or more")));
  }
  for (const uint64_t steps : {0, 4}) {
    options.steps = steps;
    EXPECT_OK(Complete(options));
  }
  options.steps = 12;
  options.ranks.divide_steps = true;
  options.ranks.ranks = {.rank = 0, .world_size = 4, .rendezvous = "h:1"};
  EXPECT_THAT(Complete(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                          AllOf(HasSubstr("3 steps are too few"),
                                                HasSubstr("give --steps 13 or more"))));
  options.steps = 13;
  EXPECT_OK(Complete(options));
}

TEST(CompleteTest, FastTakesAnyNumberOfRanks) {
  EXPECT_EQ(Completed("--reduction fast --compression fp16", 3).ranks.wire(), WireFloat::kFp16);
}

TEST(CompleteTest, AnEqualShareOfTheBatchIsOneThatTheShardsDivideToo) {
  TrainerOptions options;
  options.manifest = "m";
  options.global_batch_size = 264;
  options.ranks.reduction = "fast";
  options.ranks.shard_by = "local-rank";
  options.ranks.ranks = {.rank = 0, .world_size = 5, .rendezvous = "h:1"};
  EXPECT_THAT(Complete(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("give 240 or 280")));
  options.global_batch_size = 280;
  EXPECT_OK(Complete(options));
}

TEST(CompleteTest, CompressionAndBitsExcludeEachOther) {
  TrainerOptions options;
  options.manifest = "m";
  options.ranks.compression = "bf16";
  EXPECT_THAT(Complete(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs --reduction fast")));
}

TEST(RankFlagsTest, ABucketHoldsAGradientOrAll) {
  RankFlags flags;
  for (const auto& [size, floats] : {std::pair{"4B", 1u}, {"0", 0u}, {"1KiB", 256u}}) {
    flags.bucket_size = size;
    EXPECT_OK(flags.Validate());
    EXPECT_EQ(flags.bucket_floats(), floats);
  }
  flags.bucket_size = "3B";
  EXPECT_THAT(flags.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                         AllOf(HasSubstr("--bucket-size 3B"), HasSubstr("or 0"))));
}

}  // namespace
}  // namespace penstock
