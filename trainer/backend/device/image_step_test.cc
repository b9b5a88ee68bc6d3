// Image models on a device: patches, wide attention, dropout and cross-entropy.
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/device/testing/checking_device.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/testing/images.h"
#include "trainer/backend/testing/reference_model.h"

namespace penstock {
namespace {

constexpr size_t kImages = 4;
constexpr uint64_t kImageKey = 0x9876543210fedcba;

// `log` must outlive the backend.
std::unique_ptr<DeviceBackend> MakeImageBackend(const ModelConfig& model, bool bf16,
                                                DeviceLog& log) {
  auto device = std::make_unique<CheckingDevice>(
      std::make_unique<EmulatedDevice>(EmulatedDeviceOptions{}), log);
  const DeviceBackendOptions options{
      .shards = 2, .global_rows = kImages, .format = ImagesOf(model.side), .bf16 = bf16};
  auto backend = DeviceBackend::Create(model, options, std::move(device)).value();
  EXPECT_OK(backend->SetState(InitialState(backend->table())));
  return backend;
}

class ImageStepTest : public testing::TestWithParam<bool> {
 protected:
  ModelConfig Model() const { return GetParam() ? TinyVit() : TinyPooledVit(); }
};

INSTANTIATE_TEST_SUITE_P(Models, ImageStepTest, testing::Bool(), [](const auto& test) {
  return test.param ? "FlattenedWithDropout" : "Pooled";
});

// Tolerance: 2e-5 of each parameter's largest gradient, as for boards. The second step is replayed
// from a graph, with its own keys.
TEST_P(ImageStepTest, MatchesTheDoubleReference) {
  DeviceLog log;
  auto backend = MakeImageBackend(Model(), /*bf16=*/false, log);
  for (const uint64_t key : {kImageKey, kImageKey / 3, kImageKey / 7}) {
    const RandomImages images(Model(), kImages, key);
    ReferenceModel model(Model(), images.rows(), key);
    const double loss = model.Run();
    ASSERT_OK_AND_ASSIGN(const StepResult result,
                         backend->Step(images.rows(), {.learning_rate = 0, .random_key = key}));
    EXPECT_NEAR(result.loss, loss, 2e-6);
    ASSERT_EQ(backend->predictions().size(), 2 * kImages);
    for (size_t i = 0; i < 2 * kImages; ++i) {
      EXPECT_NEAR(backend->predictions()[i], model.predictions[i], 4e-6) << i;
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<float> gradients, backend->ReadGradients());
    EXPECT_LE(model.WorstErrorsOf(gradients).element, 2e-5);
  }
  EXPECT_THAT(log.problems, testing::IsEmpty());
}

// Missing rows of a shard are padding of weight 0.
TEST_P(ImageStepTest, AShortBatchMatchesToo) {
  DeviceLog log;
  auto backend = MakeImageBackend(Model(), /*bf16=*/false, log);
  const RandomImages images(Model(), 3);
  ReferenceModel model(Model(), images.rows(), kImageKey);
  const double loss = model.Run();
  ASSERT_OK_AND_ASSIGN(const StepResult result,
                       backend->Step(images.rows(), {.random_key = kImageKey}));
  EXPECT_NEAR(result.loss, loss, 2e-6);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> gradients, backend->ReadGradients());
  EXPECT_LE(model.WorstErrorsOf(gradients).element, 2e-5);
  EXPECT_THAT(log.problems, testing::IsEmpty());
}

// Activations and products have eight bits; a wrong term would exceed this by far.
TEST_P(ImageStepTest, Bf16IsNearTheReference) {
  DeviceLog log;
  auto backend = MakeImageBackend(Model(), /*bf16=*/true, log);
  const RandomImages images(Model(), kImages);
  ReferenceModel model(Model(), images.rows(), kImageKey);
  const double loss = model.Run();
  ASSERT_OK_AND_ASSIGN(const StepResult result,
                       backend->Step(images.rows(), {.random_key = kImageKey}));
  EXPECT_NEAR(result.loss, loss, 0.02 * loss);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> gradients, backend->ReadGradients());
  EXPECT_LE(model.WorstErrorsOf(gradients).norm, 0.05);
  EXPECT_THAT(log.problems, testing::IsEmpty());
}

TEST(ImageModelTest, AttentionThatABlockHasNoRoomForIsRefusedWithWhatDoesFit) {
  // Has 196 tokens and heads of 64.
  const ModelConfig model = ModelConfig::Named("vit-small").value();
  const DeviceBackendOptions options{
      .shards = 2, .global_rows = kImages, .format = ImagesOf(model.side)};
  auto device = std::make_unique<EmulatedDevice>(
      EmulatedDeviceOptions{.block_shared_bytes = 163 << 10});  // The limit on sm_80.
  EXPECT_THAT(DeviceBackend::Create(model, options, std::move(device)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(testing::HasSubstr("196 tokens with heads of 64"),
                                      testing::HasSubstr("this GPU has 163"),
                                      testing::HasSubstr("give --precision bf16"))));
}

TEST_P(ImageStepTest, PredictsTheLossAndTheClassWithoutLeavingAnythingOut) {
  DeviceLog log;
  auto backend = MakeImageBackend(Model(), /*bf16=*/false, log);
  const RandomImages images(Model(), kImages);
  ModelConfig whole = Model();
  whole.dropout = whole.head_dropout = 0;
  ReferenceModel model(whole, images.rows());
  (void)model.Run();
  std::vector<float> results(2 * kImages);
  ASSERT_OK(backend->Predict(images.rows(), results, kImages));
  for (size_t i = 0; i < 2 * kImages; ++i) EXPECT_NEAR(results[i], model.predictions[i], 4e-6) << i;
  EXPECT_THAT(log.problems, testing::IsEmpty());
}

}  // namespace
}  // namespace penstock
