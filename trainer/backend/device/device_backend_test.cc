#include "trainer/backend/device/device_backend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/reference/adamw.h"
#include "kernels/reference/board_features.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/testing/checking_device.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/backend/testing/reference_model.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const ModelConfig kSmall{"small", 1, 32, 2, 48};
const ModelConfig kBiased{"small", 1, 32, 2, 48, /*attention_bias=*/true};
constexpr size_t kRows = 4;
// Emulated attention is fastest in bf16, so tests that are not about accuracy use bf16.
constexpr bool kFast = true;

DeviceBackendOptions Options(bool bf16 = false, bool graphs = true) {
  return {.shards = 2, .global_rows = kRows, .bf16 = bf16, .graphs = graphs};
}

std::unique_ptr<DeviceBackend> MakeBackend(const DeviceBackendOptions& options,
                                           const EmulatedDeviceOptions& device = {},
                                           DeviceLog* log = nullptr,
                                           const ModelConfig& model = kSmall) {
  auto emulated = std::make_unique<EmulatedDevice>(device);
  std::unique_ptr<Device> made;
  if (log == nullptr) {
    made = std::move(emulated);
  } else {
    made = std::make_unique<CheckingDevice>(std::move(emulated), *log);
  }
  auto backend = DeviceBackend::Create(model, options, std::move(made)).value();
  EXPECT_OK(backend->SetState(InitialState(backend->table())));
  return backend;
}

double Norm(std::span<const double> values) {
  double squares = 0;
  for (double value : values) squares += value * value;
  return std::sqrt(squares);
}

struct StepCase {
  const char* name;
  size_t rows;
  bool attention_bias = false;
};

class CudaStepTest : public testing::TestWithParam<StepCase> {};

INSTANTIATE_TEST_SUITE_P(Cases, CudaStepTest,
                         testing::Values(StepCase{"Full", kRows}, StepCase{"ShortBatch", 3},
                                         StepCase{"AttentionBias", kRows, true}),
                         [](const auto& test) { return test.param.name; });

// Tolerance: 2e-5 of each parameter's largest gradient, as for the CPU backend.
TEST_P(CudaStepTest, MatchesTheDoubleReference) {
  const RandomBoards boards(GetParam().rows);
  const ModelConfig& config = GetParam().attention_bias ? kBiased : kSmall;
  ReferenceModel model(config, boards);
  const double loss = model.Run();
  DeviceLog log;
  auto backend = MakeBackend(Options(), {}, &log, config);
  ASSERT_OK_AND_ASSIGN(const StepResult result, backend->Step(boards.rows(), {}));
  EXPECT_NEAR(result.loss, loss, 1e-6);
  for (size_t i = 0; i < boards.scores.size(); ++i) {
    EXPECT_NEAR(backend->predictions()[i], model.predictions[i], 2e-6);
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<float> gradients, backend->ReadGradients());
  EXPECT_LE(model.WorstErrorsOf(gradients).element, 2e-5);
  EXPECT_THAT(log.problems, testing::IsEmpty());
  EXPECT_NEAR(result.gradient_norm, Norm(model.gradients), 1e-5 * result.gradient_norm);
}

// Activations and products have eight bits, which is an error of 2 % of each parameter's gradient;
// a wrong term would be far larger. Each element is a sum that may nearly cancel.
TEST(DeviceBackendTest, Bf16StepIsNearTheReference) {
  const RandomBoards boards(kRows);
  ReferenceModel model(kBiased, boards);
  const double loss = model.Run();
  auto backend = MakeBackend(Options(/*bf16=*/true), {}, nullptr, kBiased);
  ASSERT_OK_AND_ASSIGN(const StepResult result, backend->Step(boards.rows(), {}));
  EXPECT_NEAR(result.loss, loss, 0.02 * loss);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> gradients, backend->ReadGradients());
  for (const Parameter& p : model.table.parameters()) {
    const auto expected = std::span(model.gradients).subspan(p.offset, p.count);
    std::vector<double> difference(p.count);
    for (size_t i = 0; i < p.count; ++i) difference[i] = gradients[p.offset + i] - expected[i];
    EXPECT_GT(Norm(difference), 0) << p.name;
    EXPECT_LT(Norm(difference), 0.02 * Norm(expected)) << p.name;
  }
}

