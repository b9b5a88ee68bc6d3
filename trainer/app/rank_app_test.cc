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
                           "--no-shuffle", "--checkpoint-dir", "--eval-every"}) {
    EXPECT_TRUE(settings.contains(name)) << name;
  }
  EXPECT_EQ(settings.at("--global-batch-size"), "256");
}

TEST(SharedOptionsTest, WhatBelongsToARankIsNot) {
  EXPECT_EQ(SharedOptions(ConfigOf("--rank 1 --world-size 2 --rendezvous h:1 --threads 3 "
                                   "--servers a:1 --json x --manifest m")),
            SharedOptions(ConfigOf("--rank 0 --world-size 2 --manifest /other/m")));
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

TEST(ShareTrainingTest, EveryRankStartsWhereRankZeroDoes) {
  const BoardModelConfig model{"small", 1, 8, 2, 8};
  const ParameterTable table = ParameterTable::ForBoard(model);
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

}  // namespace
}  // namespace penstock
