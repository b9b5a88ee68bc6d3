#include "client/plan/plan.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "client/plan/window_order.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// A chunk table of random shape: uniform or not, with empty chunks or without, often tiny.
ChunkTable RandomTable(std::mt19937_64& random) {
  auto below = [&](uint64_t n) { return random() % n; };
  ChunkTable table;
  table.content_fingerprint = random();
  const size_t chunks = 1 + below(below(2) ? 8 : 150);
  const uint64_t most = 1 + below(below(2) ? 4 : 60);
  const uint64_t empty_percent = below(3) ? 0 : below(100);
  for (size_t i = 0; i < chunks; ++i) {
    table.rows.push_back(below(100) < empty_percent ? 0 : static_cast<uint32_t>(below(most + 1)));
    table.bytes.push_back(static_cast<uint32_t>(1 + below(1000)));
  }
  if (std::all_of(table.rows.begin(), table.rows.end(), [](uint32_t n) { return n == 0; })) {
    table.rows[below(chunks)] = 1;
  }
  return table;
}

PlanOptions RandomOptions(std::mt19937_64& random) {
  auto below = [&](uint64_t n) { return random() % n; };
  PlanOptions options;
  options.seed = random();
  options.shuffle = below(8) > 0;
  options.lanes = static_cast<uint32_t>(1 + below(below(2) ? 4 : 80));
  options.window_chunks = static_cast<uint32_t>(1 + below(20));
  options.strip_rows = static_cast<uint32_t>(below(3) ? below(20) : 0);
  if (below(3) == 0) options.max_window_bytes = 1 + below(5000);
  return options;
}

Plan MakePlan(ChunkTable table, const PlanOptions& options) {
  absl::StatusOr<Plan> plan = Plan::Create(std::move(table), options);
  EXPECT_OK(plan);
  return *std::move(plan);
}

Plan RandomPlan(std::mt19937_64& random) {
  ChunkTable table = RandomTable(random);
  return MakePlan(std::move(table), RandomOptions(random));
}

Plan UniformPlan(size_t chunks, uint32_t rows, PlanOptions options = {}) {
  ChunkTable table;
  table.rows.assign(chunks, rows);
  table.bytes.assign(chunks, 1000);
  return MakePlan(std::move(table), options);
}

// Positions as runs of at most a random length.
std::vector<WindowRun> Runs(const EpochOrder& order, std::mt19937_64& random,
                            uint64_t position = 0) {
  EpochOrder::Walker walker(order, position);
  std::vector<WindowRun> runs;
  for (WindowRun run; walker.Next(1 + random() % 40, run);) runs.push_back(run);
  return runs;
}

std::vector<Location> Rows(const std::vector<WindowRun>& runs) {
  std::vector<Location> rows;
  for (const WindowRun& run : runs) {
    for (uint32_t i = 0; i < run.rows; ++i) rows.push_back({run.window, run.first_row + i});
  }
  return rows;
}

std::vector<Location> Rows(const EpochOrder& order) {
  std::mt19937_64 random(0);
  return Rows(Runs(order, random));
}

// The records of an epoch in the plan's order.
std::vector<RowRef> Records(const Plan& plan, uint64_t epoch) {
  const EpochOrder order = plan.Epoch(epoch);
  std::map<WindowId, std::vector<RowRef>> windows;
  std::vector<RowRef> records;
  for (const Location& at : Rows(order)) {
    auto [window, is_new] = windows.try_emplace(at.window);
    if (is_new) window->second = WindowOrder(plan, order, at.window);
    records.push_back(window->second[at.row]);
  }
  return records;
}

std::vector<RowRef> FileOrder(const Plan& plan) {
  std::vector<RowRef> records;
  for (uint32_t chunk = 0; chunk < plan.num_chunks(); ++chunk) {
    for (uint32_t row = 0; row < plan.chunk_rows(chunk); ++row) records.push_back({chunk, row});
  }
  return records;
}

// Definitions 2 and 4 of docs/design.md, taken at their word: cut every lane into strips, then deal
// them out round by round.
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

TEST(PlanTest, UnshuffledRunsAreWholeChunks) {
  PlanOptions options;
  options.shuffle = false;
  const Plan plan = UniformPlan(/*chunks=*/5, /*rows=*/100, options);
  const EpochOrder order = plan.Epoch(9);
  EpochOrder::Walker walker(order);
  for (uint32_t chunk = 0; chunk < 5; ++chunk) {
    WindowRun run;
    ASSERT_TRUE(walker.Next(1000, run));
    EXPECT_EQ(run, (WindowRun{{9, 0, chunk}, 0, 100, chunk * uint64_t{100}}));
    EXPECT_THAT(order.WindowChunks(run.window), testing::ElementsAre(chunk));
  }
}

