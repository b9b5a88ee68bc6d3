// One matrix product, as described to cuBLASLt. Compiled only with CUDA.
#ifndef PENSTOCK_TRAINER_CUDA_CUBLAS_PRODUCT_H_
#define PENSTOCK_TRAINER_CUDA_CUBLAS_PRODUCT_H_

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/backend/device/device_op.h"
#include "trainer/cuda/cublaslt_functions.h"

namespace penstock {

// kUnimplemented: the library refuses. Some releases report an unsupported product as such, and
// others as an invalid value, so both codes mean that.
absl::Status CublasStatus(cublasStatus_t status, absl::string_view what);

// Not thread-safe.
class CublasProduct {
 public:
  using Algorithm = cublasLtMatmulAlgo_t;

  // Describes a product of the sizes of `op`. `functions` and `handle` must outlive the result.
  static absl::StatusOr<std::unique_ptr<CublasProduct>> Describe(const CublasLtFunctions& functions,
                                                                 cublasLtHandle_t handle,
                                                                 const DeviceOp& op);
  ~CublasProduct();
  CublasProduct(const CublasProduct&) = delete;
  CublasProduct& operator=(const CublasProduct&) = delete;

  // The algorithms that the library offers and does not refuse, in its order: it expects the first
  // one to be the fastest. kUnimplemented: there is none.
  absl::StatusOr<std::vector<Algorithm>> Candidates(size_t workspace_bytes) const;
  // kUnimplemented: this GPU and library cannot run the algorithm, or it needs more workspace.
  absl::Status Check(const Algorithm& algorithm, size_t workspace_bytes) const;

  // Queues `op`, which has the sizes of the description.
  absl::Status Run(const DeviceOp& op, const Algorithm& algorithm, cudaStream_t stream);

 private:
  CublasProduct(const CublasLtFunctions& functions, cublasLtHandle_t handle)
      : functions_(functions), handle_(handle) {}
  absl::Status Create(const DeviceOp& op);
  absl::Status CreateLayouts(const DeviceOp& op);
  absl::Status SetEpilogue(const DeviceOp& op);
  template <typename T>
  absl::Status Set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    return CublasStatus(functions_.set_desc(desc_, attribute, &value, sizeof(value)),
                        "setting an attribute");
  }

  const CublasLtFunctions& functions_;
  const cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;  // c has the layout of d.
  float beta_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUBLAS_PRODUCT_H_
