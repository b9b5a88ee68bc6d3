#include "trainer/cuda/cublas_gemm.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/numeric/bf16.h"
#include "kernels/reference/activation.h"
#include "kernels/reference/linear.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/testing/fake_cublaslt.h"

namespace penstock {
namespace {

using testing::_;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Kind = DeviceOpKind;
constexpr auto kTanh = reference::GeluForm::kTanh;

struct Size {
  size_t rows, in, out;
};
// kWhole has widths as on a device. The others include widths with which columns begin at any
// alignment.
constexpr Size kWhole{5, 40, 32};
constexpr Size kSizes[] = {kWhole, {1, 8, 8}, {33, 24, 16}, {1, 1, 1}, {7, 9, 5}, {3, 8, 13}};

// Numbers in device memory, at a multiple of 16 bytes and no more unless stated otherwise. A
// sanitizer detects the first byte beyond.
class Array {
 public:
  Array(size_t count, bool bf16, uint64_t seed, size_t alignment = 16)
      : bf16_(bf16), bytes_(count * (bf16 ? 2 : 4)), offset_(alignment) {
    void* memory = nullptr;
    EXPECT_EQ(posix_memalign(&memory, 2 * alignment, offset_ + bytes_), 0);
    memory_.reset(memory);
    CounterRng rng(seed);
    for (size_t i = 0; i < count; ++i) Set(i, static_cast<float>(2 * rng.Uniform() - 1));
    initial_ = values();
  }

  std::vector<double> values() const {
    std::vector<double> values;
    for (size_t at = 0; at < bytes_; at += bf16_ ? 2 : 4) {
      values.push_back(bf16_ ? ToFloat(Load<Bf16>(at)) : Load<float>(at));
    }
    return values;
  }
  const std::vector<double>& initial() const { return initial_; }
  DeviceOperand operand(Access access) const { return {begin(), bytes_, access}; }

 private:
  char* begin() const { return static_cast<char*>(memory_.get()) + offset_; }
  template <typename T>
  T Load(size_t at) const {
    T value;
    std::memcpy(&value, begin() + at, sizeof(T));
    return value;
  }
  void Set(size_t i, float value) {
    const Bf16 rounded = FromFloat<Bf16>(value);
    std::memcpy(begin() + i * (bf16_ ? 2 : 4), bf16_ ? static_cast<const void*>(&rounded) : &value,
                bf16_ ? 2 : 4);
  }

  struct Freer {
    void operator()(void* memory) const { std::free(memory); }
  };
  bool bf16_;
  size_t bytes_, offset_;
  std::unique_ptr<void, Freer> memory_;
  std::vector<double> initial_;
};

// An operation on its own memory. Outputs are filled with numbers first, too.
class Product {
 public:
  Product(Kind kind, Size size, bool bf16, bool residual = false, size_t alignment = 16)
      : kind_(kind), size_(size), bf16_(bf16) {
    const auto [rows, in, out] = size;
    uint64_t seed = 0;
    auto add = [&](size_t count, Access access, bool is_float = false) {
      arrays_.emplace_back(count, bf16 && !is_float, ++seed, alignment);
      accesses_.push_back(access);
    };
    const bool forward = kind == Kind::kLinear || kind == Kind::kLinearGelu;
    add(rows * (forward ? in : out), Access::kRead);
    add(kind == Kind::kLinearBackwardWeight ? rows * in : out * in, Access::kRead);
    if (forward) add(out, Access::kRead);
    if (kind == Kind::kLinearGelu) add(rows * out, Access::kWrite);
    if (kind == Kind::kLinearBackwardGelu) add(rows * in, Access::kRead);
    if (kind == Kind::kLinearBackwardWeight) {
      add(out * in, Access::kReadWrite, /*is_float=*/true);
    } else {
      add(rows * (forward ? out : in), Access::kWrite);
    }
    if (residual) add(rows * out, Access::kRead);
  }

  DeviceOp op() const {
    static auto* const workspace = new std::vector<uint64_t>(CublasGemm::kWorkspaceBytes / 8);
    DeviceOp op{.kind = kind_,
                .bf16 = bf16_,
                .rows = size_.rows,
                .in = size_.in,
                .out = size_.out,
                .workspace = {workspace->data(), workspace->size() * 8, Access::kWrite}};
    for (size_t i = 0; i < arrays_.size(); ++i) {
      op.operands.push_back(arrays_[i].operand(accesses_[i]));
    }
    return op;
  }
  std::vector<double> values(size_t operand) const { return arrays_[operand].values(); }
  size_t result() const { return HasResidual() ? arrays_.size() - 2 : arrays_.size() - 1; }