// A step computes with the parameters of its state: their bf16 copies are kept up to date.
TEST(DeviceBackendTest, PredictsInBf16AsABackendOfItsState) {
  auto trained = MakeBackend(Options(/*bf16=*/true));
  for (uint64_t step = 0; step < 2; ++step) {
    ASSERT_OK(trained->Step(RandomBoards(kRows, step).rows(), {.learning_rate = 0.01}).status());
  }
  auto fresh = MakeBackend(Options(/*bf16=*/true));
  ASSERT_OK_AND_ASSIGN(TrainState state, trained->ReadState());
  ASSERT_OK(fresh->SetState(std::move(state)));
  const RandomBoards boards(kRows, 7);
  std::vector<float> of_trained(kRows), of_fresh(kRows);
  ASSERT_OK(trained->Predict(boards.rows(), of_trained, kRows));
  ASSERT_OK(fresh->Predict(boards.rows(), of_fresh, kRows));
  EXPECT_EQ(of_trained, of_fresh);
}

// Uses the device's own gradient, so that only the update is compared.
TEST(DeviceBackendTest, UpdateIsAdamwOfTheClippedGradient) {
  const RandomBoards boards(kRows);
  constexpr UpdateOptions kUpdate{.learning_rate = 0.01, .decay_rate = 0.1, .clip_norm = 0.01};
  auto backend = MakeBackend(Options(kFast));
  ASSERT_OK_AND_ASSIGN(const TrainState* state, backend->State());
  std::vector<double> p(state->parameters.begin(), state->parameters.end()), m(p.size()),
      v(p.size());
  for (uint64_t step = 1; step <= 2; ++step) {
    ASSERT_OK_AND_ASSIGN(const StepResult result, backend->Step(boards.rows(), kUpdate));
    ASSERT_GT(result.gradient_norm, kUpdate.clip_norm);
    ASSERT_OK_AND_ASSIGN(const std::vector<float> read, backend->ReadGradients());
    const std::vector<double> gradients(read.begin(), read.end());
    for (const Parameter& parameter : backend->table().parameters()) {
      const auto scalars = reference::AdamwScalars<double>::ForStep(
          step, kUpdate.learning_rate, parameter.decays() ? kUpdate.decay_rate : 0.0,
          kUpdate.clip_norm / result.gradient_norm);
      const size_t at = parameter.offset;
      reference::Adamw(scalars, gradients.data() + at, parameter.count, p.data() + at,
                       m.data() + at, v.data() + at);
    }
  }
  EXPECT_EQ(backend->steps(), 2u);
  ASSERT_OK_AND_ASSIGN(state, backend->State());
  for (const Parameter& parameter : backend->table().parameters()) {
    for (size_t i = parameter.offset; i < parameter.offset + parameter.count; ++i) {
      ASSERT_NEAR(state->parameters[i], p[i], 2e-6) << parameter.name;
    }
  }
}

struct GraphTraining {
  DeviceLog log;
  TrainState state;
  std::vector<double> losses;
};

// One row per shard.
void TrainFourSteps(DeviceBackendOptions options, GraphTraining& run) {
  options.global_rows = 2;
  auto backend = MakeBackend(options, {}, &run.log);
  for (size_t step = 0; step < 4; ++step) {
    const RandomBoards boards(2, step);
    const absl::StatusOr<StepResult> result = backend->Step(boards.rows(), {.clip_norm = 0.1});
    ASSERT_OK(result.status());
    run.losses.push_back(result->loss);
  }
  run.state = **backend->State();
}

class CudaGraphTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Precisions, CudaGraphTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "Bf16" : "Fp32"; });

