// Measures the rate of training steps of the board models on the CPU, in positions a second.
#include <vector>

#include "benchmark/benchmark.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/cpu/gemm_bf16.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/model/initialize.h"
#include "trainer/profile/step_recorder.h"

namespace penstock {
namespace {

std::unique_ptr<CpuBackend> MakeBackend(const char* model, const CpuBackendOptions& options) {
  auto backend = CpuBackend::Create(*ModelConfig::Named(model), options).value();
  InitializeParameters(backend->table(), 1, backend->state().parameters);
  return backend;
}

void Train(benchmark::State& state, const char* model, GemmEngine gemm) {
  if (gemm == GemmEngine::kOneDnnBf16 && !CheckBf16Products().ok()) {
    return state.SkipWithError("no bfloat16 on this processor");
  }
  const RandomBoards boards(static_cast<size_t>(state.range(0)));
  CpuBackendOptions options;
  options.threads = static_cast<size_t>(state.range(1));
  options.block_rows = static_cast<size_t>(state.range(2));
  options.gemm = gemm;
  auto backend = MakeBackend(model, options);
  for (auto _ : state) {
    if (!backend->Step(boards.rows(), {}).ok()) state.SkipWithError("the step failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void Predict(benchmark::State& state, const char* model) {
  const RandomBoards boards(static_cast<size_t>(state.range(0)));
  auto backend = MakeBackend(model, {.threads = static_cast<size_t>(state.range(1))});
  std::vector<float> predictions(boards.scores.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(backend->Predict(boards.rows(), predictions, 0).ok());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Measures the time that the recorder adds to a step. A step of the training loop enters five
// phases.
void RecordStep(benchmark::State& state) {
  StepRecorder recorder;
  recorder.Start(1);
  uint64_t step = 0;
  for (auto _ : state) {
    for (Phase phase :
         {Phase::kInput, Phase::kOther, Phase::kCompute, Phase::kOther, Phase::kOutput}) {
      recorder.Enter(phase);
    }
    recorder.EndStep(++step);
  }
}
BENCHMARK(RecordStep);

// The arguments are the batch, the threads, and the rows of a block (0: the default).
BENCHMARK_CAPTURE(Train, tiny, "tiny", GemmEngine::kOneDnn)
    ->ArgNames({"batch", "threads", "block"})
    ->ArgsProduct({{256}, {1, 2}, {0, 1, 2, 4, 8, 16}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Train, tiny_openblas, "tiny", GemmEngine::kOpenBlas)
    ->ArgNames({"batch", "threads", "block"})
    ->Args({256, 2, 0})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Train, tiny_bf16, "tiny", GemmEngine::kOneDnnBf16)
    ->ArgNames({"batch", "threads", "block"})
    ->ArgsProduct({{256}, {2}, {0, 2, 8, 16}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Train, default, "default", GemmEngine::kOneDnn)
    ->ArgNames({"batch", "threads", "block"})
    ->ArgsProduct({{64}, {2}, {0, 2, 4}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Train, large, "large", GemmEngine::kOneDnn)
    ->ArgNames({"batch", "threads", "block"})
    ->ArgsProduct({{32}, {2}, {0, 2, 4}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Predict, tiny, "tiny")
    ->ArgNames({"batch", "threads"})
    ->Args({256, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock

BENCHMARK_MAIN();
