// A fixture for products with the fake cuBLASLt.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_CUBLAS_GEMM_FIXTURE_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_CUBLAS_GEMM_FIXTURE_H_

#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/device/testing/product.h"
#include "trainer/cuda/cublas_gemm.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/testing/fake_cublaslt.h"

namespace penstock {

inline constexpr ProductSize kWhole{5, 40, 32};

class CublasGemmTest : public testing::Test {
 protected:
  CublasGemmTest() { fake_.Reset(); }
  ~CublasGemmTest() override {
    unsetenv("PENSTOCK_CUDA_LIBS");
    unsetenv("FAKE_CUBLASLT_VERSION");
    gemm_.reset();
    EXPECT_EQ(fake_.objects(), 0u);
  }

  // Kernels take as long as kernel_seconds() says.
  static double& kernel_seconds() {
    static double seconds = 0;
    return seconds;
  }
  static double& kernels_took() {
    static double seconds = 0;
    return seconds;
  }
  static absl::Status Launch(const DeviceOp& op, cudaStream_t) {
    kernels_took() += kernel_seconds();
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
  void ExpectRight(DeviceOpKind kind, ProductSize size, bool bf16, bool residual = false,
                   bool in_parts = false) {
    SCOPED_TRACE(absl::StrCat(DeviceOpName(kind), bf16 ? " bf16 " : " fp32 ", size.rows, "x",
                              size.in, "x", size.out));
    const Product product(kind, size, bf16, residual);
    Run(product);
    product.ExpectResults(in_parts);
  }
  void ExpectRightInParts(DeviceOpKind kind, ProductSize size, bool bf16) {
    ExpectRight(kind, size, bf16, /*residual=*/false, /*in_parts=*/true);
  }
  FakeCublasLt& fake_ = FakeCublasLt::At(PENSTOCK_FAKE_CUBLASLT "/libcublasLt.so.13");
  std::unique_ptr<CublasGemm> gemm_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_CUBLAS_GEMM_FIXTURE_H_
