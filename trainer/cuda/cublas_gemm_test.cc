#include "trainer/cuda/cublas_gemm.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/cuda/testing/cublas_gemm_fixture.h"

namespace penstock {
namespace {

using testing::_;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Kind = DeviceOpKind;

using Size = ProductSize;
// Widths as on a device, and others, in which columns begin at any alignment.
constexpr Size kSizes[] = {kWhole, {1, 8, 8}, {33, 24, 16}, {1, 1, 1}, {7, 9, 5}, {3, 8, 13}};

// Opens the library through a symbolic link whose name is unique on the machine.
class CublasLibraryTest : public CublasGemmTest {
 protected:
  absl::Status OpenAs(const std::string& file, const std::string& folder) {
    const std::string name = absl::StrCat("penstock_", getpid(), "_", file);
    const std::string link = absl::StrCat(testing::TempDir(), "/", name);
    std::filesystem::create_symlink(absl::StrCat(folder, "/libcublasLt.so.13"), link);
    LibrarySpec spec = CublasLtSpec();
    spec.files = {name};
    const absl::Status status = CublasGemm::OpenFrom(spec, {testing::TempDir()}, Launch).status();
    std::filesystem::remove(link);
    return status;
  }
};

TEST_F(CublasGemmTest, LinearMatchesTheReference) {
  for (const bool bf16 : {false, true}) {
    for (const Size size : kSizes) ExpectRight(Kind::kLinear, size, bf16);
  }
}

TEST_F(CublasGemmTest, AResidualIsAddedFromWhereItLies) {
  for (const bool bf16 : {false, true}) {
    for (const Size size : kSizes) ExpectRight(Kind::kLinear, size, bf16, /*residual=*/true);
  }
}

TEST_F(CublasGemmTest, ProductsWithAndWithoutAResidualAreTwo) {
  const Product with(Kind::kLinear, kWhole, true, true), without(Kind::kLinear, kWhole, true);
  ASSERT_OK(gemm().Prepare(with.op()));
  EXPECT_THAT(gemm().Run(without.op(), nullptr), StatusIs(absl::StatusCode::kInternal, _));
  Run(without);
  Run(with);
  without.ExpectResults();
  with.ExpectResults();
}

TEST_F(CublasGemmTest, BackwardByInputMatchesTheReference) {
  for (const bool bf16 : {false, true}) {
    for (const Size size : kSizes) ExpectRight(Kind::kLinearBackwardInput, size, bf16);
  }
}

TEST_F(CublasGemmTest, BackwardByWeightIsAddedInFloat) {
  for (const bool bf16 : {false, true}) {
    for (const Size size : kSizes) ExpectRight(Kind::kLinearBackwardWeight, size, bf16);
  }
}

TEST_F(CublasGemmTest, GelusEndProductsInBf16) {
  for (const Size size : kSizes) {
    if (size.out % 8 == 0) ExpectRight(Kind::kLinearGelu, size, /*bf16=*/true);
    if (size.in % 8 == 0) ExpectRight(Kind::kLinearBackwardGelu, size, /*bf16=*/true);
  }
}

TEST_F(CublasGemmTest, SumsInPartsAreTakenInTheWorkspace) {
  fake_.SetAlgorithms({{.id = 9, .parts = 3, .reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}});
  for (const Kind kind : {Kind::kLinear, Kind::kLinearGelu, Kind::kLinearBackwardInput,
                          Kind::kLinearBackwardGelu, Kind::kLinearBackwardWeight}) {
    ExpectRight(kind, kWhole, /*bf16=*/true);
  }
  EXPECT_THAT(fake_.used(), ElementsAre(9, 9, 9, 9, 9));
}

// The first four algorithms of the fake each want a matrix at a multiple of 256 bytes. The fifth
// adds its parts in the result's precision. The sixth wants vectors at multiples of 64 bytes.
TEST_F(CublasGemmTest, TheFirstAlgorithmThatFitsArenasIsTaken) {
  Run(Product(Kind::kLinear, kWhole, true));
  Run(Product(Kind::kLinearBackwardInput, kWhole, true));  // Has no vector.
  Run(Product(Kind::kLinear, {7, 9, 5}, true));            // Columns begin at any alignment.
  EXPECT_THAT(fake_.used(), ElementsAre(7, 6, 8));
}

TEST_F(CublasGemmTest, AnAlgorithmIsChosenByNumbersAlone) {
  for (const Kind kind : {Kind::kLinear, Kind::kLinearGelu, Kind::kLinearBackwardGelu}) {
    SCOPED_TRACE(DeviceOpName(kind));
    const Product well_aligned(kind, kWhole, true, false, /*alignment=*/256);
    const Product product(kind, kWhole, true);
    ASSERT_OK(gemm().Prepare(well_aligned.op()));
    ASSERT_OK(gemm().Run(product.op(), nullptr)) << fake_.reason();
    product.ExpectResults();
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CublasGemm> other, Open());
    ASSERT_OK(other->Prepare(product.op()));
    EXPECT_THAT(gemm().Plan(), HasSubstr(other->Plan()));
  }
}

TEST_F(CublasGemmTest, AResultThatIsNoAlgorithmIsNotTaken) {
  fake_.SetAlgorithms({{.id = 8, .state = CUBLAS_STATUS_NOT_SUPPORTED}});
  EXPECT_THAT(gemm().Prepare(Product(Kind::kLinear, kWhole, true).op()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("no algorithm")));
}

TEST_F(CublasGemmTest, AnAlgorithmBehindOneThatFailsIsTaken) {
  fake_.SetAlgorithms({{.id = 8, .state = CUBLAS_STATUS_NOT_SUPPORTED}, {.id = 9}, {.id = 10}});
  ExpectRight(Kind::kLinear, kWhole, /*bf16=*/true);
  EXPECT_THAT(fake_.used(), ElementsAre(9));
}

// The fixture counts the library's objects.
TEST_F(CublasGemmTest, AnErrorOfAnyFunctionIsPassedOnAndLeavesNothing) {
  for (const char* function :
       {"cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
        "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatmulAlgoGetHeuristic"}) {
    fake_.Reset();
    fake_.Fail(function, CUBLAS_STATUS_ALLOC_FAILED);
    EXPECT_THAT(gemm().Prepare(Product(Kind::kLinearGelu, kWhole, true).op()),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("status 3")))
        << function;
    EXPECT_EQ(fake_.objects(), 1u) << function;  // The handle.
  }
}

