// The CUDA backend on a GPU, compared with the same references as on the emulated device. Skipped
// without a GPU.
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/device/forwarding_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/backend/testing/images.h"
#include "trainer/backend/testing/reference_model.h"
#include "trainer/comm/gather.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/cuda/cuda_device.h"
#include "trainer/cuda/gpu_ranks.h"
#include "trainer/profile/device_gaps.h"

namespace penstock {
namespace {

ModelConfig SmallWithDropout() {
  ModelConfig config{"small", 2, 32, 2, 48};
  config.dropout = 0.1;
  return config;
}

const ModelConfig kSmall = SmallWithDropout();
const ModelConfig kBiased{"small", 2, 32, 2, 48, /*attention_bias=*/true};
constexpr size_t kRows = 32;
constexpr size_t kSteps = 6;
constexpr uint64_t kKey = 0x9876543210fedcba;

UpdateOptions UpdateOf(size_t step) {
  return {.clip_norm = 0.1, .global_rows = kRows, .random_key = kKey / (step + 1)};
}

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto gpus = CountGpus(); !gpus.ok()) GTEST_SKIP() << gpus.status().message();
  }
  static std::unique_ptr<DeviceBackend> MakeBackend(bool bf16, bool graphs = true,
                                                    std::unique_ptr<Device> device = nullptr,
                                                    const ModelConfig& model = kSmall) {
    const DeviceBackendOptions options{
        .shards = 4,
        .global_rows = kRows,
        .format = model.is_image() ? ImagesOf(model.side) : kPackedBoards,
        .bf16 = bf16,
        .graphs = graphs};
    if (device == nullptr) device = OpenGpu(0).value();
    auto backend = DeviceBackend::Create(model, options, std::move(device)).value();
    EXPECT_OK(backend->SetState(InitialState(backend->table())));
    return backend;
  }
  // The error of the whole gradient, relative to its norm.
  static double GradientError(bool bf16, const ModelConfig& config = kSmall) {
    const RandomBoards boards(kRows);
    return GradientError(bf16, config, boards.rows());
  }
  static double GradientError(bool bf16, const ModelConfig& config, const BatchRows& rows) {
    ReferenceModel model(config, rows, kKey);
    const double loss = model.Run();
    auto backend = MakeBackend(bf16, true, nullptr, config);
    const absl::StatusOr<StepResult> result = backend->Step(rows, {.random_key = kKey});
    EXPECT_OK(result.status());
    EXPECT_NEAR(result->loss, loss, (bf16 ? 0.02 : 1e-5) * loss);
    return model.ErrorOf(backend->ReadGradients().value());
  }
  static TrainState Train(DeviceBackend& backend) {
    for (size_t step = 0; step < kSteps; ++step) {
      EXPECT_OK(backend.Step(RandomBoards(kRows, step).rows(), UpdateOf(step)).status());
    }
    return **backend.State();
  }
  static TrainState Train(bool bf16, bool graphs, const ModelConfig& model = kSmall) {
    return Train(*MakeBackend(bf16, graphs, nullptr, model));
  }

  // Traces steps 3 to 5 of a training on `device`. Its bits must equal those of an untraced
  // training.
  static DeviceRecords TraceSteps(std::unique_ptr<Device> device) {
    auto backend = MakeBackend(/*bf16=*/true, /*graphs=*/true, std::move(device));
    DeviceProfile profile(3, 6);
    const Tracer::Clock::time_point before = Tracer::Clock::now();
    backend->set_device_profile(&profile);
    const TrainState state = Train(*backend);
    backend->set_device_profile(nullptr);
    const Tracer::Clock::time_point after = Tracer::Clock::now();
    EXPECT_EQ(state.parameters, Train(/*bf16=*/true, /*graphs=*/true).parameters);
    EXPECT_TRUE(profile.records().has_value()) << profile.problem();
    if (!profile.records().has_value()) return {};
    ExpectSteps(MeasureGaps(*profile.records(), profile.launches()), before, after);
    std::cout << DeviceTimesLine(MeasureGaps(*profile.records(), profile.launches())) << "\n"
              << profile.problem() << "\n";
    return *profile.records();
  }
  static void ExpectSteps(const DeviceTimes& times, Tracer::Clock::time_point before,
                          Tracer::Clock::time_point after) {
    ASSERT_EQ(times.steps.size(), 3u);
    for (const DeviceStep& step : times.steps) EXPECT_GT(step.busy.count(), 0);
    EXPECT_LE(times.sum.busy + times.sum.inside + times.sum.before, after - before);
  }
};