TEST_P(CudaGraphTest, GraphsRunTheSameOperationsInOrderForTheSameBits) {
  GraphTraining with, without;
  TrainFourSteps(Options(GetParam(), /*graphs=*/true), with);
  TrainFourSteps(Options(GetParam(), /*graphs=*/false), without);
  // There are two slots; each has a graph from its second use on.
  EXPECT_EQ(with.log.launched_graphs, 2u);
  EXPECT_EQ(without.log.launched_graphs, 0u);
  EXPECT_THAT(with.log.problems, IsEmpty());
  EXPECT_THAT(without.log.problems, IsEmpty());
  EXPECT_EQ(with.log.ops, without.log.ops);
  EXPECT_EQ(with.losses, without.losses);
  EXPECT_EQ(with.state.parameters, without.state.parameters);
  EXPECT_EQ(with.state.m, without.state.m);
  EXPECT_EQ(with.state.v, without.state.v);
}

TEST(DeviceBackendTest, StepsOfASlotAreTheSameList) {
  DeviceLog log;
  auto backend = MakeBackend(Options(kFast), {}, &log);
  std::vector<std::vector<std::string>> steps;
  for (size_t step = 0; step < 4; ++step) {
    log.ops.clear();
    ASSERT_OK(backend->Step(RandomBoards(kRows - step, step).rows(), {}).status());
    steps.push_back(log.ops);
  }
  EXPECT_EQ(steps[2], steps[0]);
  EXPECT_EQ(steps[3], steps[1]);
  EXPECT_NE(steps[1], steps[0]);
  EXPECT_THAT(log.problems, IsEmpty());
}

TEST(DeviceBackendTest, PredictsWhatTrainingDid) {
  const RandomBoards boards(kRows - 1);
  DeviceLog log;
  auto backend = MakeBackend(Options(kFast), {}, &log);
  std::vector<float> predictions(kRows - 1);
  ASSERT_OK(backend->Predict(boards.rows(), predictions, kRows - 1));
  ASSERT_OK(backend->Step(boards.rows(), {}).status());
  EXPECT_THAT(predictions, testing::ElementsAreArray(backend->predictions()));
  EXPECT_THAT(log.problems, IsEmpty());
}

TEST(DeviceBackendTest, DecodedPlanesGiveThePackedBits) {
  const RandomBoards boards(kRows);
  std::vector<float> features(kRows * 64 * 34);
  reference::ExpandPackedBoards(boards.records.data(), kRows, features.data());
  std::vector<int8_t> planes, flags;
  std::vector<float> wide_planes, wide_flags;
  for (size_t token = 0; token < kRows * 64; ++token) {
    const float* row = features.data() + token * 34;
    for (size_t i = 0; i < 24; ++i) planes.push_back(int8_t(row[i])), wide_planes.push_back(row[i]);
    for (size_t i = 24; i < 34 && token % 64 == 0; ++i) {
      flags.push_back(int8_t(row[i])), wide_flags.push_back(row[i]);
    }
  }
  auto bytes = [](const auto& v) { return reinterpret_cast<const uint8_t*>(v.data()); };
  auto predict = [&](const BatchRows& rows) {
    DeviceBackendOptions options = Options(kFast);
    options.format = rows.format;
    std::vector<float> predictions(kRows);
    EXPECT_OK(MakeBackend(options)->Predict(rows, predictions, kRows));
    return predictions;
  };
  const std::vector<float> packed = predict(boards.rows());
  EXPECT_EQ(predict({kI8Boards, kRows, bytes(planes), bytes(flags)}), packed);
  EXPECT_EQ(predict({kF32Boards, kRows, bytes(wide_planes), bytes(wide_flags)}), packed);
}

TEST(DeviceBackendTest, StopsOnNanAndKeepsTheState) {
  auto backend = MakeBackend(Options(kFast));
  ASSERT_OK(backend->Step(RandomBoards(kRows).rows(), {}).status());
  TrainState state = **backend->State();
  state.parameters[0] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> m = state.m;
  ASSERT_OK(backend->SetState(state));
  EXPECT_THAT(backend->Step(RandomBoards(kRows).rows(), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("lower --lr")));
  EXPECT_EQ(backend->steps(), 1u);
  EXPECT_EQ(backend->ReadState().value().m, m);
}

