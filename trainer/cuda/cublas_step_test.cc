// Whole steps with the GPU's matrix products, from a fake cuBLASLt; the rest is emulated.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/app/restore.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/device/testing/checking_device.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/backend/testing/reference_model.h"
#include "trainer/checkpoint/same_bits.h"
#include "trainer/cuda/cublas_gemm.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/testing/fake_cublaslt.h"

namespace penstock {
namespace {

using testing::_;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const ModelConfig kSmall{"small", 1, 32, 2, 48};
constexpr size_t kRows = 4;

class CublasProducts final : public EmulatedProducts {
 public:
  CublasProducts()
      : gemm_(CublasGemm::OpenFrom(CublasLtSpec(), {PENSTOCK_FAKE_CUBLASLT}, Launch).value()) {}

  size_t Workspace(const DeviceOp&) override { return CublasGemm::kWorkspaceBytes; }
  absl::Status Prepare(const DeviceOp& op) override { return gemm_->Prepare(op); }
  absl::Status Try(const DeviceOp& op, FakeStream& stream) override {
    return gemm_->Try(op, reinterpret_cast<cudaStream_t>(&stream));
  }
  absl::Status ChooseFastest(const DeviceOp& op, FakeStream& stream) override {
    const auto time = [](absl::FunctionRef<absl::Status()> run) -> absl::StatusOr<double> {
      FakeCublasLt& fake = FakeCublasLt::At(PENSTOCK_FAKE_CUBLASLT "/libcublasLt.so.13");
      const double before = fake.seconds();
      PENSTOCK_RETURN_IF_ERROR(run());
      return fake.seconds() - before;
    };
    return gemm_->ChooseFastest(op, reinterpret_cast<cudaStream_t>(&stream), time);
  }
  std::string Plan() const override { return gemm_->Plan(); }
  absl::Status Adopt(absl::string_view plan) override { return gemm_->Adopt(plan); }
  absl::Status Run(const DeviceOp& op, FakeStream& stream) override {
    return gemm_->Run(op, reinterpret_cast<cudaStream_t>(&stream));
  }

 private:
  // Kernels take their turn on the stream, like products.
  static absl::Status Launch(const DeviceOp& op, cudaStream_t stream) {
    reinterpret_cast<FakeStream*>(stream)->queue(
        {[op] { EXPECT_OK(EmulatedDevice::Execute(op)); }, [] { return true; }});
    return absl::OkStatus();
  }

  const std::unique_ptr<CublasGemm> gemm_;
};

class CublasStepTest : public testing::Test {
 protected:
  CublasStepTest() { fake_.Reset(); }

  absl::StatusOr<std::unique_ptr<DeviceBackend>> Create(bool bf16, bool graphs = true,
                                                        DeviceLog* log = nullptr,
                                                        bool fast = false) {
    std::unique_ptr<Device> device;
    auto emulated = std::make_unique<EmulatedDevice>(EmulatedDeviceOptions{},
                                                     std::make_unique<CublasProducts>());
    if (log == nullptr) {
      device = std::move(emulated);
    } else {
      device = std::make_unique<CheckingDevice>(std::move(emulated), *log);
    }
    return DeviceBackend::Create(
        kSmall,
        {.shards = 2, .global_rows = kRows, .bf16 = bf16, .graphs = graphs, .fast_reduction = fast},
        std::move(device));
  }
  std::unique_ptr<DeviceBackend> CreateFast() {
    return Create(/*bf16=*/true, /*graphs=*/true, nullptr, /*fast=*/true).value();
  }
  static void Begin(DeviceBackend& backend) {
    ASSERT_OK(backend.SetState(InitialState(backend.table())));
  }
  // The error of a step's whole gradient, relative to its norm.
  double GradientError(bool bf16, DeviceLog* log = nullptr) {
    const RandomBoards boards(kRows);
    ReferenceModel model(kSmall, boards);
    const double loss = model.Run();
    auto backend = Create(bf16, /*graphs=*/true, log).value();
    Begin(*backend);
    plan_ = backend->Describe().gemm_plan;
    const absl::StatusOr<StepResult> result = backend->Step(boards.rows(), {});
    EXPECT_OK(result.status()) << fake_.reason();
    if (!result.ok()) return 1;
    EXPECT_NEAR(result->loss, loss, (bf16 ? 0.02 : 1e-5) * loss);
    return model.ErrorOf(backend->ReadGradients().value());
  }
  static std::vector<float> Train(DeviceBackend& backend, size_t steps) {
    Begin(backend);
    for (size_t step = 0; step < steps; ++step) {
      EXPECT_OK(backend.Step(RandomBoards(kRows, step).rows(), {.clip_norm = 0.1}).status());
    }
    return (*backend.State())->parameters;
  }