// Tolerances are those of device_backend_test.cc.
TEST_F(GpuTest, Fp32StepMatchesTheDoubleReference) { EXPECT_LT(GradientError(false), 2e-5); }
TEST_F(GpuTest, Bf16StepIsNearTheReference) { EXPECT_LT(GradientError(true), 0.02); }

TEST_F(GpuTest, ABiasOfAttentionHasItsGradientToo) {
  EXPECT_LT(GradientError(false, kBiased), 2e-5);
  EXPECT_LT(GradientError(true, kBiased), 0.02);
}

// The last batch is short: missing rows of a shard must not shift the places of dropout.
TEST_F(GpuTest, ImagesMatchTheReferenceToo) {
  for (const ModelConfig& model : {TinyVit(), TinyPooledVit()}) {
    for (const size_t rows : {kRows, kRows - 3}) {
      const RandomImages images(model, rows);
      EXPECT_LT(GradientError(false, model, images.rows()), 2e-5) << model.name << " " << rows;
      EXPECT_LT(GradientError(true, model, images.rows()), 0.02) << model.name << " " << rows;
    }
  }
}

TEST_F(GpuTest, GraphsAndRunsDoNotChangeTheBits) {
  for (const bool bf16 : {false, true}) {
    for (const ModelConfig& model : {kSmall, kBiased}) {
      const TrainState state = Train(bf16, /*graphs=*/true, model);
      EXPECT_EQ(Train(bf16, /*graphs=*/true, model).parameters, state.parameters);
      EXPECT_EQ(Train(bf16, /*graphs=*/false, model).parameters, state.parameters);
    }
  }
}

// One of several ranks that share the GPU: exchanges go through the host.
void TrainShared(RankGroup& group, bool bf16, TrainState& state) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Device> device, OpenGpu(0));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Communicator> gradient_ranks,
                       ConnectGpus(group, *device, {.allow_shared_gpu = true}));
  EXPECT_FALSE(gradient_ranks->CanQueue());
  Communicator& ranks = group.communicator();
  const DeviceBackendOptions options{
      .shards = 4, .global_rows = kRows, .bf16 = bf16, .ranks = &ranks};
  ASSERT_OK_AND_ASSIGN(auto backend, DeviceBackend::Create(kSmall, options, std::move(device),
                                                           std::move(gradient_ranks)));
  ASSERT_OK(backend->SetState(InitialState(backend->table())));
  const size_t first = FirstRowOf(ranks.rank(), ranks.size(), kRows);
  const size_t last = FirstRowOf(ranks.rank() + 1, ranks.size(), kRows);
  for (size_t step = 0; step < kSteps; ++step) {
    const RandomBoards boards(kRows, step);
    ASSERT_OK(backend->Step(boards.rows().Slice(first, last - first), UpdateOf(step)).status());
  }
  state = **backend->State();
}

TEST_F(GpuTest, TwoRanksThatShareItHaveTheBitsOfOne) {
  for (const bool bf16 : {false, true}) {
    std::vector<TrainState> states(2);
    RunRanks(2, [&](RankGroup& group) { TrainShared(group, bf16, states[group.info().rank]); });
    const TrainState alone = Train(bf16, /*graphs=*/true);
    for (const TrainState& state : states) {
      EXPECT_EQ(state.parameters, alone.parameters);
      EXPECT_EQ(state.v, alone.v);
    }
  }
}

// A GPU whose CUPTI refuses to record.
class WithoutCupti final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  std::vector<std::unique_ptr<DeviceRecorder>> MakeRecorders(std::string& problem) override {
    auto recorders = ForwardingDevice::MakeRecorders(problem);
    recorders.erase(recorders.begin(), recorders.end() - 1);
    return recorders;
  }
};

TEST_F(GpuTest, CuptiRecordsTheKernelsOfTracedSteps) {
  const DeviceRecords records = TraceSteps(OpenGpu(0, /*traced=*/true).value());
  if (!records.every_kernel) GTEST_SKIP() << "CUPTI cannot trace on this machine";
  EXPECT_EQ(records.dropped + records.untimed, 0u);
  EXPECT_THAT(records.streams, testing::IsSupersetOf({"compute", "copies"}));
  EXPECT_THAT(records.work, testing::Contains(testing::Field(&DeviceWork::in_graph, true)));
}

TEST_F(GpuTest, EventsTimeTheLaunchesOfTracedSteps) {
  const DeviceRecords records =
      TraceSteps(std::make_unique<WithoutCupti>(OpenGpu(0, /*traced=*/true).value()));
  EXPECT_EQ(records.source, "CUDA events");
  EXPECT_EQ(records.work.size(), 6u);  // A batch and a step for each of three steps.
}

}  // namespace
}  // namespace penstock
