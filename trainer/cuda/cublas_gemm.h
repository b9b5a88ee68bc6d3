// Matrix products with cuBLASLt, which is found at run time. Compiled only with CUDA.
#ifndef PENSTOCK_TRAINER_CUDA_CUBLAS_GEMM_H_
#define PENSTOCK_TRAINER_CUDA_CUBLAS_GEMM_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/backend/device/device_op.h"
#include "trainer/cuda/shared_library.h"

namespace penstock {

struct CublasLtFunctions;

// Each product's algorithm is chosen once, from its sizes alone, or adopted, and then kept. The
// same library on the same GPU therefore gives the same bits. No TF32: fp32 is fp32. Not
// thread-safe.
class CublasGemm {
 public:
  // The size that NVIDIA recommends on Hopper.
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

  // Opens the library for the current GPU. Errors are those of SharedLibrary::Open(), and
  // kInternal: an error of the library.
  static absl::StatusOr<std::unique_ptr<CublasGemm>> Open();
  // Does the same for the library `spec` in `folders`.
  static absl::StatusOr<std::unique_ptr<CublasGemm>> OpenFrom(
      const LibrarySpec& spec, const std::vector<std::string>& folders);
  ~CublasGemm();
  CublasGemm(const CublasGemm&) = delete;
  CublasGemm& operator=(const CublasGemm&) = delete;

  // kUnimplemented: the library has no algorithm for a product of these sizes, or its fused GELU is
  // not exact enough for fp32.
  absl::Status Prepare(const DeviceOp& op);
  // REQUIRES: Prepare() of an operation with the same sizes.
  absl::Status Run(const DeviceOp& op, cudaStream_t stream);

  std::string math_library() const;  // "cuBLASLt 13.0.2"
  std::string Plan() const;
  // Uses the algorithms of `plan`, another object's Plan(), for all products prepared so far.
  // kFailedPrecondition: the plan lacks one, or this GPU cannot run it; nothing changes.
  absl::Status Adopt(absl::string_view plan);

 private:
  // Kind, precision, whether there is a residual, rows, in, out.
  using Key = std::tuple<DeviceOpKind, bool, bool, size_t, size_t, size_t>;
  struct Product;

  explicit CublasGemm(SharedLibrary library);
  static Key KeyOf(const DeviceOp& op);
  static std::string NameOf(const Key& key);
  absl::StatusOr<std::unique_ptr<Product>> Describe(const DeviceOp& op) const;
  // `gelu` says that the epilogue is one that some releases or types lack.
  absl::Status Choose(Product& product, bool gelu) const;
  // kFailedPrecondition: this GPU and library cannot run the cublasLtMatmulAlgo_t at `algorithm`.
  absl::Status CheckAlgorithm(const Product& product, const void* algorithm) const;

  const SharedLibrary library_;
  std::unique_ptr<CublasLtFunctions> functions_;
  void* handle_ = nullptr;
  std::map<Key, std::unique_ptr<Product>> products_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUBLAS_GEMM_H_
