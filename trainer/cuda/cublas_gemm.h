// Matrix products with cuBLASLt, which is found at run time. Compiled only with CUDA.
#ifndef PENSTOCK_TRAINER_CUDA_CUBLAS_GEMM_H_
#define PENSTOCK_TRAINER_CUDA_CUBLAS_GEMM_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/backend/device/device_op.h"
#include "trainer/backend/device/gemm_plan.h"
#include "trainer/backend/device/product_forms.h"
#include "trainer/cuda/shared_library.h"

namespace penstock {

struct CublasLtFunctions;
class CublasProduct;

// A product that the library refuses takes another form (product_forms.h): a plainer product and a
// kernel, or a kernel alone. The form and the algorithm of a product are chosen once, from its
// sizes alone, or adopted, and then kept. The same library on the same GPU therefore gives the same
// bits. No TF32: fp32 is fp32. Not thread-safe.
class CublasGemm {
 public:
  // The size that NVIDIA recommends on Hopper.
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

  // Queues a kernel of ours.
  using LaunchOp = std::function<absl::Status(const DeviceOp& op, cudaStream_t stream)>;

  // Opens the library for the current GPU. Errors are those of SharedLibrary::Open(), and
  // kInternal: an error of the library.
  static absl::StatusOr<std::unique_ptr<CublasGemm>> Open(LaunchOp launch);
  // The same, for the library `spec` in `folders`.
  static absl::StatusOr<std::unique_ptr<CublasGemm>> OpenFrom(
      const LibrarySpec& spec, const std::vector<std::string>& folders, LaunchOp launch);
  ~CublasGemm();
  CublasGemm(const CublasGemm&) = delete;
  CublasGemm& operator=(const CublasGemm&) = delete;

  // Chooses a form for products of these sizes. kUnimplemented: the library refuses the product,
  // and it has no other form.
  absl::Status Prepare(const DeviceOp& op);
  // Queues the product once. Some releases refuse a product, or some of its algorithms, only when
  // it runs: then another algorithm or form is chosen. REQUIRES: as for Run().
  absl::Status Try(const DeviceOp& op, cudaStream_t stream);
  // Chooses the fastest of all candidates and forms. `time` returns the seconds of one run of
  // `run`, which queues work on `stream`, or the error of `run`. REQUIRES: as for Run().
  using Timer = absl::FunctionRef<absl::StatusOr<double>(absl::FunctionRef<absl::Status()> run)>;
  absl::Status ChooseFastest(const DeviceOp& op, cudaStream_t stream, Timer time);
  // REQUIRES: Prepare() of an operation with the same sizes.
  absl::Status Run(const DeviceOp& op, cudaStream_t stream);

  std::string math_library() const;  // "cuBLASLt 13.0.2"
  // Names each product that was prepared, or the plainer product of its form.
  std::string Plan() const;
  // Uses the forms and algorithms of `plan`, another object's Plan(), for all products prepared so
  // far. kFailedPrecondition: the plan lacks one, or this GPU cannot run it; nothing changes.
  absl::Status Adopt(absl::string_view plan);

 private:
  struct Entry;
  using Entries = std::map<ProductKey, Entry>;

  explicit CublasGemm(SharedLibrary library, LaunchOp launch);
  absl::StatusOr<std::unique_ptr<CublasProduct>> Describe(const DeviceOp& op) const;
  // Finds a form for `op` and its parts.
  absl::Status Choose(const DeviceOp& op);
  // Gives `op` a form other than the whole product, which the library has refused.
  absl::Status FallBack(const DeviceOp& op, const absl::Status& refusal);
  // The best time of the product as a whole, in seconds; infinite if it cannot run.
  absl::StatusOr<double> TimeWhole(const DeviceOp& op, Entry& entry, cudaStream_t stream,
                                   Timer time);
  // The time of the other form, in seconds; infinite if there is none.
  absl::StatusOr<double> TimeOther(const DeviceOp& op, cudaStream_t stream, Timer time);
  absl::Status RunParts(const DeviceOp& op, cudaStream_t stream);
  absl::Status TryWhole(const DeviceOp& op, Entry& entry, cudaStream_t stream);
  // Adds the forms that `op` and its parts have in `plan` to `entries`.
  absl::Status AdoptOne(const DeviceOp& op, const GemmPlan& plan, Entries& entries) const;
  absl::Status AdoptWhole(const DeviceOp& op, const std::string& algorithm, Entry& entry) const;
  void AddToPlan(const DeviceOp& op, GemmPlan& plan) const;

  const SharedLibrary library_;
  const LaunchOp launch_;
  std::unique_ptr<CublasLtFunctions> functions_;
  void* handle_ = nullptr;
  Entries entries_;
  std::map<ProductKey, DeviceOp> prepared_;  // The caller's products, without parts of others.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUBLAS_GEMM_H_
