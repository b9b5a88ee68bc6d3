// Properties of the order over thousands of random chunk tables and options.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "client/plan/plan.h"
#include "client/plan/steps.h"
#include "client/plan/testing/plans.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

// Takes rule 5 of docs/concepts/order.md literally: cuts every lane into strips, then deals them
// out round by round.
std::vector<Location> OrderByDefinition(const Plan& plan, const EpochOrder& order) {
  std::vector<std::vector<Location>> lanes(order.num_lanes());
  for (uint32_t lane = 0; lane < order.num_lanes(); ++lane) {
    for (uint32_t index = 0; index < order.num_windows(lane); ++index) {
      const WindowId window = {order.epoch(), lane, index};
      for (uint32_t row = 0; row < order.WindowRows(window); ++row) {
        lanes[lane].push_back({window, row});
      }
    }
  }
  std::vector<Location> rows;
  for (size_t begin = 0; rows.size() < order.rows(); begin += plan.strip_rows()) {
    for (const std::vector<Location>& lane : lanes) {
      const size_t end = std::min<size_t>(begin + plan.strip_rows(), lane.size());
      for (size_t row = begin; row < end; ++row) rows.push_back(lane[row]);
    }
  }
  return rows;
}

// Appends the records of a range of positions, read as a rank reads them: it seeks to the first.
void AppendRecords(const Plan& plan, const EpochOrder& order, const RowRange& range,
                   std::vector<RowRef>& records) {
  EpochOrder::Walker walker(order, range.position);
  for (WindowRun run; walker.position() < range.position + range.rows;) {
    ASSERT_TRUE(walker.Next(range.position + range.rows - walker.position(), run));
    const std::vector<RowRef> window = WindowOrder(plan, order, run.window);
    const auto first = window.begin() + run.first_row;
    records.insert(records.end(), first, first + run.rows);
  }
}

// Returns the records of epoch 0, read in global batches of B by R ranks. B and R change at every
// step.
std::vector<RowRef> RecordsByRanks(const Plan& plan, std::mt19937_64& random) {
  const EpochOrder order = plan.Epoch(0);
  std::vector<RowRef> records;
  StepOptions options = {.remainder = Remainder::kShort};
  for (EpochPosition start; start.epoch == 0;) {
    options.global_batch_size = 1 + random() % 300;
    options.world_size =
        1 + static_cast<uint32_t>(random() % std::min<uint64_t>(options.global_batch_size, 9));
    EpochPosition end;
    for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
      const Step step = Steps::Create(plan.rows(), options, start)->At(0);
      for (const RowRange& range : step.ranges()) AppendRecords(plan, order, range, records);
      end = step.end;
    }
    start = end;
  }
  return records;
}

TEST(PlanPropertyTest, TheOrderDependsNeitherOnBatchSizeNorOnRanks) {
  std::mt19937_64 random(8);
  for (int trial = 0; trial < 1000; ++trial) {
    const Plan plan = RandomPlan(random);
    ASSERT_EQ(RecordsByRanks(plan, random), Records(plan, 0)) << "trial " << trial;
  }
}

// Returns what all ranks read in `num_steps` steps from `start` on: step by step, and in each step
// rank by rank. `start` becomes the end of the last step. Every rank has a Steps of its own, as it
// would in its own process.
std::vector<RowRef> ReadPhase(const Plan& plan, StepOptions options, uint64_t num_steps,
                              EpochPosition& start) {
  std::vector<Steps> ranks;
  for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
    ranks.push_back(*Steps::Create(plan.rows(), options, start));
  }
  std::vector<RowRef> records;
  for (uint64_t i = 0; i < std::min(num_steps, ranks[0].num_steps()); ++i) {
    for (const Steps& rank : ranks) {
      const Step step = rank.At(i);
      for (const RowRange& range : step.ranges()) {
        AppendRecords(plan, plan.Epoch(range.epoch), range, records);
      }
    }
    start = ranks[0].At(i).end;
  }
  return records;
}

