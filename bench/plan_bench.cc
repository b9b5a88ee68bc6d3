// Measures the plan on 900,000 chunks of 1,220 records, about 10^9 in all: a seek's pass over the
// chunk table, walking, and locating. BM_ReadTable is the floor: it reads the table once, in random
// order.
#include <benchmark/benchmark.h>

#include <numeric>

#include "base/permutation.h"
#include "client/plan/plan.h"

namespace penstock {
namespace {

constexpr uint32_t kChunks = 900000;

ChunkTable Table() {
  ChunkTable table;
  for (uint32_t i = 0; i < kChunks; ++i) {
    table.rows.push_back(1200 + i % 41);
    table.bytes.push_back(256 << 10);
  }
  return table;
}

const Plan& BigPlan() {
  static const Plan& plan = *new Plan(*Plan::Create(Table(), {}));
  return plan;
}

void BM_ReadTable(benchmark::State& state) {
  const ChunkTable table = Table();
  std::vector<uint32_t> order(kChunks);
  std::iota(order.begin(), order.end(), 0u);
  Shuffle(order, 1);
  for (auto _ : state) {
    uint64_t sum = 0;
    for (uint32_t chunk : order) sum += table.rows[chunk] + table.bytes[chunk];
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(BM_ReadTable)->Unit(benchmark::kMillisecond);

void BM_CreatePlan(benchmark::State& state) {
  const ChunkTable table = Table();
  for (auto _ : state) benchmark::DoNotOptimize(Plan::Create(table, {})->fingerprint());
}
BENCHMARK(BM_CreatePlan)->Unit(benchmark::kMillisecond);

void BM_Epoch(benchmark::State& state) {
  uint64_t epoch = 0;
  for (auto _ : state) benchmark::DoNotOptimize(BigPlan().Epoch(epoch++).rows());
}
BENCHMARK(BM_Epoch)->Unit(benchmark::kMillisecond);

void BM_Walk(benchmark::State& state) {
  const EpochOrder order = BigPlan().Epoch(0);
  EpochOrder::Walker walker(order);
  WindowRun run;
  uint64_t rows = 0;
  for (auto _ : state) {
    if (!walker.Next(512, run)) walker = EpochOrder::Walker(order);
    rows += run.rows;
  }
  state.counters["runs"] = benchmark::Counter(state.iterations(), benchmark::Counter::kIsRate);
  state.counters["rows"] = benchmark::Counter(rows, benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Walk);

void BM_Locate(benchmark::State& state) {
  const EpochOrder order = BigPlan().Epoch(0);
  uint64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(order.Locate(position).row);
    position = (position + 123456789) % order.rows();
  }
}
BENCHMARK(BM_Locate);

void BM_Seek(benchmark::State& state) {
  const EpochOrder order = BigPlan().Epoch(0);
  uint64_t position = 0;
  for (auto _ : state) {
    EpochOrder::Walker walker(order, position);
    benchmark::DoNotOptimize(walker.position());
    position = (position + 123456789) % order.rows();
  }
}
BENCHMARK(BM_Seek);

}  // namespace
}  // namespace penstock

BENCHMARK_MAIN();
