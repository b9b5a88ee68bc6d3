// Products that take another form, because the library refuses them or because it is faster.
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/cuda/cublas_gemm.h"
#include "trainer/cuda/testing/cublas_gemm_fixture.h"

namespace penstock {
namespace {

using testing::_;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Kind = DeviceOpKind;
using Size = ProductSize;

class ProductFormTest : public CublasGemmTest {};

// The rows of the GELU's input are not multiples of 8 numbers.
TEST_F(ProductFormTest, AGeluOfOddWidthIsLeftToAKernel) {
  ExpectRightInParts(Kind::kLinearGelu, {7, 8, 5}, /*bf16=*/true);
  ExpectRightInParts(Kind::kLinearBackwardGelu, {7, 9, 8}, /*bf16=*/true);
  EXPECT_THAT(gemm().Plan(), Not(HasSubstr("GELU")));
}

TEST_F(ProductFormTest, AGeluInFp32IsLeftToAKernel) {
  for (const Kind kind : {Kind::kLinearGelu, Kind::kLinearBackwardGelu}) {
    ExpectRight(kind, kWhole, /*bf16=*/false);
  }
  EXPECT_THAT(gemm().Plan(), Not(HasSubstr("GELU")));
}

// Releases differ in how they refuse a product. Some report success, but offer no algorithm.
constexpr cublasStatus_t kRefusals[] = {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE,
                                        CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_SUCCESS};

TEST_F(ProductFormTest, AGeluThatTheLibraryRefusesIsAKernelBehindThePlainProduct) {
  for (const cublasStatus_t status : kRefusals) {
    fake_.Refuse(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, status);
    fake_.Refuse(CUBLASLT_EPILOGUE_DGELU, status);
    gemm_.reset();
    for (const Kind kind : {Kind::kLinearGelu, Kind::kLinearBackwardGelu}) {
      ExpectRightInParts(kind, kWhole, /*bf16=*/true);
    }
    EXPECT_THAT(gemm().Plan(), AllOf(Not(HasSubstr("GELU")), HasSubstr("linear bf16 5x40x32 "),
                                     HasSubstr("linear backward by input bf16 5x40x32 ")));
  }
}

TEST_F(ProductFormTest, AResidualThatTheLibraryRefusesIsAddedByAKernel) {
  for (const cublasStatus_t status : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE}) {
    fake_.RefuseResiduals(status);
    for (const bool bf16 : {false, true}) {
      gemm_.reset();
      const Product tried(Kind::kLinear, kWhole, bf16, true),
          run(Kind::kLinear, kWhole, bf16, true);
      ASSERT_OK(gemm().Prepare(tried.op()));
      EXPECT_THAT(gemm().Plan(), HasSubstr("onto 5x40x32"));
      ASSERT_OK(gemm().Try(tried.op(), nullptr)) << fake_.reason();
      tried.ExpectResults(/*in_parts=*/true);
      EXPECT_THAT(gemm().Plan(), AllOf(Not(HasSubstr("onto")), HasSubstr("5x40x32")));
      ASSERT_OK(gemm().Run(run.op(), nullptr));
      EXPECT_EQ(run.values(3), tried.values(3));
    }
  }
}

TEST_F(ProductFormTest, AHeadOfEightColumnsThatTheLibraryRefusesIsAKernel) {
  constexpr Size kHead{33, 40, 8};
  for (const cublasStatus_t status : kRefusals) {
    fake_.RefuseWidth(8, status);
    gemm_.reset();
    for (const bool bf16 : {false, true}) {
      for (const Kind kind :
           {Kind::kLinear, Kind::kLinearBackwardInput, Kind::kLinearBackwardWeight}) {
        ExpectRight(kind, kHead, bf16);
      }
      ExpectRightInParts(Kind::kLinearGelu, kHead, bf16);  // Its plain product is a kernel too.
    }
    EXPECT_THAT(fake_.used(), IsEmpty());
    EXPECT_THAT(gemm().Plan(), HasSubstr("linear bf16 33x40x8 kernel; "));
  }
}

TEST_F(ProductFormTest, AProductThatIsRefusedWhenItRunsFallsBackToo) {
  fake_.SetAlgorithms({{.id = 8}, {.id = 9}});
  fake_.RefuseAlgorithm(8, CUBLAS_STATUS_NOT_SUPPORTED);
  const Product product(Kind::kLinear, kWhole, true), head(Kind::kLinear, {33, 40, 8}, true);
  ASSERT_OK(gemm().Prepare(product.op()));
  ASSERT_OK(gemm().Prepare(head.op()));
  ASSERT_OK(gemm().Try(product.op(), nullptr));
  product.ExpectResults();
  EXPECT_THAT(fake_.used(), ElementsAre(9));
  fake_.RefuseAlgorithm(9, CUBLAS_STATUS_INVALID_VALUE);
  ASSERT_OK(gemm().Try(head.op(), nullptr));
  head.ExpectResults();
  EXPECT_THAT(gemm().Plan(), HasSubstr("33x40x8 kernel"));
  EXPECT_THAT(gemm().Try(product.op(), nullptr),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("multiplying failed")));
}