// An elastic training: phases of random lengths and world sizes, each resumed where the last one
// ended.
TEST(PlanPropertyTest, PhasesOfAnyWorldSizesReadWhatOneRankReads) {
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 600; ++trial) {
    const Plan plan = RandomPlan(random);
    StepOptions options = {.remainder = static_cast<Remainder>(random() % 3),
                           .epochs = 1 + random() % 3};
    const uint64_t most = options.remainder == Remainder::kShort ? 300 : plan.rows();
    options.global_batch_size = 1 + random() % std::min<uint64_t>(most, 300);
    EpochPosition whole_start;
    const std::vector<RowRef> whole = ReadPhase(plan, options, ~uint64_t{0}, whole_start);
    std::vector<RowRef> phases;
    EpochPosition start;
    while (phases.size() < whole.size()) {
      options.world_size =
          1 + static_cast<uint32_t>(random() % std::min<uint64_t>(options.global_batch_size, 16));
      const std::vector<RowRef> phase = ReadPhase(plan, options, 1 + random() % 20, start);
      ASSERT_FALSE(phase.empty()) << "trial " << trial;
      phases.insert(phases.end(), phase.begin(), phase.end());
    }
    ASSERT_EQ(phases, whole) << "trial " << trial;
    ASSERT_EQ(start, whole_start) << "trial " << trial;
  }
}

TEST(PlanPropertyTest, EveryRecordOfTheSplitAppearsOnceAnEpoch) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 4000; ++trial) {
    const Plan plan = RandomPlan(random);
    std::vector<RowRef> records = Records(plan, random() % 3);
    std::sort(records.begin(), records.end());
    ASSERT_EQ(records, FileOrder(plan)) << "trial " << trial;
  }
}

TEST(PlanPropertyTest, WalkFollowsTheDefinitionOfStripsAndRounds) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 4000; ++trial) {
    const Plan plan = RandomPlan(random);
    const EpochOrder order = plan.Epoch(random());
    ASSERT_EQ(Rows(Runs(order, random)), OrderByDefinition(plan, order)) << "trial " << trial;
  }
}

TEST(PlanPropertyTest, AWalkFromAnyPositionContinuesTheSameOrder) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 4000; ++trial) {
    const Plan plan = RandomPlan(random);
    const EpochOrder order = plan.Epoch(1);
    const std::vector<Location> all = Rows(order);
    const uint64_t position = random() % (order.rows() + 1);
    const std::vector<Location> rest(all.begin() + static_cast<ptrdiff_t>(position), all.end());
    ASSERT_EQ(Rows(Runs(order, random, position)), rest) << "trial " << trial;
  }
}

TEST(PlanPropertyTest, LocateAgreesWithTheWalkAndPositionUndoesIt) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 3000; ++trial) {
    const Plan plan = RandomPlan(random);
    const EpochOrder order = plan.Epoch(2);
    for (const WindowRun& run : Runs(order, random)) {
      const Location first = {run.window, run.first_row};
      ASSERT_EQ(order.Locate(run.position), first) << "trial " << trial;
      ASSERT_EQ(order.Position(first), run.position) << "trial " << trial;
    }
  }
}

TEST(PlanPropertyTest, SkippingEqualsWalkingPast) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 3000; ++trial) {
    const Plan plan = RandomPlan(random);
    const EpochOrder order = plan.Epoch(3);
    EpochOrder::Walker walker(order);
    WindowRun run;
    while (walker.position() < order.rows()) {
      const uint64_t left = order.rows() - walker.position();
      walker.Skip(random() % 4 == 0 ? random() % left : random() % std::min<uint64_t>(left, 9));
      const uint64_t position = walker.position();
      ASSERT_TRUE(walker.Next(1 + random() % 9, run));
      ASSERT_EQ(run.position, position);
      ASSERT_EQ((Location{run.window, run.first_row}), order.Locate(position));
    }
    EXPECT_FALSE(walker.Next(1, run));
  }
}

TEST(PlanPropertyTest, WindowsKeepTheirLimits) {
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 3000; ++trial) {
    const ChunkTable table = RandomTable(random);
    const Plan plan = MakePlan(table, RandomOptions(random));
    const EpochOrder order = plan.Epoch(0);
    for (const WindowRun& run : Runs(order, random)) {
      uint64_t rows = 0, bytes = 0;
      for (uint32_t chunk : order.WindowChunks(run.window)) {
        rows += table.rows[chunk];
        bytes += table.bytes[chunk];
      }
      const size_t chunks = order.WindowChunks(run.window).size();
      ASSERT_EQ(order.WindowRows(run.window), rows);
      ASSERT_LE(chunks, plan.options().window_chunks);
      ASSERT_TRUE(chunks == 1 || bytes <= plan.options().max_window_bytes);
    }
  }
}

TEST(PlanPropertyTest, UnshuffledIsFileOrderInEveryEpoch) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 1000; ++trial) {
    ChunkTable table = RandomTable(random);
    PlanOptions options = RandomOptions(random);
    options.shuffle = false;
    const Plan plan = MakePlan(std::move(table), options);
    ASSERT_EQ(Records(plan, random()), FileOrder(plan)) << "trial " << trial;
  }
}

}  // namespace
}  // namespace penstock