TEST_F(CublasGemmTest, AProductThatFailsSaysSo) {
  const Product product(Kind::kLinear, kWhole, false);
  Run(product);
  fake_.Fail("cublasLtMatmul", CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_THAT(
      gemm().Run(product.op(), nullptr),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("multiplying failed with status 13")));
}

// Products of floats: sums in two parts give other bits.
TEST_F(CublasGemmTest, AnAdoptedPlanHasItsBits) {
  const FakeAlgorithm in_parts{
      .id = 11, .parts = 2, .reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE};
  const FakeAlgorithm at_once{.id = 12};
  const Product first(Kind::kLinear, kWhole, false), second(Kind::kLinear, kWhole, false);
  fake_.SetAlgorithms({in_parts, at_once});
  Run(first);
  fake_.SetAlgorithms({at_once, in_parts});
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CublasGemm> other, Open());
  Run(*other, second);
  EXPECT_NE(second.values(3), first.values(3));
  ASSERT_OK(other->Adopt(gemm().Plan()));
  EXPECT_EQ(other->Plan(), gemm().Plan());
  Run(*other, second);
  EXPECT_EQ(second.values(3), first.values(3));
  EXPECT_THAT(fake_.used(), ElementsAre(11, 12, 11));
}

class AdoptionTest : public CublasGemmTest {
 protected:
  // Plans two products with algorithm 11, the fake's only one, then offers another object `now`.
  void Prepare(std::vector<FakeAlgorithm> now) {
    fake_.SetAlgorithms({{.id = 11}});
    for (const Kind kind : {Kind::kLinear, Kind::kLinearBackwardInput}) {
      ASSERT_OK(gemm().Prepare(Product(kind, kWhole, false).op()));
    }
    fake_.SetAlgorithms(std::move(now));
    other_ = Open().value();
    ASSERT_OK(other_->Prepare(Product(Kind::kLinear, kWhole, false).op()));
    ASSERT_OK(other_->Prepare(Product(Kind::kLinearBackwardInput, kWhole, false).op()));
    kept_ = other_->Plan();
  }
  ~AdoptionTest() override { other_.reset(); }
  void ExpectRefused(const std::string& plan, const testing::Matcher<std::string>& message) {
    EXPECT_THAT(other_->Adopt(plan), StatusIs(absl::StatusCode::kFailedPrecondition, message));
    EXPECT_EQ(other_->Plan(), kept_);
  }

