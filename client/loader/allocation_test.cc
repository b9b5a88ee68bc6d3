// Counts calls of operator new while a loader runs. It is a test binary of its own because it
// replaces the operator.
#include <cstdlib>

#include "client/loader/loader.h"
#include "client/loader/testing/chess_dataset.h"
#include "gtest/gtest.h"
#include "tests/count_allocations.h"

namespace penstock {
namespace {

uint64_t TakeBatches(Loader& loader, int batches) {
  const uint64_t before = allocations;
  Batch batch;
  for (int i = 0; i < batches; ++i) {
    // No matcher here: matchers allocate memory.
    if (!loader.Next(batch).value_or(false)) ADD_FAILURE() << "no batch " << i;
  }
  return allocations - before;
}

// A window has 4,000 rows, so most batches open none.
TEST(LoaderAllocationTest, ABatchTakesNoMemoryUnlessItOpensAWindow) {
  const ChessDataset data(
      {.shards = 2, .chunks_per_shard = 40, .records_per_chunk = 1000, .seed = 3});
  for (WireDtype dtype : {WireDtype::kI8, WireDtype::kPacked}) {
    LoaderOptions options = data.Options();
    options.plan = {.split = Split::kAll, .seed = 1, .lanes = 4, .window_chunks = 4};
    options.global_batch_size = 50;
    options.epochs = 0;
    options.dtype = dtype;
    options.look_ahead_bytes = 4 << 20;
    auto loader = Loader::Open(options).value();
    TakeBatches(*loader, 4000);  // Warm up: the memory of every window was used once.
    int quiet = 0;
    const uint64_t windows_before = loader->stats().servers[0].windows;
    uint64_t total = 0;
    constexpr int kSpans = 200;
    for (int i = 0; i < kSpans; ++i) {
      const uint64_t taken = TakeBatches(*loader, 10);
      quiet += taken == 0;
      total += taken;
    }
    const uint64_t windows = loader->stats().servers[0].windows - windows_before;
    RecordProperty("allocations", static_cast<int>(total));
    RecordProperty("windows", static_cast<int>(windows));
    // 2,000 batches are 100,000 rows. They open about 27 windows, each near two spans at most.
    EXPECT_GE(quiet, kSpans / 2) << total << " allocations, " << windows << " windows";
    // Only a window's definition and its place in the engine allocate, a bounded number of times.
    EXPECT_LE(total, windows * 150 + 200) << windows << " windows";
  }
}

}  // namespace
}  // namespace penstock