  // The expected value of each operand, from the reference in double.
  std::vector<std::vector<double>> Expected() const {
    const auto [rows, in, out] = size_;
    std::vector<std::vector<double>> all;
    for (const Array& array : arrays_) all.push_back(array.initial());
    std::vector<double> ignored(out);
    auto at = [&](size_t i) { return all[i].data(); };
    double* to = at(result());
    if (kind_ == Kind::kLinear) {
      const double* residual = HasResidual() ? at(4) : nullptr;
      reference::Linear<double>(at(0), at(1), at(2), residual, rows, in, out, to);
    } else if (kind_ == Kind::kLinearGelu) {
      reference::Linear<double>(at(0), at(1), at(2), nullptr, rows, in, out, at(3));
      reference::Gelu(at(3), kTanh, rows * out, to);
    } else if (kind_ == Kind::kLinearBackwardWeight) {
      reference::LinearBackwardWeight(at(0), at(1), rows, in, out, to, ignored.data());
    } else {
      reference::LinearBackwardInput(at(0), at(1), rows, in, out, to);
    }
    if (kind_ == Kind::kLinearBackwardGelu) {
      reference::GeluBackward(to, at(2), kTanh, rows * in, to);
    }
    return all;
  }
  // Allows one rounding of each output, and the roundings of the floats that are added. In parts, a
  // value of up to about twice the largest output is rounded before the last part as well.
  void ExpectResults(bool in_parts = false) const {
    const std::vector<std::vector<double>> expected = Expected();
    double largest = 0;
    for (const double value : expected[result()]) largest = std::max(largest, std::abs(value));
    const double between = in_parts && bf16_ ? 2 * largest * std::ldexp(1, -8) : 0;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const bool floats = !bf16_ || accesses_[i] == Access::kReadWrite;
      const std::vector<double> actual = values(i);
      for (size_t j = 0; j < actual.size(); ++j) {
        const double bound =
            accesses_[i] == Access::kRead
                ? 0
                : between + 1e-5 + std::abs(expected[i][j]) * (floats ? 1e-6 : std::ldexp(1, -8));
        ASSERT_NEAR(actual[j], expected[i][j], bound) << "operand " << i << " at " << j;
      }
    }
  }

 private:
  bool HasResidual() const { return kind_ == Kind::kLinear && arrays_.size() > 4; }

  const Kind kind_;
  const Size size_;
  const bool bf16_;
  std::vector<Array> arrays_;
  std::vector<Access> accesses_;
};

class CublasGemmTest : public testing::Test {
 protected:
  CublasGemmTest() { fake_.Reset(); }
  ~CublasGemmTest() override {
    unsetenv("PENSTOCK_CUDA_LIBS");
    unsetenv("FAKE_CUBLASLT_VERSION");
    gemm_.reset();
    EXPECT_EQ(fake_.objects(), 0u);
  }

  static absl::Status Launch(const DeviceOp& op, cudaStream_t) {
    return EmulatedDevice::Execute(op);
  }
  static absl::StatusOr<std::unique_ptr<CublasGemm>> Open() {
    return CublasGemm::OpenFrom(CublasLtSpec(), {PENSTOCK_FAKE_CUBLASLT}, Launch);
  }
  CublasGemm& gemm() {
    if (gemm_ == nullptr) gemm_ = Open().value();
    return *gemm_;
  }
  void Run(const Product& product) { Run(gemm(), product); }
  void Run(CublasGemm& gemm, const Product& product) {
    ASSERT_OK(gemm.Prepare(product.op()));
    ASSERT_OK(gemm.Run(product.op(), nullptr)) << fake_.reason();
  }
  void ExpectRight(Kind kind, Size size, bool bf16, bool residual = false, bool in_parts = false) {
    SCOPED_TRACE(absl::StrCat(DeviceOpName(kind), bf16 ? " bf16 " : " fp32 ", size.rows, "x",
                              size.in, "x", size.out));
    const Product product(kind, size, bf16, residual);
    Run(product);
    product.ExpectResults(in_parts);
  }
  void ExpectRightInParts(Kind kind, Size size, bool bf16) {
    ExpectRight(kind, size, bf16, /*residual=*/false, /*in_parts=*/true);
  }
  // Opens the library through a symbolic link whose name is unique on the machine.
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

