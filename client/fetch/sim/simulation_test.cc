#include "client/fetch/sim/simulation.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/fetch/sim/scenario.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sanitized.h"

namespace penstock::sim {
namespace {

using ::testing::ElementsAre;

// Number of seeds in each shard: 2,000 over all shards, or 400 under a sanitizer. The test's name
// has the range.
#ifdef PENSTOCK_SANITIZED
constexpr uint64_t kSeeds = 100;
#else
constexpr uint64_t kSeeds = 500;
#endif

class SimulationTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SimulationTest, KeepsEveryPromise) {
  uint64_t finished = 0, rows = 0;
  for (uint64_t seed = GetParam() * kSeeds; seed < (GetParam() + 1) * kSeeds; ++seed) {
    const Outcome outcome = Simulate(DrawScenario(seed));
    EXPECT_EQ(outcome.violation, "") << "replay with: " << ReplayCommand(seed);
    finished += outcome.finished;
    rows += outcome.rows;
  }
  EXPECT_GT(finished, kSeeds * 8 / 10);  // A few jobs end for a cause that no server can cure.
  EXPECT_GT(rows, kSeeds * 1'000);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulationTest, ::testing::Range<uint64_t>(0, 4),
                         [](const auto& shard) {
                           return absl::StrCat(shard.param * kSeeds, "To",
                                               (shard.param + 1) * kSeeds - 1);
                         });

class LateServersTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(LateServersTest, MakeNobodyWaitForLong) {
  for (uint64_t seed = GetParam() * kSeeds; seed < (GetParam() + 1) * kSeeds; ++seed) {
    EXPECT_EQ(Simulate(Trouble::kLateServers, seed).violation, "")
        << "replay with: " << ReplayCommand(seed, Trouble::kLateServers);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LateServersTest, ::testing::Range<uint64_t>(0, 2),
                         [](const auto& shard) {
                           return absl::StrCat(shard.param * kSeeds, "To",
                                               (shard.param + 1) * kSeeds - 1);
                         });

// Whole windows are damaged, and so are chunks that could replace them.
class SparesTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SparesTest, AllRanksAndServersComeToTheSameStandIn) {
  uint64_t finished = 0;
  for (uint64_t seed = GetParam() * kSeeds; seed < (GetParam() + 1) * kSeeds; ++seed) {
    const Outcome outcome = Simulate(Trouble::kSpares, seed);
    EXPECT_EQ(outcome.violation, "") << "replay with: " << ReplayCommand(seed, Trouble::kSpares);
    finished += outcome.finished;
  }
  EXPECT_GT(finished, kSeeds * 8 / 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SparesTest, ::testing::Range<uint64_t>(0, 2),
                         [](const auto& shard) {
                           return absl::StrCat(shard.param * kSeeds, "To",
                                               (shard.param + 1) * kSeeds - 1);
                         });

// A server that still answers takes over from the silent ones. One seed is an exception: it has few
// lanes, and that server was never asked for any of them. Without this, 9 of 500 seeds wait until
// the silent servers are given up as lost.
TEST(HiccupTest, MostServersMayStopAtOneMoment) {
  std::vector<std::string> waited_long;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Outcome outcome = Simulate(Trouble::kHiccup, seed);
    EXPECT_EQ(outcome.violation, "") << "replay with: " << ReplayCommand(seed, Trouble::kHiccup);
    if (WaitedLong(outcome)) waited_long.push_back(ReplayCommand(seed, Trouble::kHiccup));
  }
  EXPECT_LE(waited_long.size(), 1 + kSeeds / 500) << "replay with:\n"
                                                  << absl::StrJoin(waited_long, "\n");
}

// Seeds with these difficulties: a server was never asked, or answered at the moment at which it
// was ready, so it is no measure for the late one; or the late server has so many requests that it
// cannot be late.
TEST(SimulationReplayTest, LateServersThatOnceWereWaitedFor) {
  for (uint64_t seed : {979, 1093, 1317, 2951, 4033, 5892, 8545, 9695}) {
    EXPECT_EQ(Simulate(Trouble::kLateServers, seed).violation, "")
        << "replay with: " << ReplayCommand(seed, Trouble::kLateServers);
  }
}

// These were found among 100,000 seeds. They have streams that break by chance while one window is
// requested alone, a window that escapes blame, or a second opinion that comes late.
TEST(SimulationReplayTest, SeedsThatOnceBrokeAPromise) {
  for (uint64_t seed : {56325, 58790, 83987, 89436, 98473}) {
    EXPECT_EQ(Simulate(DrawScenario(seed)).violation, "") << "replay with: " << ReplayCommand(seed);
  }
}

// A consumer that keeps every slot but one waits for ever, and no server can help.
TEST(ScenarioTest, LeavesEveryConsumerTheSlotsItNeeds) {
  for (uint64_t seed : {uint64_t{8'004'360}, uint64_t{0}, uint64_t{1}, uint64_t{2}}) {
    const RankOptions rank = DrawScenario(seed).rank;
    EXPECT_LE(rank.consumer.hold + 2, rank.controller.num_slots) << ReplayCommand(seed);
  }
}

TEST(ScenarioTest, DrawsEveryEndOfAnEpochAndOfAJob) {
  std::set<Remainder> remainders;
  uint64_t limited = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Scenario scenario = DrawScenario(seed);
    remainders.insert(scenario.steps.remainder);
    limited += scenario.rank.controller.max_steps > 0;
  }
  EXPECT_THAT(remainders, ElementsAre(Remainder::kDrop, Remainder::kShort, Remainder::kCarry));
  EXPECT_GT(limited, 0u);
}

TEST(SimulationReplayTest, ASeedGivesTheSameRunToTheLastEvent) {
  std::string first, second;
  const Scenario scenario = DrawScenario(7);
  Simulate(scenario, [&](const std::string& line) { absl::StrAppend(&first, line, "\n"); });
  Simulate(DrawScenario(7), [&](const std::string& line) { absl::StrAppend(&second, line, "\n"); });
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, second);
}