TEST(DeviceBackendTest, StopsOnAGradientTooLargeToSquare) {
  auto backend = MakeBackend(Options(kFast));
  RandomBoards boards(kRows);
  boards.scores[1] = 1e22f;
  EXPECT_THAT(backend->Step(boards.rows(), {.clip_norm = 1}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("norm")));
  EXPECT_EQ(backend->steps(), 0u);
  EXPECT_THAT(backend->ReadState().value().v, testing::Each(0.0f));
}

TEST(DeviceBackendTest, RefusesRowsItWasNotMadeFor) {
  auto backend = MakeBackend(Options());
  EXPECT_THAT(backend->Step({}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs rows")));
  EXPECT_THAT(backend->Step(RandomBoards(kRows + 1).rows(), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("5 rows")));
  BatchRows rows = RandomBoards(1).rows();
  rows.format = kI8Boards;
  EXPECT_THAT(backend->Step(rows, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--dtype")));
}

absl::Status CreateOn(const EmulatedDeviceOptions& device, DeviceBackendOptions options = Options(),
                      const ModelConfig& model = kSmall) {
  return DeviceBackend::Create(model, options, std::make_unique<EmulatedDevice>(device)).status();
}

TEST(DeviceBackendTest, TooSmallADeviceSaysWhatIsAskedForWhatAndWhatToChange) {
  EXPECT_THAT(CreateOn({.total_bytes = 1 << 18}, Options(/*bf16=*/false, /*graphs=*/false)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("training takes"), HasSubstr("for activations"),
                             HasSubstr("--gpu-memory-fraction 0.9 allows 0.2 MiB of 0.2 MiB"),
                             HasSubstr("--global-batch-size"))));
}

TEST(DeviceBackendTest, FullDeviceSaysWhoHasIt) {
  EXPECT_THAT(CreateOn({.total_bytes = 100 << 20, .used_by_others = (100 << 20) - (1 << 18)}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("0.2 MiB of 100.0 MiB are free"),
                             HasSubstr("(used by others: 99 MiB in process 4711"))));
}

TEST(DeviceBackendTest, ListsItsMemoryBeforeTakingAny) {
  DeviceBackendOptions options = Options();
  std::vector<MemoryUse> uses;
  options.on_memory = [&](const std::vector<MemoryUse>& listed) { uses = listed; };
  EXPECT_FALSE(CreateOn({.total_bytes = 1 << 18}, options).ok());
  ASSERT_FALSE(uses.empty());
  EXPECT_EQ(uses[0].what, "parameters");
  EXPECT_EQ(uses[0].bytes,
            ParameterTable::For(kSmall, kDeviceMultiple).arena_size() * sizeof(float));
}

uint64_t BytesFor(const std::vector<MemoryUse>& uses, const std::string& what) {
  const auto at = std::find_if(uses.begin(), uses.end(),
                               [&](const MemoryUse& use) { return use.what == what; });
  EXPECT_NE(at, uses.end()) << what;
  return at == uses.end() ? 0 : at->bytes;
}

TEST(DeviceBackendTest, CountsTheMemoryOfLibrariesAndGraphs) {
  std::vector<MemoryUse> uses;
  const auto list = [&](DeviceBackendOptions options) {
    options.on_memory = [&](const std::vector<MemoryUse>& listed) { uses = listed; };
    return CreateOn({.used_by_libraries = 3 << 20}, options);
  };
  ASSERT_OK(list(Options(kFast, /*graphs=*/false)));
  EXPECT_EQ(BytesFor(uses, "libraries"), 3u << 20);
  EXPECT_EQ(BytesFor(uses, "graphs"), 0u);
  DeviceBackendOptions options = Options(kFast);
  ASSERT_OK(list(options));
  const uint64_t of_one = BytesFor(uses, "graphs");
  EXPECT_GT(of_one, 0u);
  options.steps_per_launch = 3;  // Three times the slots.
  ASSERT_OK(list(options));
  EXPECT_GT(BytesFor(uses, "graphs"), 2 * of_one);
}

TEST(DeviceBackendTest, MemoryThatLibrariesTakeIsNotFree) {
  constexpr uint64_t kTotal = 100 << 20;
  EXPECT_OK(CreateOn({.total_bytes = kTotal}));
  EXPECT_THAT(CreateOn({.total_bytes = kTotal, .used_by_libraries = kTotal - (1 << 18)}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("for libraries")));
}

TEST(DeviceBackendTest, RefusesAModelThatTheKernelsAreNotMadeFor) {
  EXPECT_THAT(CreateOn({}, Options(), {"odd", 1, 40, 5, 64}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("heads of 8")));
}

TEST(DeviceBackendTest, MissingProductIsNamed) {
  EXPECT_THAT(CreateOn({.has_products = false}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("linear of 128 rows, 40 to 32 columns")));
}

TEST(DeviceBackendTest, AdoptsAPlanOfProductsBeforeTheFirstStep) {
  auto backend = MakeBackend(Options(kFast));
  EXPECT_THAT(backend->AdoptGemmPlan("odd"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("plain")));
  EXPECT_EQ(backend->Describe().gemm_plan, "plain");
  ASSERT_OK(backend->AdoptGemmPlan("plain, of rank 0"));
  EXPECT_EQ(backend->Describe().gemm_plan, "plain, of rank 0");
  ASSERT_OK(backend->Step(RandomBoards(kRows).rows(), {}).status());
  EXPECT_THAT(backend->AdoptGemmPlan("plain"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("before the first step")));
}

// Refuses every plan and, once told to, every wait for a batch.
class RefusingDevice final : public ForwardingDevice {
 public:
  explicit RefusingDevice(const bool& waits_fail)
      : ForwardingDevice(std::make_unique<EmulatedDevice>()), waits_fail_(waits_fail) {}
  absl::Status AdoptGemmPlan(absl::string_view) override {
    return absl::FailedPreconditionError("no plan is good enough");
  }
  absl::Status Wait(DeviceEvent event, DeviceQueue queue) override {
    if (waits_fail_) return absl::InternalError("the device is ill");
    return ForwardingDevice::Wait(event, queue);
  }

 private:
  const bool& waits_fail_;
};

TEST(DeviceBackendTest, ItsOwnPlanNeedsNoAdoption) {
  const bool waits_fail = false;
  ASSERT_OK_AND_ASSIGN(
      const auto backend,
      DeviceBackend::Create(kSmall, Options(kFast), std::make_unique<RefusingDevice>(waits_fail)));
  EXPECT_OK(backend->AdoptGemmPlan(backend->Describe().gemm_plan));
  EXPECT_THAT(backend->AdoptGemmPlan("another"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("good enough")));
}

TEST(DeviceBackendTest, WhatCannotBeBegunIsForgotten) {
  bool waits_fail = false;
  ASSERT_OK_AND_ASSIGN(
      const auto backend,
      DeviceBackend::Create(kSmall, Options(kFast), std::make_unique<RefusingDevice>(waits_fail)));
  ASSERT_OK(backend->SetState(InitialState(backend->table())));
  const RandomBoards boards(kRows);
  waits_fail = true;
  for (int attempt = 0; attempt < 2; ++attempt) {  // The second attempt fails in the same way.
    EXPECT_THAT(backend->Step(boards.rows(), {}),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("ill")));
  }
  waits_fail = false;
  EXPECT_OK(backend->Step(boards.rows(), {}).status());
}

TEST(DeviceLayoutTest, PaddingComesAndGoes) {
  const DeviceLayout layout(kSmall);
  const std::vector<float> arena = InitialParameters(layout.model());
  const std::vector<float> padded = layout.Pad(arena);
  EXPECT_EQ(layout.Unpad(padded), arena);
  const Parameter& embed = layout.padded().at("embed.weight");
  EXPECT_EQ(padded[embed.offset + 40], arena[layout.model().at("embed.weight").offset + 34]);
  EXPECT_EQ(padded[embed.offset + 34], 0);
}

}  // namespace
}  // namespace penstock
