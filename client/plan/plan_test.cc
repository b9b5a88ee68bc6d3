#include "client/plan/plan.h"

#include <set>
#include <string>

#include "client/plan/testing/plans.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// Computed in Python from the definitions. If these values change, every stored cursor is invalid:
// raise the plan's algorithm version.
TEST(PlanTest, OrderIsPartOfTheFormat) {
  PlanOptions options;
  options.seed = 7;
  options.lanes = options.window_chunks = 2;
  options.strip_rows = 3;
  const Plan plan = UniformPlan(/*chunks=*/7, /*rows=*/4, options);
  const EpochOrder order = plan.Epoch(1);
  EXPECT_EQ(order.augmentation_key(), 0x250d01b062b21323u);
  EXPECT_EQ(AugmentationKeyOf(7, 1), order.augmentation_key());
  EXPECT_THAT(order.WindowChunks({1, 0, 1}), testing::ElementsAre(2, 3));
  EXPECT_THAT(order.WindowChunks({1, 1, 0}), testing::ElementsAre(5, 1));
  EXPECT_EQ(order.WindowKey({1, 0, 1}), 0x2cb426f6ead8b989u);
  EXPECT_EQ(order.WindowKey({1, 1, 0}), 0x0035d12b137bff22u);
  std::vector<RowRef> first = Records(plan, 1);
  first.resize(14);
  EXPECT_THAT(first, testing::ElementsAreArray(std::vector<RowRef>{{4, 1},
                                                                   {4, 0},
                                                                   {4, 3},
                                                                   {5, 3},
                                                                   {1, 2},
                                                                   {1, 3},
                                                                   {4, 2},
                                                                   {3, 2},
                                                                   {3, 3},
                                                                   {1, 0},
                                                                   {1, 1},
                                                                   {5, 0},
                                                                   {3, 0},
                                                                   {2, 3}}));
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

TEST(PlanTest, SparesAreTheChunksThatFollowAWindow) {
  PlanOptions options;
  options.shuffle = false;
  const EpochOrder order = UniformPlan(/*chunks=*/4, /*rows=*/10, options).Epoch(0);
  std::vector<uint32_t> spares;
  for (uint32_t n = 0; order.SpareChunk({0, 0, 2}, n); ++n) {
    spares.push_back(*order.SpareChunk({0, 0, 2}, n));
  }
  EXPECT_THAT(spares, testing::ElementsAre(3, 0, 1));
}

TEST(PlanTest, SparesAreInTheEpochsOrderOfChunks) {
  PlanOptions options;
  options.lanes = 3;
  options.window_chunks = 4;
  const Plan plan = UniformPlan(/*chunks=*/50, /*rows=*/10, options);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    const EpochOrder order = plan.Epoch(epoch);
    const WindowId last{epoch, 2, order.num_windows(2) - 1};
    EXPECT_EQ(order.SpareChunk({epoch, 0, 0}, 0), order.WindowChunks({epoch, 0, 1})[0]);
    EXPECT_EQ(order.SpareChunk(last, 0), order.WindowChunks({epoch, 0, 0})[0]);
    const auto own = static_cast<uint32_t>(order.WindowChunks(last).size());
    EXPECT_TRUE(order.SpareChunk(last, 50 - own - 1));
    EXPECT_FALSE(order.SpareChunk(last, 50 - own));
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

// Returns the number of chunks in each window of the only lane.
std::vector<size_t> WindowSizes(const ChunkTable& table, uint64_t max_window_bytes) {
  PlanOptions options;
  options.lanes = 1;
  options.window_chunks = 16;
  options.max_window_bytes = max_window_bytes;
  const EpochOrder order = MakePlan(table, options).Epoch(0);
  std::vector<size_t> sizes;
  for (uint32_t i = 0; i < order.num_windows(0); ++i) {
    sizes.push_back(order.WindowChunks({0, 0, i}).size());
  }
  return sizes;
}

TEST(PlanTest, AWindowMayHaveAsManyBytesAsItsLimit) {
  const ChunkTable table = {std::vector<uint32_t>(8, 1), std::vector<uint32_t>(8, 50), 1};
  EXPECT_THAT(WindowSizes(table, 200), testing::ElementsAre(4, 4));
  EXPECT_THAT(WindowSizes(table, 199), testing::ElementsAre(3, 3, 2));
}

TEST(PlanTest, BytesOfChunksWithoutRowsDoNotCloseAWindow) {
  ChunkTable table;
  for (uint32_t i = 0; i < 16; ++i) {
    table.rows.push_back(i % 2);
    table.bytes.push_back(i % 2 == 0 ? 1000 : 50);
  }
  EXPECT_THAT(WindowSizes(table, 200), testing::ElementsAre(4, 4));
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
  EXPECT_EQ(UniformPlan(/*chunks=*/64, /*rows=*/32).strip_rows(), 2u);  // Each window is one chunk.
  PlanOptions small_windows;
  small_windows.max_window_bytes = 2000;  // Two chunks.
  EXPECT_EQ(UniformPlan(/*chunks=*/6400, /*rows=*/40, small_windows).strip_rows(), 5u);
  small_windows.max_window_bytes = 100;
  EXPECT_EQ(UniformPlan(/*chunks=*/64, /*rows=*/500, small_windows).strip_rows(), 3u);
  EXPECT_EQ(UniformPlan(/*chunks=*/64, /*rows=*/4000, small_windows).strip_rows(), 6u);
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
  EXPECT_EQ(order.num_windows(0), 10u);  // Two chunks together would pass 2^32 - 1 rows.
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

// Returns "CHUNK.ROW " for each record.
std::string OrderText(const Plan& plan, uint64_t epoch) {
  std::string order;
  for (const RowRef& at : Records(plan, epoch)) {
    order += std::to_string(at.chunk) + "." + std::to_string(at.row) + " ";
  }
  return order;
}

// The values come from an independent implementation of the definitions.
TEST(PlanTest, OrderOfVersion1StaysAsItIs) {
  PlanOptions options;
  options.seed = 42;
  options.lanes = 2;
  options.window_chunks = 2;
  options.strip_rows = 2;
  const Plan plan = MakePlan({{3, 2, 0, 4, 1}, {10, 10, 10, 10, 10}, 5}, options);
  EXPECT_EQ(OrderText(plan, 1), "0.0 0.1 3.2 1.0 0.2 3.0 3.3 1.1 3.1 4.0 ");
  EXPECT_EQ(plan.fingerprint(), 8994807632339103426u);
}

// The same implementation gave this order. The number of lanes does not divide the 4 chunks of a
// window, so the first windows have 2, 3 and 4.
TEST(PlanTest, OrderOfThreeLanesStaysAsItIs) {
  PlanOptions options;
  options.seed = 7;
  options.lanes = 3;
  options.window_chunks = 4;
  options.strip_rows = 2;
  ChunkTable table;
  for (uint32_t i = 0; i < 18; ++i) table.rows.push_back(1 + i % 2);
  table.bytes.assign(18, 10);
  EXPECT_EQ(OrderText(MakePlan(table, options), 0),
            "3.1 2.0 15.1 11.1 12.0 5.0 3.0 16.0 0.0 15.0 10.0 17.1 8.0 7.1 11.0 4.0 17.0 5.1 7.0 "
            "6.0 1.0 14.0 13.0 9.1 1.1 13.1 9.0 ");
}

TEST(PlanTest, RefusesASplitWithoutRecords) {
  PlanOptions options;
  options.split = Split::kHoldout;
  EXPECT_THAT(Plan::Create({{0, 0}, {10, 10}, 1}, options),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("'holdout' has no records in 2 chunks: index with --holdout")));
  EXPECT_THAT(Plan::Create({}, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no records are listed")));
}

TEST(PlanTest, RefusesOptionsThatAreZero) {
  auto create = [](auto change) {
    PlanOptions options;
    change(options);
    return Plan::Create({{1}, {10}, 1}, options);
  };
  EXPECT_THAT(create([](PlanOptions& o) { o.lanes = 0; }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--lanes is 0")));
  EXPECT_THAT(create([](PlanOptions& o) { o.window_chunks = 0; }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--window-chunks is 0")));
  EXPECT_THAT(create([](PlanOptions& o) { o.window_chunks = 4097; }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--window-chunks is 4097")));
  EXPECT_THAT(create([](PlanOptions& o) { o.max_window_bytes = 0; }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_window_bytes is 0")));
}

TEST(ChunkTableTest, TakesCountsOfTheSplitAndSizesInMemory) {
  ManifestBuilder builder;
  builder.SetHoldout({"d", 1u << 31});
  builder.AddShard({.path = "a.tfrecord.gz", .container = Container::kGzip});
  builder.AddChunk({.size = 100, .records = 9, .holdout = 4, .raw_size = 900});
  builder.AddChunk({.size = 50, .records = 2, .holdout = 2, .raw_size = 300});
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, builder.Build());
  const ChunkTable table = MakeChunkTable(manifest, Split::kTrain);
  EXPECT_THAT(table.rows, testing::ElementsAre(5, 0));
  EXPECT_THAT(table.bytes, testing::ElementsAre(900, 300));
  EXPECT_EQ(table.content_fingerprint, manifest.content_fingerprint());
}

TEST(AugmentationKeyTest, StaysAsItIs) {
  EXPECT_EQ(AugmentationKeyOf(3, 5), 0x5a9d2ac32efe607cu);
  const Plan plan = MakePlan({{3, 2, 0, 4, 1}, {10, 10, 10, 10, 10}, 5}, {.seed = 3});
  EXPECT_EQ(plan.Epoch(5).augmentation_key(), AugmentationKeyOf(3, 5));
}

}  // namespace
}  // namespace penstock
