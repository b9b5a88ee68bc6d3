// The CUDA backend on a GPU, against the same references as on the emulated device. Skipped without
// one.
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/cuda/cuda_backend.h"
#include "trainer/backend/cuda/cuda_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/backend/testing/reference_model.h"

namespace penstock {
namespace {

const BoardModelConfig kSmall{"small", 2, 32, 2, 48};
constexpr size_t kRows = 32;

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto gpus = CountGpus(); !gpus.ok()) GTEST_SKIP() << gpus.status().message();
  }
  static std::unique_ptr<CudaBackend> MakeBackend(bool bf16, bool graphs = true) {
    const CudaBackendOptions options{
        .shards = 4, .global_rows = kRows, .bf16 = bf16, .graphs = graphs};
    auto backend = CudaBackend::Create(kSmall, options, OpenGpu(0).value()).value();
    TrainState state(backend->table().arena_size());
    state.parameters = InitialParameters(backend->table());
    EXPECT_OK(backend->SetState(std::move(state)));
    return backend;
  }
  // The error of the whole gradient, relative to its norm.
  static double GradientError(bool bf16) {
    const RandomBoards boards(kRows);
    ReferenceModel model(kSmall, boards);
    const double loss = model.Run();
    auto backend = MakeBackend(bf16);
    const absl::StatusOr<StepResult> result = backend->Step(boards.rows(), {});
    EXPECT_OK(result.status());
    EXPECT_NEAR(result->loss, loss, (bf16 ? 0.02 : 1e-5) * loss);
    const std::vector<float> gradients = backend->ReadGradients().value();
    double error = 0, size = 0;
    for (size_t i = 0; i < gradients.size(); ++i) {
      error += std::pow(gradients[i] - model.gradients[i], 2);
      size += std::pow(model.gradients[i], 2);
    }
    return std::sqrt(error / size);
  }
  static TrainState Train(bool bf16, bool graphs) {
    auto backend = MakeBackend(bf16, graphs);
    for (size_t step = 0; step < 6; ++step) {
      EXPECT_OK(backend->Step(RandomBoards(kRows, step).rows(), {.clip_norm = 0.1}).status());
    }
    return **backend->State();
  }
};

// Tolerances as in cuda_backend_test.cc.
TEST_F(GpuTest, Fp32StepMatchesTheDoubleReference) { EXPECT_LT(GradientError(false), 2e-5); }
TEST_F(GpuTest, Bf16StepIsNearTheReference) { EXPECT_LT(GradientError(true), 0.02); }

TEST_F(GpuTest, GraphsAndRunsDoNotChangeTheBits) {
  for (const bool bf16 : {false, true}) {
    const TrainState state = Train(bf16, /*graphs=*/true);
    EXPECT_EQ(Train(bf16, /*graphs=*/true).parameters, state.parameters);
    EXPECT_EQ(Train(bf16, /*graphs=*/false).parameters, state.parameters);
  }
}

}  // namespace
}  // namespace penstock