TEST_F(ProductFormTest, AnErrorThatIsNoRefusalIsPassedOn) {
  const Product product(Kind::kLinearGelu, kWhole, true);
  ASSERT_OK(gemm().Prepare(product.op()));
  fake_.Fail("cublasLtMatmul", CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_THAT(gemm().Try(product.op(), nullptr), StatusIs(absl::StatusCode::kInternal, _));
  EXPECT_THAT(gemm().Plan(), HasSubstr("linear and GELU"));
}

TEST_F(ProductFormTest, OtherProductsThatAreRefusedAreMissing) {
  fake_.Refuse(CUBLASLT_EPILOGUE_BIAS, CUBLAS_STATUS_INVALID_VALUE);
  fake_.Refuse(CUBLASLT_EPILOGUE_DEFAULT, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_THAT(gemm().Prepare(Product(Kind::kLinear, kWhole, true).op()),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("choosing an algorithm failed with status 7")));
  EXPECT_THAT(gemm().Prepare(Product(Kind::kLinearBackwardInput, kWhole, true).op()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("status 15")));
}

TEST_F(ProductFormTest, TheFormOfAProductIsAdoptedToo) {
  constexpr Size kHead{33, 40, 8};
  const Product gelu(Kind::kLinearGelu, kWhole, true), head(Kind::kLinear, kHead, true);
  const Product onto(Kind::kLinear, kWhole, true, /*residual=*/true);
  fake_.Refuse(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLAS_STATUS_NOT_SUPPORTED);
  fake_.RefuseWidth(8, CUBLAS_STATUS_NOT_SUPPORTED);
  fake_.RefuseResiduals(CUBLAS_STATUS_NOT_SUPPORTED);
  for (const Product* product : {&gelu, &head, &onto}) {
    ASSERT_OK(gemm().Prepare(product->op()));
    ASSERT_OK(gemm().Try(product->op(), nullptr));
  }
  fake_.Reset();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CublasGemm> other, Open());
  const Product gelu2(Kind::kLinearGelu, kWhole, true), head2(Kind::kLinear, kHead, true);
  const Product onto2(Kind::kLinear, kWhole, true, /*residual=*/true);
  for (const Product* product : {&gelu2, &head2, &onto2}) Run(*other, *product);
  EXPECT_THAT(other->Plan(), AllOf(HasSubstr("GELU"), HasSubstr("onto"), Not(HasSubstr("kernel"))));
  ASSERT_OK(other->Adopt(gemm().Plan()));
  EXPECT_EQ(other->Plan(), gemm().Plan());
  for (const Product* product : {&gelu2, &head2, &onto2}) Run(*other, *product);
  EXPECT_EQ(gelu2.values(4), gelu.values(4));
  EXPECT_EQ(head2.values(3), head.values(3));
  EXPECT_EQ(onto2.values(3), onto.values(3));
}

class FastestProductTest : public CublasGemmTest {
 protected:
  ~FastestProductTest() override { kernel_seconds() = 0; }
  void ChooseFastest(CublasGemm& gemm, const Product& product) {
    ASSERT_OK(gemm.Prepare(product.op()));
    ASSERT_OK(gemm.ChooseFastest(product.op(), nullptr, [&](absl::FunctionRef<absl::Status()> run) {
      return SecondsOf(run);
    }));
  }
  void ChooseFastest(const Product& product) { ChooseFastest(gemm(), product); }
  // The algorithm that computes the product now.
  uint64_t AlgorithmOf(const Product& product) {
    EXPECT_OK(gemm().Run(product.op(), nullptr));
    return fake_.used().back();
  }

 private:
  absl::StatusOr<double> SecondsOf(absl::FunctionRef<absl::Status()> run) {
    const double before = fake_.seconds() + kernels_took();
    PENSTOCK_RETURN_IF_ERROR(run());
    return fake_.seconds() + kernels_took() - before;
  }
};

