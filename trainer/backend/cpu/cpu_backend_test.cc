#include "trainer/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/reference/board_features.h"
#include "tests/status_matchers.h"
#include "trainer/backend/cpu/gemm_bf16.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/backend/testing/images.h"
#include "trainer/backend/testing/reference_model.h"
#include "trainer/step/model_program.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;

const ModelConfig kSmall{"small", 2, 32, 2, 48};
const ModelConfig kBiased{"small", 2, 32, 2, 48, /*attention_bias=*/true};

std::unique_ptr<CpuBackend> MakeBackend(const ModelConfig& config,
                                        const CpuBackendOptions& options = {.threads = 2}) {
  auto backend = CpuBackend::Create(config, options).value();
  backend->state().parameters = InitialParameters(backend->table());
  return backend;
}

// Checks three elements of each parameter.
void ExpectGradientsAsDifferences(ReferenceModel& model) {
  model.Run();
  const std::vector<double> gradients = model.gradients;
  constexpr double kStep = 1e-5;
  for (const Parameter& parameter : model.table.parameters()) {
    for (size_t i = parameter.offset; i < parameter.offset + parameter.count;
         i += 1 + parameter.count / 2) {
      const double kept = model.parameters[i];
      model.parameters[i] = kept + kStep;
      const double above = model.Run();
      model.parameters[i] = kept - kStep;
      const double below = model.Run();
      model.parameters[i] = kept;
      EXPECT_NEAR(gradients[i], (above - below) / (2 * kStep), 1e-9)
          << parameter.name << " element " << i - parameter.offset;
    }
  }
}

TEST(ReferenceModelTest, GradientsMatchDifferences) {
  const RandomBoards boards(1);
  ReferenceModel model(kBiased, boards);
  ExpectGradientsAsDifferences(model);
}

TEST(ReferenceModelTest, GradientsOfImagesMatchDifferencesWhateverIsLeftOut) {
  for (const ModelConfig& config : {TinyVit(), TinyPooledVit()}) {
    const RandomImages images(config, 2);
    ReferenceModel model(config, images.rows(), /*random_key=*/0x1234567812345678);
    ExpectGradientsAsDifferences(model);
  }
}

TEST(ReferenceModelTest, FusedOperationsChangeNothing) {
  const RandomBoards boards(2);
  const RandomImages images(TinyVit(), 2);
  for (const auto& [config, rows] :
       {std::pair{kSmall, boards.rows()}, {TinyVit(), images.rows()}}) {
    ReferenceModel model(config, rows, /*random_key=*/7), fused(config, rows, 7);
    fused.Fuse();
    EXPECT_EQ(fused.Run(), model.Run());
    EXPECT_EQ(fused.gradients, model.gradients);
  }
}

// Also covers steps with fewer rows, which leave a shard empty.
TEST(CpuBackendGradientsTest, NothingIsLeftOfTheStepBefore) {
  const RandomBoards boards(6), others(6, 2);
  for (const size_t rows : {size_t{6}, size_t{3}}) {
    const CpuBackendOptions options{.threads = 2, .shards = 4, .block_rows = 1};
    auto fresh = MakeBackend(kBiased, options), used = MakeBackend(kBiased, options);
    const UpdateOptions still{.learning_rate = 0};
    ASSERT_OK(used->Step(others.rows(), still));
    ASSERT_OK(used->Step(boards.rows().Slice(0, rows), still));
    ASSERT_OK(fresh->Step(boards.rows().Slice(0, rows), still));
    EXPECT_TRUE(std::ranges::equal(used->gradients(), fresh->gradients()));
  }
}

struct BackendCase {
  const char* name;
  GemmEngine gemm;
  size_t kernels;  // Index into SupportedCpuKernels().
};