TEST(PlanTest, EpochsAndSeedsDiffer) {
  std::set<std::vector<RowRef>> orders;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    PlanOptions options;
    options.seed = seed;
    const Plan plan = UniformPlan(/*chunks=*/200, /*rows=*/7, options);
    for (uint64_t epoch = 0; epoch < 4; ++epoch) orders.insert(Records(plan, epoch));
  }
  EXPECT_EQ(orders.size(), 16u);
}

TEST(PlanTest, EveryWindowHasAKeyOfItsOwn) {
  const Plan plan = UniformPlan(/*chunks=*/2000, /*rows=*/3);
  std::set<uint64_t> keys;
  size_t windows = 0;
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    const EpochOrder order = plan.Epoch(epoch);
    for (uint32_t lane = 0; lane < order.num_lanes(); ++lane) {
      for (uint32_t i = 0; i < order.num_windows(lane); ++i, ++windows) {
        keys.insert(order.WindowKey({epoch, lane, i}));
      }
    }
  }
  EXPECT_EQ(keys.size(), windows);
}

TEST(PlanTest, LanesRollOverOneAfterTheOther) {
  PlanOptions options;
  options.lanes = 4;
  options.window_chunks = 8;
  const Plan plan = UniformPlan(/*chunks=*/4 * 20, /*rows=*/10, options);
  const EpochOrder order = plan.Epoch(0);
  std::vector<std::vector<size_t>> chunks(4);
  for (uint32_t lane = 0; lane < 4; ++lane) {
    for (uint32_t i = 0; i < order.num_windows(lane); ++i) {
      chunks[lane].push_back(order.WindowChunks({0, lane, i}).size());
    }
  }
  const std::vector<std::vector<size_t>> staggered = {
      {2, 8, 8, 2}, {4, 8, 8}, {6, 8, 6}, {8, 8, 4}};
  EXPECT_EQ(chunks, staggered);
}

TEST(PlanTest, ChunksWithoutRowsCountButAreNotListed) {
  ChunkTable table;
  for (uint32_t i = 0; i < 12; ++i) table.rows.push_back(i % 4 == 3 ? 5 : 0);
  table.bytes.assign(12, 1000);
  PlanOptions options;
  options.lanes = 1;
  options.window_chunks = 2;
  const Plan plan = MakePlan(table, options);
  const EpochOrder order = plan.Epoch(0);
  size_t listed = 0;
  for (uint32_t i = 0; i < order.num_windows(0); ++i) {
    EXPECT_GT(order.WindowRows({0, 0, i}), 0u);
    listed += order.WindowChunks({0, 0, i}).size();
  }
  EXPECT_EQ(listed, 3u);
  EXPECT_LE(order.num_windows(0), 3u);
}

TEST(PlanTest, OneRecordIsAPlan) {
  const Plan plan = UniformPlan(/*chunks=*/1, /*rows=*/1);
  EXPECT_EQ(plan.lanes(), 1u);
  EXPECT_EQ(plan.strip_rows(), 1u);
  EXPECT_THAT(Records(plan, 0), testing::ElementsAre(RowRef{0, 0}));
}

TEST(PlanTest, DefaultStripIsASixteenthOfAWindowUpToSixteen) {
  EXPECT_EQ(UniformPlan(/*chunks=*/6400, /*rows=*/1240).strip_rows(), 16u);
  EXPECT_EQ(UniformPlan(/*chunks=*/6400, /*rows=*/9).strip_rows(), 9u);
  EXPECT_EQ(UniformPlan(/*chunks=*/64, /*rows=*/32).strip_rows(), 2u);  // Windows of one chunk.
  PlanOptions small_windows;
  small_windows.max_window_bytes = 2000;  // Two chunks.
  EXPECT_EQ(UniformPlan(/*chunks=*/6400, /*rows=*/40, small_windows).strip_rows(), 5u);
}

TEST(PlanTest, WalkerAndLocateAgreeOnTwoBillionRecords) {
  const Plan plan = UniformPlan(/*chunks=*/1612904, /*rows=*/1240);
  const EpochOrder order = plan.Epoch(0);
  ASSERT_EQ(order.rows(), 2000000960u);
  for (uint64_t position : {uint64_t{0}, uint64_t{999999999}, uint64_t{2000000000}}) {
    EpochOrder::Walker walker(order, position);
    WindowRun run;
    for (int i = 0; i < 500 && walker.Next(64, run); ++i) {
      ASSERT_EQ(order.Locate(run.position), (Location{run.window, run.first_row}));
      ASSERT_EQ(order.Position({run.window, run.first_row}), run.position);
    }
  }
}

