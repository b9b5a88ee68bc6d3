#include "client/plan/testing/plans.h"

#include <algorithm>
#include <map>

#include "tests/status_matchers.h"

namespace penstock {

// Returns a chunk table of random shape: uniform or not, with or without empty chunks, often tiny.
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

Plan UniformPlan(size_t chunks, uint32_t rows, PlanOptions options) {
  ChunkTable table;
  table.rows.assign(chunks, rows);
  table.bytes.assign(chunks, 1000);
  return MakePlan(std::move(table), options);
}

// Returns the positions from `position` on, as runs of at most a random length.
std::vector<WindowRun> Runs(const EpochOrder& order, std::mt19937_64& random, uint64_t position) {
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

// Returns the records of an epoch in the plan's order.
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

}  // namespace penstock