class BackendAccuracyTest : public testing::TestWithParam<BackendCase> {
 protected:
  CpuBackendOptions Options(size_t block_rows) {
    const auto supported = SupportedCpuKernels();
    return {.threads = 2,
            .shards = 2,
            .block_rows = block_rows,
            .gemm = GetParam().gemm,
            .kernels = supported[std::min(GetParam().kernels, supported.size() - 1)]};
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, BackendAccuracyTest,
                         testing::Values(BackendCase{"OneDnnFastest", GemmEngine::kOneDnn, 0},
                                         BackendCase{"OpenBlasFastest", GemmEngine::kOpenBlas, 0},
                                         BackendCase{"OneDnnBaseline", GemmEngine::kOneDnn, 2}),
                         [](const auto& test) { return test.param.name; });

// Tolerance: 2e-5 of each parameter's largest gradient. A float's precision is 6e-8; sums of 300 to
// 1,000 terms through ten layers lose two orders of magnitude. A wrong term would give a far larger
// error.
void ExpectTheReferencesStep(const ModelConfig& config, const BatchRows& rows,
                             const CpuBackendOptions& options) {
  constexpr uint64_t kKey = 0x9876543210fedcba;
  ReferenceModel model(config, rows, kKey);
  const double loss = model.Run();
  auto backend = MakeBackend(config, options);
  ASSERT_OK_AND_ASSIGN(const StepResult result, backend->Step(rows, {.random_key = kKey}));
  EXPECT_NEAR(result.loss, loss, 1e-6);
  ASSERT_EQ(backend->predictions().size(), model.predictions.size());
  for (size_t i = 0; i < model.predictions.size(); ++i) {
    EXPECT_NEAR(backend->predictions()[i], model.predictions[i], 2e-6);
  }
  for (const Parameter& p : model.table.parameters()) {
    double largest = 0, error = 0;
    for (size_t i = p.offset; i < p.offset + p.count; ++i) {
      largest = std::max(largest, std::abs(model.gradients[i]));
      error = std::max(error, std::abs(model.gradients[i] - backend->gradients()[i]));
    }
    EXPECT_LE(error, 2e-5 * largest) << p.name;
  }
}

TEST_P(BackendAccuracyTest, StepMatchesTheDoubleReference) {
  const RandomBoards boards(6);
  for (size_t block_rows : {1, 2, 8}) {
    ExpectTheReferencesStep(kSmall, boards.rows(), Options(block_rows));
    ExpectTheReferencesStep(kBiased, boards.rows(), Options(block_rows));
  }
}

// Dropout depends on a row's place in the batch, not on its block or shard.
TEST_P(BackendAccuracyTest, StepOfImagesMatchesTheDoubleReference) {
  for (const ModelConfig& config : {TinyVit(), TinyPooledVit()}) {
    const RandomImages images(config, 6);
    for (size_t block_rows : {1, 2, 8}) {
      ExpectTheReferencesStep(config, images.rows(), Options(block_rows));
    }
  }
}

TEST_P(BackendAccuracyTest, BoardsMayLeaveOutAsWell) {
  ModelConfig config = kBiased;
  config.dropout = 0.3;
  config.head_dropout = 0.2;
  const RandomBoards boards(6);
  ExpectTheReferencesStep(config, boards.rows(), Options(2));
}

std::vector<float> TrainSteps(size_t threads, size_t steps) {
  ModelConfig config = ModelConfig::Named("tiny").value();
  config.attention_bias = true;
  auto backend = MakeBackend(config, {.threads = threads});
  for (size_t step = 0; step < steps; ++step) {
    const RandomBoards boards(16, step);
    EXPECT_OK(backend->Step(boards.rows(), {.clip_norm = 0.1}));
  }
  return backend->state().parameters;
}

TEST(CpuBackendTest, ThreadsDoNotChangeTheBits) {
  const std::vector<float> one = TrainSteps(1, 3);
  EXPECT_EQ(TrainSteps(2, 3), one);
  EXPECT_EQ(TrainSteps(5, 3), one);
}

// The gradients are equal within the rounding of sums in another order: 2e-5 of each parameter's
// largest gradient, as above.
TEST(CpuBackendTest, AccumulatedBatchesHaveTheGradientOfOneOfAllTheirRows) {
  const RandomBoards boards(24);
  auto whole = MakeBackend(kSmall), parts = MakeBackend(kSmall);
  for (int step = 0; step < 2; ++step) {  // The second step starts from zero.
    ASSERT_OK_AND_ASSIGN(const StepResult all, whole->Step(boards.rows(), {}));
    const UpdateOptions update{.batches = 3};
    ASSERT_OK_AND_ASSIGN(const double a, parts->Accumulate(boards.rows().Slice(0, 8), update));
    ASSERT_OK_AND_ASSIGN(const double b, parts->Accumulate(boards.rows().Slice(8, 8), update));
    ASSERT_OK_AND_ASSIGN(const StepResult last, parts->Step(boards.rows().Slice(16, 8), update));
    EXPECT_NEAR((a + b + last.loss) / 3, all.loss, 1e-6);
    for (const Parameter& p : whole->table().parameters()) {
      double largest = 0, error = 0;
      for (size_t i = p.offset; i < p.offset + p.count; ++i) {
        largest = std::max<double>(largest, std::abs(whole->gradients()[i]));
        error = std::max<double>(error, std::abs(whole->gradients()[i] - parts->gradients()[i]));
      }
      EXPECT_LE(error, 2e-5 * largest) << p.name;
    }
    ASSERT_OK(parts->SetState(whole->state()));
  }
}

// The double reference uses the same keys, so a comparison with it cannot show this.
TEST(BlockMemoryTest, EveryPlaceThatLeavesValuesOutHasAKeyOfItsOwn) {
  const ModelConfig config = TinyVit();
  const StepProgram program = BuildTraining(config, ParameterTable::For(config), ImagesOf(12), 2);
  BlockMemory<float> memory, other;
  memory.random_key = 7;
  other.random_key = 8;
  std::set<uint64_t> sites, keys;
  for (const Op& op : program.ops) {
    if (!op.shape.dropout.active()) continue;
    sites.insert(op.shape.site);
    keys.insert(memory.KeyOf(op));
    EXPECT_NE(memory.KeyOf(op), other.KeyOf(op));
  }
  EXPECT_GT(sites.size(), 5u);
  EXPECT_EQ(keys.size(), sites.size());
}

TEST(CpuBackendTest, AnotherKeyLeavesOutOthers) {
  const RandomImages images(TinyVit(), 4);
  std::vector<double> losses;
  for (const uint64_t key : {1, 1, 2}) {
    auto backend = MakeBackend(TinyVit(), {.threads = 1, .shards = 2});
    ASSERT_OK_AND_ASSIGN(const StepResult result,
                         backend->Step(images.rows(), {.random_key = DeriveKey(key, 1)}));
    losses.push_back(result.loss);
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_NE(losses[0], losses[2]);
}

TEST(CpuBackendTest, LearnsTheClassesOfImages) {
  const RandomImages images(TinyVit(), 16);
  auto backend = MakeBackend(TinyVit(), {.threads = 2, .shards = 2});
  for (uint64_t step = 0; step < 120; ++step) {
    ASSERT_OK(
        backend->Step(images.rows(), {.learning_rate = 3e-3, .random_key = DeriveKey(7, step)}));
  }
  std::vector<float> results(32);
  ASSERT_OK(backend->Predict(images.rows(), results, 16));
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_LT(results[2 * i], 0.2) << i;    // The loss: log 5 is 1.6.
    EXPECT_EQ(results[2 * i + 1], 0) << i;  // No class is likelier.
  }
}

// A row's loss is the logarithm of the sum of exponentials, minus the logit of its class.
TEST(CpuBackendTest, LogitsAreThoseOfTheLoss) {
  for (const ModelConfig& model : {TinyVit(), TinyPooledVit()}) {
    const RandomImages images(model, 5);
    auto backend = MakeBackend(model, {.threads = 2, .shards = 2, .block_rows = 2});
    std::vector<float> results(10), logits(5 * model.classes);
    ASSERT_OK(backend->Predict(images.rows(), results, 5));
    BatchRows rows = images.rows();
    rows.targets = nullptr;
    ASSERT_OK(backend->Logits(rows, logits));
    for (size_t i = 0; i < 5; ++i) {
      const float* row = logits.data() + i * model.classes;
      double sum = 0;
      for (size_t c = 0; c < model.classes; ++c) sum += std::exp(double(row[c]));
      const auto target = static_cast<size_t>(images.classes[i]);
      EXPECT_NEAR(results[2 * i], std::log(sum) - row[target], 2e-6);
    }
  }
}

TEST(CpuBackendTest, RefusesToJudgeImagesWithoutTheirClasses) {
  const RandomImages images(TinyVit(), 2);
  BatchRows rows = images.rows();
  rows.targets = nullptr;
  std::vector<float> results(4);
  EXPECT_THAT(MakeBackend(TinyVit())->Predict(rows, results, 2),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the class of every row")));
}

TEST(CpuBackendTest, RefusesRowsOfAnotherModel) {
  const RandomImages images(TinyVit(), 4);
  const RandomBoards boards(4);
  EXPECT_THAT(MakeBackend(TinyVit())->Step(boards.rows(), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("194 bytes")));
  EXPECT_THAT(MakeBackend(kSmall)->Step(images.rows(), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("model small")));
}

TEST(CpuBackendTest, LearnsTheBatchItSees) {
  auto backend = MakeBackend(kSmall);
  const RandomBoards boards(16);
  ASSERT_OK_AND_ASSIGN(const StepResult first, backend->Step(boards.rows(), {}));
  for (int step = 0; step < 60; ++step) ASSERT_OK(backend->Step(boards.rows(), {}));
  ASSERT_OK_AND_ASSIGN(const StepResult last, backend->Step(boards.rows(), {}));
  EXPECT_LT(last.loss, first.loss / 20);
}

TEST(CpuBackendTest, PredictionsDoNotDependOnTheBatchSize) {
  auto backend = MakeBackend(kSmall);
  const RandomBoards boards(13);
  std::vector<float> all(13), one(1);
  ASSERT_OK(backend->Predict(boards.rows(), all, 13));
  for (size_t row = 0; row < 13; ++row) {
    ASSERT_OK(backend->Predict(boards.rows().Slice(row, 1), one, 1));
    EXPECT_NEAR(one[0], all[row], 1e-6);
  }
}

TEST(CpuBackendTest, DecodedPlanesGiveThePackedBits) {
  const RandomBoards boards(8);
  std::vector<float> features(8 * 64 * 34);
  reference::ExpandPackedBoards(boards.records.data(), 8, features.data());
  std::vector<int8_t> planes, flags;
  std::vector<float> wide_planes, wide_flags;
  for (size_t token = 0; token < 8 * 64; ++token) {
    const float* row = features.data() + token * 34;
    for (size_t i = 0; i < 24; ++i) planes.push_back(int8_t(row[i])), wide_planes.push_back(row[i]);
    for (size_t i = 24; i < 34 && token % 64 == 0; ++i) {
      flags.push_back(int8_t(row[i])), wide_flags.push_back(row[i]);
    }
  }
  auto bytes = [](const auto& v) { return reinterpret_cast<const uint8_t*>(v.data()); };
  auto backend = MakeBackend(kSmall);
  std::vector<float> packed(8), i8(8), f32(8);
  ASSERT_OK(backend->Predict(boards.rows(), packed, 8));
  ASSERT_OK(backend->Predict({kI8Boards, 8, bytes(planes), bytes(flags)}, i8, 8));
  ASSERT_OK(backend->Predict({kF32Boards, 8, bytes(wide_planes), bytes(wide_flags)}, f32, 8));
  EXPECT_EQ(i8, packed);
  EXPECT_EQ(f32, packed);
}

// Products have eight bits of mantissa: each parameter's gradient is off by a few percent.
TEST(CpuBackendTest, Bf16ProductsGiveNearlyTheSameStep) {
  if (const absl::Status can = CheckBf16Products(); !can.ok()) GTEST_SKIP() << can.message();
  const RandomBoards boards(16);
  auto fp32 = MakeBackend(kSmall);
  auto bf16 = MakeBackend(kSmall, {.threads = 2, .gemm = GemmEngine::kOneDnnBf16});
  const StepResult exact = fp32->Step(boards.rows(), {}).value();
  const StepResult rounded = bf16->Step(boards.rows(), {}).value();
  EXPECT_NEAR(rounded.loss, exact.loss, 0.02 * exact.loss);
  for (const Parameter& p : fp32->table().parameters()) {
    double difference = 0, size = 0;
    for (size_t i = p.offset; i < p.offset + p.count; ++i) {
      difference += std::pow(double(bf16->gradients()[i]) - fp32->gradients()[i], 2);
      size += std::pow(double(fp32->gradients()[i]), 2);
    }
    EXPECT_GT(difference, 0) << p.name;
    EXPECT_LT(std::sqrt(difference / size), 0.02) << p.name;
  }
  // The same bits again, for any number of threads.
  auto again = MakeBackend(kSmall, {.threads = 3, .gemm = GemmEngine::kOneDnnBf16});
  ASSERT_TRUE(again->Step(boards.rows(), {}).ok());
  EXPECT_EQ(again->state().parameters, bf16->state().parameters);
}

TEST(CpuBackendTest, ClippingScalesTheGradient) {
  auto backend = MakeBackend(kSmall);
  ASSERT_OK_AND_ASSIGN(const StepResult result,
                       backend->Step(RandomBoards(8).rows(), {.clip_norm = 0.5}));
  ASSERT_GT(result.gradient_norm, 0.5);
  double squares = 0;  // m is 0.1 of the clipped gradient after the first step.
  for (double m : backend->state().m) squares += m * m;
  EXPECT_NEAR(std::sqrt(squares), 0.05, 1e-6);
}

TEST(CpuBackendTest, StopsOnNanAndKeepsTheState) {
  auto backend = MakeBackend(kSmall);
  backend->state().parameters[0] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> before = backend->state().m;
  EXPECT_THAT(backend->Step(RandomBoards(8).rows(), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("lower --lr")));
  EXPECT_EQ(backend->state().m, before);
  EXPECT_EQ(backend->state().step, 0u);
}

// The loss and the norm are finite here, but squares of the gradient overflow a float.
TEST(CpuBackendTest, StopsOnAGradientTooLargeToSquare) {
  auto backend = MakeBackend(kSmall);
  RandomBoards boards(8);
  boards.scores[3] = 1e22f;
  EXPECT_THAT(backend->Step(boards.rows(), {.clip_norm = 1}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("norm")));
  EXPECT_EQ(backend->state().step, 0u);
  EXPECT_THAT(backend->state().v, testing::Each(0.0f));
}

// A thread's scratch memory holds 9 tokens of a head of 32, and three matrices of 9 by 9.
TEST(CpuBackendTest, TheMemoryOfImagesHasAttentionsScratch) {
  const ModelConfig config = TinyVit();
  auto backend = MakeBackend(config);
  const StepProgram program =
      BuildTraining(config, backend->table(), ImagesOf(config.side), backend->block_rows());
  const MemoryUse activations = backend->MemoryUses(ImagesOf(config.side), 8)[3];
  EXPECT_EQ(activations.what, "activations");
  EXPECT_EQ(activations.bytes, 2 * (program.activation_size + 9 * 32 + 3 * 9 * 9) * sizeof(float));
  EXPECT_THAT(activations.detail, HasSubstr("scratch"));
  EXPECT_THAT(MakeBackend(kSmall)->MemoryUses(kPackedBoards, 8)[3].detail,
              Not(HasSubstr("scratch")));
}

TEST(CpuBackendTest, RefusesAStepWithoutRows) {
  auto backend = MakeBackend(kSmall);
  EXPECT_THAT(backend->Step({}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs rows")));
}

}  // namespace
}  // namespace penstock