TEST_F(FastestProductTest, TheFastestAlgorithmIsUsed) {
  fake_.SetAlgorithms({{.id = 8, .seconds = 3}, {.id = 9, .seconds = 2}, {.id = 10, .seconds = 4}});
  for (const Kind kind : {Kind::kLinear, Kind::kLinearBackwardInput, Kind::kLinearBackwardWeight}) {
    const Product product(kind, kWhole, true);
    ASSERT_OK(gemm().Prepare(product.op()));
    EXPECT_EQ(AlgorithmOf(product), 8u);
    ChooseFastest(product);
    EXPECT_EQ(AlgorithmOf(product), 9u);
  }
}

TEST_F(FastestProductTest, TheFirstAlgorithmStaysIfOthersAreHardlyFaster) {
  fake_.SetAlgorithms({{.id = 8, .seconds = 1}, {.id = 9, .seconds = 0.99}});
  const Product product(Kind::kLinear, kWhole, true);
  ChooseFastest(product);
  EXPECT_EQ(AlgorithmOf(product), 8u);
}

TEST_F(FastestProductTest, AnAlgorithmThatIsRefusedIsNotUsed) {
  fake_.SetAlgorithms({{.id = 8, .seconds = 3}, {.id = 9, .seconds = 1}, {.id = 10, .seconds = 2}});
  fake_.RefuseAlgorithm(9, CUBLAS_STATUS_NOT_SUPPORTED);
  const Product product(Kind::kLinear, kWhole, true);
  ChooseFastest(product);
  EXPECT_EQ(AlgorithmOf(product), 10u);
}

TEST_F(FastestProductTest, AnErrorOfAProductIsPassedOn) {
  const Product product(Kind::kLinear, kWhole, true);
  ASSERT_OK(gemm().Prepare(product.op()));
  fake_.Fail("cublasLtMatmul", CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_THAT(
      gemm().ChooseFastest(product.op(), nullptr,
                           [](absl::FunctionRef<absl::Status()> run) -> absl::StatusOr<double> {
                             PENSTOCK_RETURN_IF_ERROR(run());
                             return 1.0;
                           }),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("status 13")));
}

TEST_F(FastestProductTest, AGeluIsFusedIfThatIsFaster) {
  fake_.SetAlgorithms({{.id = 8, .seconds = 1, .epilogue_seconds = 0.5}});
  for (const Kind kind : {Kind::kLinearGelu, Kind::kLinearBackwardGelu}) {
    for (const double kernel : {0.4, 0.6}) {
      kernel_seconds() = kernel;
      gemm_.reset();
      const Product product(kind, kWhole, true);
      ChooseFastest(product);
      EXPECT_EQ(absl::StrContains(gemm().Plan(), "GELU"), kernel == 0.6) << gemm().Plan();
      ASSERT_OK(gemm().Run(product.op(), nullptr));
      product.ExpectResults(/*in_parts=*/true);
    }
  }
}

// The plain product is timed too: its fastest algorithm is another one.
TEST_F(FastestProductTest, AFusedGeluIsComparedWithTheFastestPlainProduct) {
  fake_.SetAlgorithms({{.id = 8, .seconds = 3, .epilogue_seconds = 0.1},
                       {.id = 9, .seconds = 2, .epilogue_seconds = 2}});
  kernel_seconds() = 0.5;
  const Product product(Kind::kLinearGelu, kWhole, true);
  ChooseFastest(product);
  EXPECT_EQ(AlgorithmOf(product), 9u);
  EXPECT_THAT(gemm().Plan(), Not(HasSubstr("GELU")));
}

TEST_F(FastestProductTest, OurKernelIsUsedIfItIsFaster) {
  const Product product(Kind::kLinear, {33, 40, 8}, true);
  kernel_seconds() = 0.5;
  ChooseFastest(product);
  EXPECT_THAT(gemm().Plan(), HasSubstr("33x40x8 kernel"));
}

TEST_F(FastestProductTest, AnotherObjectAdoptsTheFastest) {
  const FakeAlgorithm in_parts{
      .id = 11, .parts = 2, .reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, .seconds = 1};
  fake_.SetAlgorithms({{.id = 12, .seconds = 2}, in_parts});
  const Product first(Kind::kLinear, kWhole, false), second(Kind::kLinear, kWhole, false);
  ChooseFastest(first);
  ASSERT_OK(gemm().Run(first.op(), nullptr));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CublasGemm> other, Open());
  Run(*other, second);
  EXPECT_NE(second.values(3), first.values(3));
  ASSERT_OK(other->Adopt(gemm().Plan()));
  Run(*other, second);
  EXPECT_EQ(second.values(3), first.values(3));
}

}  // namespace
}  // namespace penstock