  std::unique_ptr<CublasGemm> other_;
  std::string kept_;
};

TEST_F(AdoptionTest, APlanWithoutAProductIsRefusedByItsName) {
  Prepare({{.id = 12}, {.id = 11}});
  const std::string plan = gemm().Plan();
  ExpectRefused(plan.substr(plan.find(';') + 2),
                HasSubstr("for linear backward by input fp32 5x40x32"));
}

TEST_F(AdoptionTest, AnAlgorithmThatTheDeviceLacksIsRefusedByItsProduct) {
  Prepare({{.id = 12}});
  ExpectRefused(gemm().Plan(),
                AllOf(HasSubstr("linear fp32 5x40x32"),
                      HasSubstr("cannot run the planned algorithm"), HasSubstr("status 15")));
}

// The algorithm of the product checked first would be valid.
TEST_F(AdoptionTest, NothingIsAdoptedOfAPlanThatOneProductCannotRun) {
  Prepare({{.id = 12}, {.id = 11}});
  const std::string plan = gemm().Plan();
  std::string spoilt = plan;
  spoilt.replace(plan.find(';') - 128, 128, std::string(128, 'a'));
  ExpectRefused(spoilt, AllOf(HasSubstr("backward by input"), HasSubstr("status 7")));
  EXPECT_OK(other_->Adopt(plan));
  EXPECT_EQ(other_->Plan(), plan);
}

TEST_F(AdoptionTest, AnAlgorithmThatTakesTooMuchWorkspaceIsRefused) {
  Prepare({{.id = 12}, {.id = 11, .parts = 1u << 20}});
  ExpectRefused(gemm().Plan(), AllOf(HasSubstr("linear fp32 5x40x32"),
                                     HasSubstr("671088640 bytes of workspace, but only 33554432")));
}

TEST_F(AdoptionTest, AnotherTextIsNoPlan) {
  Prepare({{.id = 12}});
  EXPECT_THAT(other_->Adopt("plain"), Not(IsOk()));
  EXPECT_EQ(other_->Plan(), kept_);
}

TEST_F(CublasLibraryTest, IsFoundByTheEnvironment) {
  setenv("PENSTOCK_CUDA_LIBS", PENSTOCK_FAKE_CUBLASLT, 1);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CublasGemm> found, CublasGemm::Open(Launch));
  EXPECT_EQ(found->math_library(), "cuBLASLt 13.1.0");
}

TEST_F(CublasLibraryTest, ALibraryThatIsTooOldIsNamed) {
  setenv("FAKE_CUBLASLT_VERSION", "111103", 1);
  EXPECT_THAT(
      OpenAs("old", PENSTOCK_FAKE_CUBLASLT),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("is too old: it has version 11.11.3, and 12.0.0 or newer is needed"),
                     HasSubstr("pip install nvidia-cublas"))));
}

TEST_F(CublasLibraryTest, ALibraryThatLacksAFunctionIsNamed) {
  EXPECT_THAT(
      OpenAs("lacking", PENSTOCK_FAKE_CUBLASLT_LACKING),
      StatusIs(
          absl::StatusCode::kFailedPrecondition,
          HasSubstr("has no function cublasLtMatmulAlgoCheck: it is another library, or too old")));
}

TEST_F(CublasLibraryTest, AGpuThatTheLibraryDoesNotTakeIsAnError) {
  fake_.Fail("cublasLtCreate", CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kInternal,
                               HasSubstr("cublasLtCreate failed with status 1")));
}

}  // namespace
}  // namespace penstock