TEST(PlanTest, CountsBeyond32BitsInOneLane) {
  PlanOptions options;
  options.lanes = 1;
  options.window_chunks = 4;
  const Plan plan = UniformPlan(/*chunks=*/10, /*rows=*/3000000000u, options);
  const EpochOrder order = plan.Epoch(0);
  EXPECT_EQ(order.num_windows(0), 10u);  // Two chunks would pass 2^32 - 1 rows.
  const Location last = {{0, 0, 9}, 2999999999u};
  EXPECT_EQ(order.Locate(29999999999u), last);
  EXPECT_EQ(order.Position(last), 29999999999u);
}

TEST(PlanTest, FingerprintFollowsWhatDecidesTheOrder) {
  const ChunkTable table = {{10, 20, 30}, {100, 200, 300}, 77};
  std::set<uint64_t> fingerprints;
  auto add = [&](auto change) {
    ChunkTable changed_table = table;
    PlanOptions options;
    options.lanes = 2;
    change(changed_table, options);
    fingerprints.insert(MakePlan(changed_table, options).fingerprint());
  };
  add([](ChunkTable&, PlanOptions&) {});
  add([](ChunkTable& t, PlanOptions&) { t.content_fingerprint = 78; });
  add([](ChunkTable&, PlanOptions& o) { o.split = Split::kAll; });
  add([](ChunkTable&, PlanOptions& o) { o.seed = 1; });
  add([](ChunkTable&, PlanOptions& o) { o.shuffle = false; });
  add([](ChunkTable&, PlanOptions& o) { o.lanes = 1; });
  add([](ChunkTable&, PlanOptions& o) { o.window_chunks = 2; });
  add([](ChunkTable&, PlanOptions& o) { o.strip_rows = 9; });
  add([](ChunkTable&, PlanOptions& o) { o.max_window_bytes = 999; });
  EXPECT_EQ(fingerprints.size(), 9u);
}

// Values from an independent implementation of the definitions.
TEST(PlanTest, OrderOfVersion1StaysAsItIs) {
  PlanOptions options;
  options.seed = 42;
  options.lanes = 2;
  options.window_chunks = 2;
  options.strip_rows = 2;
  const Plan plan = MakePlan({{3, 2, 0, 4, 1}, {10, 10, 10, 10, 10}, 5}, options);
  std::string order;
  for (const RowRef& at : Records(plan, 1)) {
    order += std::to_string(at.chunk) + "." + std::to_string(at.row) + " ";
  }
  EXPECT_EQ(order, "0.0 0.1 3.2 1.0 0.2 3.0 3.3 1.1 3.1 4.0 ");
  EXPECT_EQ(plan.fingerprint(), 8994807632339103426u);
}

TEST(PlanTest, RefusesASplitWithoutRecords) {
  PlanOptions options;
  options.split = Split::kHoldout;
  EXPECT_THAT(Plan::Create({{0, 0}, {10, 10}, 1}, options),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("'holdout' has no records in 2 chunks: index with --holdout")));
  EXPECT_THAT(Plan::Create({}, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("in 0 chunks")));
}

TEST(PlanTest, RefusesOptionsThatAreZero) {
  auto create = [](auto change) {
    PlanOptions options;
    change(options);
    return Plan::Create({{1}, {10}, 1}, options);
  };
  EXPECT_THAT(create([](PlanOptions& o) { o.lanes = 0; }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lanes is 0")));
  EXPECT_THAT(create([](PlanOptions& o) { o.window_chunks = 0; }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("window_chunks is 0")));
  EXPECT_THAT(create([](PlanOptions& o) { o.max_window_bytes = 0; }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_window_bytes is 0")));
}

TEST(ChunkTableTest, TakesCountsOfTheSplitAndSizesInMemory) {
  ManifestBuilder builder;
  builder.SetHoldout({"d", 1u << 31});
  builder.AddShard({.path = "a.tfrecord.gz", .compression = Compression::kGzip});
  builder.AddChunk({.size = 100, .records = 9, .holdout = 4, .raw_size = 900});
  builder.AddChunk({.size = 50, .records = 2, .holdout = 2, .raw_size = 300});
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, builder.Build());
  const ChunkTable table = MakeChunkTable(manifest, Split::kTrain);
  EXPECT_THAT(table.rows, testing::ElementsAre(5, 0));
  EXPECT_THAT(table.bytes, testing::ElementsAre(900, 300));
  EXPECT_EQ(table.content_fingerprint, manifest.content_fingerprint());
}

}  // namespace
}  // namespace penstock
