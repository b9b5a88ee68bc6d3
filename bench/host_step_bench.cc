// Measures the host's work for a training step on a GPU, with a device that does nothing. So the
// time of the driver's own calls is not included. Batches are packed and ready in page-locked
// memory. If a step follows at once, its threads are awake. If it follows after `pause`
// microseconds, it must wake them, as on a device that computes for this long; the pause is not
// counted.
//
//   HostStep     Stage(), Begin() and Finish() of the backend, with graphs
//   HandOver     part of HostStep: the hand-over to the launch thread and back
//   HostCopies   part of HostStep: a copy of the bytes that the host copies or fills; the floor
//   ReadTargets  not part of HostStep: reading a batch's targets from its records
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

#include "bench/idle_device.h"
#include "benchmark/benchmark.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/device/launch_thread.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/input/board_reader.h"
#include "trainer/profile/step_recorder.h"

namespace penstock {
namespace {

// This is enough for both groups of slots. Each runs its list once, and captures it the second
// time.
constexpr int kWarmUpSteps = 8;

// Times `work` alone, without the pause.
void Measure(benchmark::State& state, std::chrono::microseconds pause,
             absl::FunctionRef<absl::Status()> work) {
  using Clock = std::chrono::steady_clock;
  absl::Status status;
  for (auto _ : state) {
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
    const Clock::time_point begin = Clock::now();
    status.Update(work());
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  if (!status.ok()) state.SkipWithError(status.ToString().c_str());
}

absl::Status Step(Backend& backend, const BatchRows& rows) {
  absl::Status staged = backend.Stage(rows, {}, /*last=*/true);
  if (staged.ok()) staged = backend.Begin();
  return staged.ok() ? backend.Finish().status() : staged;
}

void HostStep(benchmark::State& state, const char* model) {
  const RandomBoards boards(static_cast<size_t>(state.range(0)));
  auto backend =
      DeviceBackend::Create(*ModelConfig::Named(model), {.global_rows = boards.scores.size()},
                            std::make_unique<IdleDevice>())
          .value();
  StepRecorder recorder;
  recorder.Start(1);
  backend->set_recorder(&recorder);
  BatchRows rows = boards.rows();
  uint8_t* pinned = backend->slot_allocator()->Allocate(boards.records.size()).value();
  std::copy(boards.records.begin(), boards.records.end(), pinned);
  rows.input = pinned;
  // An error shows again in Measure().
  for (int i = 0; i < kWarmUpSteps; ++i) Step(*backend, rows).IgnoreError();
  Measure(state, std::chrono::microseconds(state.range(1)), [&] { return Step(*backend, rows); });
  backend->slot_allocator()->Free(pinned, boards.records.size());
}

void HandOver(benchmark::State& state) {
  LaunchThread launches;
  Measure(state, std::chrono::microseconds(state.range(0)),
          [&] { return launches.Run([] { return absl::OkStatus(); }); });
}

// Copies four arrays: targets and weights to the device's slot; predictions and targets for the
// loss.
void HostCopies(benchmark::State& state) {
  const std::vector<float> from(static_cast<size_t>(state.range(0)), 1);
  std::vector<std::vector<float>> to(4, from);
  for (auto _ : state) {
    for (std::vector<float>& array : to) {
      std::memcpy(array.data(), from.data(), from.size() * sizeof(float));
      benchmark::DoNotOptimize(array.data());
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(
      static_cast<int64_t>(state.iterations() * 4 * from.size() * sizeof(float)));
}

void ReadTargets(benchmark::State& state) {
  const RandomBoards boards(static_cast<size_t>(state.range(0)));
  std::vector<int64_t> scores;
  for (float score : boards.scores) scores.push_back(static_cast<int64_t>(1000 * score));
  const auto* stored = reinterpret_cast<const uint8_t*>(scores.data());
  InputBatch batch;
  batch.rows = scores.size();
  batch.tensors = {{"d", Dtype::kU8, {}, 194, boards.records},
                   {"s", Dtype::kI64, {}, 8, {stored, scores.size() * sizeof(int64_t)}}};
  BoardReader reader;
  for (auto _ : state) benchmark::DoNotOptimize(reader.Read(batch).ok());
}

void Batches(benchmark::internal::Benchmark* bench) {
  bench->ArgName("batch")->RangeMultiplier(2)->Range(512, 4096);
  bench->UseRealTime()->Unit(benchmark::kMicrosecond);
}
void Steps(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"batch", "pause"})->ArgsProduct({{512, 1024, 2048, 4096}, {0, 1000}});
  bench->UseManualTime()->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(HostStep, tiny, "tiny")->Apply(Steps);
BENCHMARK_CAPTURE(HostStep, default, "default")->Apply(Steps);
BENCHMARK_CAPTURE(HostStep, large, "large")->Apply(Steps);
BENCHMARK(HandOver)->ArgName("pause")->Arg(0)->Arg(1000)->UseManualTime()->Unit(
    benchmark::kMicrosecond);
BENCHMARK(HostCopies)->Apply(Batches);
BENCHMARK(ReadTargets)->Apply(Batches);

}  // namespace
}  // namespace penstock

BENCHMARK_MAIN();
