// Compares the fused residual sum and norm of devices with the two separate operations.
#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/device/forwarding_device.h"
#include "trainer/backend/device/testing/checking_device.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/backend/testing/images.h"
#include "trainer/backend/testing/reference_model.h"

namespace penstock {
namespace {

constexpr absl::string_view kFused = "add residual and layer norm";
constexpr size_t kNormRows = 2, kNormShards = 2, kNormSteps = 2;

// Runs the sum and the norm of a kAddLayerNorm as two operations.
class ApartDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::Status Run(const DeviceOp& op, DeviceQueue queue) override {
    if (op.kind != DeviceOpKind::kAddLayerNorm) return device().Run(op, queue);
    DeviceOp add = op, norm = op;
    add.kind = DeviceOpKind::kAddResidual;
    add.operands.resize(2);
    norm.kind = DeviceOpKind::kLayerNorm;
    norm.operands.erase(norm.operands.begin());
    norm.operands[0].access = Access::kRead;
    const absl::Status added = device().Run(add, queue);
    return added.ok() ? device().Run(norm, queue) : added;
  }
};

struct NormTraining {
  // Number of runs of the operation with exactly this name.
  size_t RunsOf(absl::string_view name) const {
    const std::string begin = absl::StrCat(name, " ");
    return static_cast<size_t>(
        std::count_if(log.ops.begin(), log.ops.end(), [&](const std::string& op) {
          return op.rfind(begin, 0) == 0 && std::isdigit(op[begin.size()]) != 0;
        }));
  }

  DeviceLog log;
  std::vector<double> losses;
  TrainState state;
};

void TrainNorms(const ModelConfig& model, const BatchRows& rows, bool bf16, bool apart,
                NormTraining& run) {
  std::unique_ptr<Device> device =
      std::make_unique<CheckingDevice>(std::make_unique<EmulatedDevice>(), run.log);
  if (apart) device = std::make_unique<ApartDevice>(std::move(device));
  const DeviceBackendOptions options{
      .shards = kNormShards, .global_rows = kNormRows, .format = rows.format, .bf16 = bf16};
  ASSERT_OK_AND_ASSIGN(const auto backend,
                       DeviceBackend::Create(model, options, std::move(device)));
  ASSERT_OK(backend->SetState(InitialState(backend->table())));
  for (uint64_t step = 0; step < kNormSteps; ++step) {
    ASSERT_OK_AND_ASSIGN(const StepResult result, backend->Step(rows, {.random_key = 11 + step}));
    run.losses.push_back(result.loss);
  }
  ASSERT_OK_AND_ASSIGN(run.state, backend->ReadState());
}

class FusedNormTest : public testing::TestWithParam<bool> {
 protected:
  // `blocks` is the number of such pairs in a step.
  static void ExpectTheBitsOfBoth(const ModelConfig& model, const BatchRows& rows, size_t blocks) {
    NormTraining fused, apart;
    TrainNorms(model, rows, GetParam(), /*apart=*/false, fused);
    TrainNorms(model, rows, GetParam(), /*apart=*/true, apart);
    EXPECT_EQ(fused.RunsOf(kFused), kNormSteps * kNormShards * blocks);
    EXPECT_EQ(fused.RunsOf("add residual"), 0u);
    EXPECT_EQ(apart.RunsOf(kFused), 0u);
    EXPECT_EQ(apart.RunsOf("add residual"), kNormSteps * kNormShards * blocks);
    EXPECT_EQ(fused.losses, apart.losses);
    EXPECT_EQ(fused.state.parameters, apart.state.parameters);
    EXPECT_EQ(fused.state.m, apart.state.m);
    EXPECT_EQ(fused.state.v, apart.state.v);
    EXPECT_THAT(fused.log.problems, testing::IsEmpty());
    EXPECT_THAT(apart.log.problems, testing::IsEmpty());
  }
};

INSTANTIATE_TEST_SUITE_P(Precisions, FusedNormTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "Bf16" : "Fp32"; });

TEST_P(FusedNormTest, HasTheBitsOfBothInAModelOfImages) {
  const ModelConfig model = TinyVit();
  const RandomImages images(model, kNormRows);
  ExpectTheBitsOfBoth(model, images.rows(), model.layers);
}

TEST_P(FusedNormTest, HasTheBitsOfBothInAModelOfBoardsWithDropout) {
  const ModelConfig model = SmallModel(/*dropout=*/0.2);
  const RandomBoards boards(kNormRows);
  ExpectTheBitsOfBoth(model, boards.rows(), model.layers);
}

// The products of these blocks add the residual themselves.
TEST_P(FusedNormTest, BoardsWithoutDropoutHaveNone) {
  const RandomBoards boards(kNormRows);
  ExpectTheBitsOfBoth(SmallModel(), boards.rows(), 0);
}

}  // namespace
}  // namespace penstock