// Each option of penstock-sim runs this kind of fleet.
TEST(SimulationReplayTest, EachKindOfFleetHasItsCommand) {
  const std::string program = "build/release/bin/penstock-sim";
  EXPECT_EQ(ReplayCommand(17), program + " --seed 17");
  EXPECT_EQ(ReplayCommand(17, Trouble::kLateServers), program + " --seed 17 --late");
  EXPECT_EQ(ReplayCommand(17, Trouble::kHiccup), program + " --seed 17 --hiccup");
  EXPECT_EQ(ReplayCommand(17, Trouble::kSpares), program + " --seed 17 --spares");
  EXPECT_EQ(Simulate(Trouble::kHiccup, 57).hash, Simulate(DrawHiccup(57)).hash);
  EXPECT_NE(Simulate(Trouble::kHiccup, 57).hash, Simulate(DrawLateServers(57)).hash);
  EXPECT_NE(Simulate(Trouble::kHiccup, 57).hash, Simulate(DrawScenario(57)).hash);
}

// Two builds that give the same hashes give the same commands at the same times.
TEST(SimulationReplayTest, HashesTheCommandsOfASeed) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const uint64_t hash = Simulate(DrawScenario(seed)).hash;
    EXPECT_EQ(Simulate(DrawScenario(seed)).hash, hash) << ReplayCommand(seed);
    hashes.insert(hash);
  }
  EXPECT_GT(hashes.size(), 15u);  // Some seeds have no step to read, and so no command.
}

TEST(SimulationReplayTest, TheLogChangesNothing) {
  const Outcome quiet = Simulate(DrawScenario(11));
  const Outcome logged = Simulate(DrawScenario(11), [](const std::string&) {});
  EXPECT_EQ(quiet.events, logged.events);
  EXPECT_EQ(quiet.hash, logged.hash);
}

}  // namespace
}  // namespace penstock::sim