  FakeCublasLt& fake_ = FakeCublasLt::At(PENSTOCK_FAKE_CUBLASLT "/libcublasLt.so.13");
  std::unique_ptr<CublasGemm> gemm_;
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

// The rows of the GELU's matrix are not multiples of 8 numbers.
TEST_F(CublasGemmTest, AGeluOfOddWidthIsLeftToAKernel) {
  ExpectRightInParts(Kind::kLinearGelu, {7, 8, 5}, /*bf16=*/true);
  ExpectRightInParts(Kind::kLinearBackwardGelu, {7, 9, 8}, /*bf16=*/true);
  EXPECT_THAT(gemm().Plan(), Not(HasSubstr("GELU")));
}

TEST_F(CublasGemmTest, AGeluInFp32IsLeftToAKernel) {
  for (const Kind kind : {Kind::kLinearGelu, Kind::kLinearBackwardGelu}) {
    ExpectRight(kind, kWhole, /*bf16=*/false);
  }
  EXPECT_THAT(gemm().Plan(), Not(HasSubstr("GELU")));
}

TEST_F(CublasGemmTest, SumsInPartsAreTakenInTheWorkspace) {
  fake_.SetAlgorithms({{.id = 9, .parts = 3, .reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}});
  for (const Kind kind : {Kind::kLinear, Kind::kLinearGelu, Kind::kLinearBackwardInput,
                          Kind::kLinearBackwardGelu, Kind::kLinearBackwardWeight}) {
    ExpectRight(kind, kWhole, /*bf16=*/true);
  }
  EXPECT_THAT(fake_.used(), ElementsAre(9, 9, 9, 9, 9));
}

// Each of the fake's first four algorithms needs a matrix at a multiple of 256 bytes. The fifth
// adds its parts in the result's precision. The sixth needs vectors at multiples of 64 bytes.
TEST_F(CublasGemmTest, TheFirstAlgorithmThatFitsArenasIsTaken) {
  Run(Product(Kind::kLinear, kWhole, true));
  Run(Product(Kind::kLinearBackwardInput, kWhole, true));  // This product has no vector.
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

// Releases differ in how they refuse a product. Success then comes without an algorithm.
constexpr cublasStatus_t kRefusals[] = {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE,
                                        CUBLAS_STATUS_SUCCESS};

TEST_F(CublasGemmTest, AGeluThatTheLibraryRefusesIsAKernelBehindThePlainProduct) {
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

TEST_F(CublasGemmTest, AResidualThatTheLibraryRefusesIsAddedByAKernel) {
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

TEST_F(CublasGemmTest, AHeadOfEightColumnsThatTheLibraryRefusesIsAKernel) {
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

TEST_F(CublasGemmTest, AProductThatIsRefusedWhenItRunsFallsBackToo) {
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

TEST_F(CublasGemmTest, AnErrorThatIsNoRefusalIsPassedOn) {
  const Product product(Kind::kLinearGelu, kWhole, true);
  ASSERT_OK(gemm().Prepare(product.op()));
  fake_.Fail("cublasLtMatmul", CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_THAT(gemm().Try(product.op(), nullptr), StatusIs(absl::StatusCode::kInternal, _));
  EXPECT_THAT(gemm().Plan(), HasSubstr("linear and GELU"));
}

TEST_F(CublasGemmTest, OtherProductsThatAreRefusedAreMissing) {
  fake_.Refuse(CUBLASLT_EPILOGUE_BIAS, CUBLAS_STATUS_INVALID_VALUE);
  fake_.Refuse(CUBLASLT_EPILOGUE_DEFAULT, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_THAT(gemm().Prepare(Product(Kind::kLinear, kWhole, true).op()),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("choosing an algorithm failed with status 7")));
  EXPECT_THAT(gemm().Prepare(Product(Kind::kLinearBackwardInput, kWhole, true).op()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("status 15")));
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
    EXPECT_EQ(fake_.objects(), 1u) << function;  // Only the handle is left.
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

// The products are of floats, so sums in two parts have other bits.
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

// The algorithm of the product that is checked first is valid.
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

TEST_F(CublasGemmTest, TheFormOfAProductIsAdoptedToo) {
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

TEST_F(AdoptionTest, AnotherTextIsNoPlan) {
  Prepare({{.id = 12}});
  EXPECT_THAT(other_->Adopt("plain"), Not(IsOk()));
  EXPECT_EQ(other_->Plan(), kept_);
}

TEST_F(CublasGemmTest, IsFoundByTheEnvironment) {
  setenv("PENSTOCK_CUDA_LIBS", PENSTOCK_FAKE_CUBLASLT, 1);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CublasGemm> found, CublasGemm::Open(Launch));
  EXPECT_EQ(found->math_library(), "cuBLASLt 13.1.0");
}

TEST_F(CublasGemmTest, ALibraryThatIsTooOldIsNamed) {
  setenv("FAKE_CUBLASLT_VERSION", "111103", 1);
  EXPECT_THAT(
      OpenAs("old", PENSTOCK_FAKE_CUBLASLT),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("is too old: it has version 11.11.3, and 12.0.0 or newer is needed"),
                     HasSubstr("pip install nvidia-cublas"))));
}

TEST_F(CublasGemmTest, ALibraryThatLacksAFunctionIsNamed) {
  EXPECT_THAT(
      OpenAs("lacking", PENSTOCK_FAKE_CUBLASLT_LACKING),
      StatusIs(
          absl::StatusCode::kFailedPrecondition,
          HasSubstr("has no function cublasLtMatmulAlgoCheck: it is another library, or too old")));
}

TEST_F(CublasGemmTest, AGpuThatTheLibraryDoesNotTakeIsAnError) {
  fake_.Fail("cublasLtCreate", CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kInternal,
                               HasSubstr("cublasLtCreate failed with status 1")));
}

}  // namespace
}  // namespace penstock