  std::string plan_;  // The plan of the last run.
  FakeCublasLt& fake_ = FakeCublasLt::At(PENSTOCK_FAKE_CUBLASLT "/libcublasLt.so.13");
};

// Tolerances are those of gpu_test.cc.
TEST_F(CublasStepTest, Fp32StepMatchesTheDoubleReference) {
  DeviceLog log;
  EXPECT_LT(GradientError(/*bf16=*/false, &log), 2e-5);
  EXPECT_THAT(log.problems, IsEmpty());
  EXPECT_THAT(plan_, Not(HasSubstr("GELU")));  // GELUs are separate kernels.
}

TEST_F(CublasStepTest, Bf16StepIsNearTheReference) {
  DeviceLog log;
  EXPECT_LT(GradientError(/*bf16=*/true, &log), 0.02);
  EXPECT_THAT(log.problems, IsEmpty());
  EXPECT_THAT(plan_, AllOf(HasSubstr("linear and GELU"), HasSubstr("and GELU backward")));
}

// The library refuses one more thing at a time.
TEST_F(CublasStepTest, WhatTheLibraryRefusesIsLeftToKernels) {
  DeviceLog log;
  fake_.Refuse(CUBLASLT_EPILOGUE_DGELU, CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_LT(GradientError(/*bf16=*/true, &log), 0.02);
  EXPECT_THAT(plan_, AllOf(HasSubstr("linear and GELU"), Not(HasSubstr("and GELU backward"))));
  fake_.Refuse(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_LT(GradientError(/*bf16=*/true), 0.02);
  EXPECT_THAT(plan_, AllOf(Not(HasSubstr("GELU")), HasSubstr("onto")));
  fake_.RefuseResiduals(CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_LT(GradientError(/*bf16=*/true), 0.02);
  EXPECT_THAT(plan_, AllOf(Not(HasSubstr("onto")), Not(HasSubstr("kernel"))));
  fake_.RefuseWidth(8, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_LT(GradientError(/*bf16=*/true, &log), 0.02);
  EXPECT_THAT(plan_, AllOf(HasSubstr("linear bf16 2x32x8 kernel"),
                           HasSubstr("linear backward by input bf16 2x32x8 kernel"),
                           HasSubstr("linear backward by weight bf16 2x32x8 kernel")));
  EXPECT_THAT(log.problems, IsEmpty());
}

TEST_F(CublasStepTest, AProductThatTheLibraryLacksIsNamed) {
  fake_.Refuse(CUBLASLT_EPILOGUE_BIAS, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_THAT(Create(/*bf16=*/true),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("linear of 128 rows, 40 to 32 columns: cuBLASLt")));
}

TEST_F(CublasStepTest, GraphsDoNotChangeTheBits) {
  auto graphs = Create(/*bf16=*/true).value(), none = Create(true, /*graphs=*/false).value();
  EXPECT_EQ(Train(*graphs, 5), Train(*none, 5));
}

TEST_F(CublasStepTest, AnAdoptedPlanHasItsBits) {
  const FakeAlgorithm at_once{.id = 12}, in_parts{.id = 11, .parts = 2};
  fake_.SetAlgorithms({in_parts, at_once});
  auto first = Create(/*bf16=*/true).value();
  fake_.SetAlgorithms({at_once, in_parts});
  auto other = Create(/*bf16=*/true).value(), adopting = Create(/*bf16=*/true).value();
  ASSERT_OK(adopting->AdoptGemmPlan(first->Describe().gemm_plan));
  const std::vector<float> bits = Train(*first, 2);
  EXPECT_NE(Train(*other, 2), bits);
  EXPECT_EQ(Train(*adopting, 2), bits);
}

// Algorithm 12 is offered first, and 11 is faster and has other bits.
const std::vector<FakeAlgorithm> kSecondIsFaster = {
    {.id = 12, .seconds = 2},
    {.id = 11, .parts = 2, .reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, .seconds = 1}};

TEST_F(CublasStepTest, TheFastestProductsAreChosenOnceAndAdoptedByOtherRanks) {
  fake_.SetAlgorithms(kSecondIsFaster);
  auto first = CreateFast(), other = CreateFast(), adopting = CreateFast();
  const std::string before = first->Describe().gemm_plan;
  ASSERT_OK(first->ChooseGemmPlan());
  const std::string plan = first->Describe().gemm_plan;
  EXPECT_NE(plan, before);
  ASSERT_OK(adopting->AdoptGemmPlan(plan));
  const std::vector<float> bits = Train(*first, 2);
  EXPECT_NE(Train(*other, 2), bits);
  EXPECT_EQ(Train(*adopting, 2), bits);
  EXPECT_THAT(first->ChooseGemmPlan(), StatusIs(absl::StatusCode::kInternal, _));
}

// Two runs must have the same bits.
TEST_F(CublasStepTest, TimeDoesNotDecideInADeterministicTraining) {
  fake_.SetAlgorithms(kSecondIsFaster);
  auto backend = Create(/*bf16=*/true).value();
  const std::string before = backend->Describe().gemm_plan;
  ASSERT_OK(backend->ChooseGemmPlan());
  EXPECT_EQ(backend->Describe().gemm_plan, before);
}

CheckpointInfo InfoOf(const BackendDescription& backend) {
  CheckpointInfo info;
  info.numerics = backend.numerics;
  info.libraries = backend.math_library;
  info.gemm_plan = backend.gemm_plan;
  return info;
}

TEST_F(CublasStepTest, AResumedTrainingKeepsItsProducts) {
  fake_.SetAlgorithms(kSecondIsFaster);
  auto trained = CreateFast(), resumed = CreateFast();
  const CheckpointInfo then = InfoOf(trained->Describe());  // Of a release that timed nothing.
  ASSERT_OK(AdoptOrChooseGemmPlan(then, *resumed));
  EXPECT_EQ(resumed->Describe().gemm_plan, then.gemm_plan);
}

TEST_F(CublasStepTest, APlanOfAnotherLibraryOrGpuIsMadeAnew) {
  fake_.SetAlgorithms(kSecondIsFaster);
  auto trained = CreateFast(), chosen = CreateFast();
  ASSERT_OK(chosen->ChooseGemmPlan());
  CheckpointInfo other_library = InfoOf(trained->Describe()), other_gpu = other_library;
  CheckpointInfo other_sizes = other_library, none = other_library;
  other_library.libraries = "cuBLASLt 12.0.0";
  other_gpu.numerics = "cuda sm_80";
  other_sizes.gemm_plan = "linear bf16 1x2x3 00";
  none.gemm_plan = "";
  for (const CheckpointInfo& then : {other_library, other_gpu, other_sizes, none}) {
    auto resumed = CreateFast();
    ASSERT_OK(AdoptOrChooseGemmPlan(then, *resumed));
    const CheckpointInfo now = InfoOf(resumed->Describe());
    EXPECT_EQ(now.gemm_plan, chosen->Describe().gemm_plan);
    if (!then.gemm_plan.empty()) {
      EXPECT_THAT(BitDifferences(then, now), Contains(HasSubstr("the GEMM plan was ")));
    }
  }
}

}  // namespace
}  // namespace penstock
