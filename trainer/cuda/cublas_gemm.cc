#include "trainer/cuda/cublas_gemm.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/cuda/cublas_product.h"
#include "trainer/cuda/cublaslt_functions.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/library_search.h"

namespace penstock {

struct CublasGemm::Entry {
  enum class Form : uint8_t { kWhole, kParts, kKernel } form = Form::kWhole;
  std::unique_ptr<CublasProduct> product = nullptr;  // For kWhole, like the next two.
  std::vector<CublasProduct::Algorithm> candidates = {};
  CublasProduct::Algorithm algorithm = {};
  double seconds = 0;  // The least measured, of any form; 0 if it was not timed.
};

namespace {

// A later candidate must be faster by this factor: smaller differences are noise.
constexpr double kLeastGain = 0.98;
constexpr double kNever = std::numeric_limits<double>::infinity();

// cuBLASLt's tanh may be the GPU's approximation, which is off by 5e-4. bf16 rounds by more than
// that; in fp32 it is an error.
bool HasInexactGelu(const DeviceOp& op) {
  return !op.bf16 &&
         (op.kind == DeviceOpKind::kLinearGelu || op.kind == DeviceOpKind::kLinearBackwardGelu);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CublasGemm>> CublasGemm::Open(LaunchOp launch) {
  return OpenFrom(CublasLtSpec(), LibraryFolders(LibraryEnvironment::FromProcess()),
                  std::move(launch));
}

absl::StatusOr<std::unique_ptr<CublasGemm>> CublasGemm::OpenFrom(
    const LibrarySpec& spec, const std::vector<std::string>& folders, LaunchOp launch) {
  PENSTOCK_ASSIGN_OR_RETURN(SharedLibrary library, SharedLibrary::Open(spec, folders));
  std::unique_ptr<CublasGemm> gemm(new CublasGemm(std::move(library), std::move(launch)));
  cublasLtHandle_t handle = nullptr;
  PENSTOCK_RETURN_IF_ERROR(CublasStatus(gemm->functions_->create(&handle), "cublasLtCreate"));
  gemm->handle_ = handle;
  return gemm;
}

CublasGemm::CublasGemm(SharedLibrary library, LaunchOp launch)
    : library_(std::move(library)),
      launch_(std::move(launch)),
      functions_(std::make_unique<CublasLtFunctions>(library_)) {}

CublasGemm::~CublasGemm() {
  entries_.clear();
  if (handle_ != nullptr) functions_->destroy(static_cast<cublasLtHandle_t>(handle_));
}

absl::StatusOr<std::unique_ptr<CublasProduct>> CublasGemm::Describe(const DeviceOp& op) const {
  return CublasProduct::Describe(*functions_, static_cast<cublasLtHandle_t>(handle_), op);
}

absl::Status CublasGemm::Prepare(const DeviceOp& op) {
  PENSTOCK_RETURN_IF_ERROR(Choose(op));
  prepared_.try_emplace(ProductKey::Of(op), op);
  return absl::OkStatus();
}

absl::Status CublasGemm::Choose(const DeviceOp& op) {
  if (entries_.contains(ProductKey::Of(op))) return absl::OkStatus();
  if (HasInexactGelu(op)) {
    return FallBack(op, absl::UnimplementedError("cuBLASLt's GELU is not exact enough for fp32"));
  }
  Entry entry;
  const absl::Status chosen = [&]() -> absl::Status {
    PENSTOCK_ASSIGN_OR_RETURN(entry.product, Describe(op));
    PENSTOCK_ASSIGN_OR_RETURN(entry.candidates, entry.product->Candidates(kWorkspaceBytes));
    return absl::OkStatus();
  }();
  if (absl::IsUnimplemented(chosen)) return FallBack(op, chosen);
  PENSTOCK_RETURN_IF_ERROR(chosen);
  entry.algorithm = entry.candidates.front();
  entries_[ProductKey::Of(op)] = std::move(entry);
  return absl::OkStatus();
}

absl::Status CublasGemm::FallBack(const DeviceOp& op, const absl::Status& refusal) {
  Entry entry{.form = Entry::Form::kKernel};
  if (const std::vector<DeviceOp> parts = PartsOf(op); !parts.empty()) {
    entry.form = Entry::Form::kParts;
    PENSTOCK_RETURN_IF_ERROR(Choose(parts.front()));
  } else if (!NarrowKernelOf(op).has_value()) {
    return refusal;
  }
  entries_[ProductKey::Of(op)] = std::move(entry);
  return absl::OkStatus();
}

absl::Status CublasGemm::TryWhole(const DeviceOp& op, Entry& entry, cudaStream_t stream) {
  absl::Status status;
  for (const CublasProduct::Algorithm& candidate : entry.candidates) {
    entry.algorithm = candidate;
    status = entry.product->Run(op, candidate, stream);
    if (!absl::IsUnimplemented(status)) break;
  }
  return status;
}

absl::Status CublasGemm::Try(const DeviceOp& op, cudaStream_t stream) {
  const auto at = entries_.find(ProductKey::Of(op));
  if (at == entries_.end()) return Run(op, stream);  // Returns the error.
  if (at->second.form == Entry::Form::kWhole) {
    const absl::Status tried = TryWhole(op, at->second, stream);
    if (!absl::IsUnimplemented(tried)) return tried;
    PENSTOCK_RETURN_IF_ERROR(FallBack(op, tried));
  }
  if (at->second.form == Entry::Form::kParts) {
    PENSTOCK_RETURN_IF_ERROR(Try(PartsOf(op).front(), stream));
  }
  return Run(op, stream);
}

absl::StatusOr<double> CublasGemm::TimeWhole(const DeviceOp& op, Entry& entry, cudaStream_t stream,
                                             Timer time) {
  double best = kNever;
  for (const CublasProduct::Algorithm& candidate : entry.candidates) {
    const absl::StatusOr<double> seconds =
        time([&] { return entry.product->Run(op, candidate, stream); });
    if (absl::IsUnimplemented(seconds.status())) continue;
    PENSTOCK_RETURN_IF_ERROR(seconds.status());
    if (*seconds >= kLeastGain * best) continue;
    best = *seconds;
    entry.algorithm = candidate;
  }
  return best;
}

absl::StatusOr<double> CublasGemm::TimeOther(const DeviceOp& op, cudaStream_t stream, Timer time) {
  if (const std::vector<DeviceOp> parts = PartsOf(op); !parts.empty()) {
    PENSTOCK_RETURN_IF_ERROR(Choose(parts.front()));
    PENSTOCK_RETURN_IF_ERROR(ChooseFastest(parts.front(), stream, time));
    return time([&] { return RunParts(op, stream); });
  }
  const std::optional<DeviceOp> kernel = NarrowKernelOf(op);
  if (!kernel.has_value()) return kNever;
  return time([&] { return launch_(*kernel, stream); });
}

// If the plainer product is refused, there is nothing to compare with.
absl::Status CublasGemm::ChooseFastest(const DeviceOp& op, cudaStream_t stream, Timer time) {
  const auto at = entries_.find(ProductKey::Of(op));
  if (at == entries_.end()) return absl::InternalError("the product to time was not prepared");
  Entry& entry = at->second;
  if (entry.seconds > 0) return absl::OkStatus();
  double whole = kNever;
  if (entry.form == Entry::Form::kWhole) {
    PENSTOCK_ASSIGN_OR_RETURN(whole, TimeWhole(op, entry, stream, time));
  }
  const absl::StatusOr<double> other = TimeOther(op, stream, time);
  if (!other.ok() && !absl::IsUnimplemented(other.status())) return other.status();
  const double apart = other.ok() ? *other : kNever;
  if (apart < kLeastGain * whole) PENSTOCK_RETURN_IF_ERROR(FallBack(op, other.status()));
  at->second.seconds = std::min(whole, apart);
  return absl::OkStatus();
}

absl::Status CublasGemm::RunParts(const DeviceOp& op, cudaStream_t stream) {
  const std::vector<DeviceOp> parts = PartsOf(op);
  PENSTOCK_RETURN_IF_ERROR(Run(parts.front(), stream));
  return launch_(parts.back(), stream);
}

absl::Status CublasGemm::Run(const DeviceOp& op, cudaStream_t stream) {
  const auto at = entries_.find(ProductKey::Of(op));
  if (at == entries_.end()) return absl::InternalError("the product to run was not prepared");
  const Entry& entry = at->second;
  if (entry.form == Entry::Form::kWhole) return entry.product->Run(op, entry.algorithm, stream);
  if (entry.form == Entry::Form::kKernel) return launch_(*NarrowKernelOf(op), stream);
  return RunParts(op, stream);
}

std::string CublasGemm::math_library() const {
  return absl::StrCat("cuBLASLt ", CublasLtSpec().print(library_.version()));
}

std::string CublasGemm::Plan() const {
  GemmPlan plan;
  for (const auto& [key, op] : prepared_) AddToPlan(op, plan);
  return FormatGemmPlan(plan);
}

// A plan has the parts of a product instead of the product itself, like plans of releases that had
// no products in parts.
void CublasGemm::AddToPlan(const DeviceOp& op, GemmPlan& plan) const {
  const ProductKey key = ProductKey::Of(op);
  const Entry& entry = entries_.at(key);
  if (entry.form == Entry::Form::kParts) return AddToPlan(PartsOf(op).front(), plan);
  std::string& algorithm = plan[key.name()];
  if (entry.form == Entry::Form::kKernel) return algorithm.clear();
  algorithm.assign(reinterpret_cast<const char*>(entry.algorithm.data),
                   sizeof(entry.algorithm.data));
}

absl::Status CublasGemm::AdoptWhole(const DeviceOp& op, const std::string& algorithm,
                                    Entry& entry) const {
  PENSTOCK_ASSIGN_OR_RETURN(entry.product, Describe(op));
  std::memcpy(entry.algorithm.data, algorithm.data(), algorithm.size());
  entry.candidates = {entry.algorithm};
  return entry.product->Check(entry.algorithm, kWorkspaceBytes);
}

absl::Status CublasGemm::AdoptOne(const DeviceOp& op, const GemmPlan& plan,
                                  Entries& entries) const {
  const ProductKey key = ProductKey::Of(op);
  if (entries.contains(key)) return absl::OkStatus();
  const std::vector<DeviceOp> parts = PartsOf(op);
  Entry entry;
  if (!plan.contains(key.name()) && !parts.empty()) {
    entry.form = Entry::Form::kParts;
    PENSTOCK_RETURN_IF_ERROR(
        Annotate(AdoptOne(parts.front(), plan, entries), absl::StrCat(key.name(), ", in parts")));
  } else if (IsKernel(plan, key.name()) && NarrowKernelOf(op).has_value()) {
    entry.form = Entry::Form::kKernel;
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string algorithm,
                              AlgorithmOf(plan, key.name(), sizeof(entry.algorithm.data)));
    const absl::Status adopted = AdoptWhole(op, algorithm, entry);
    if (absl::IsUnimplemented(adopted)) {
      return absl::FailedPreconditionError(absl::StrCat(
          key.name(),
          ": this rank's cuBLASLt or GPU cannot run the planned algorithm: ", adopted.message()));
    }
    PENSTOCK_RETURN_IF_ERROR(adopted);
  }
  entries[key] = std::move(entry);
  return absl::OkStatus();
}

absl::Status CublasGemm::Adopt(absl::string_view plan) {
  if (plan == Plan()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const GemmPlan parsed, ParseGemmPlan(plan));
  Entries entries;
  for (const auto& [key, op] : prepared_) {
    PENSTOCK_RETURN_IF_ERROR(AdoptOne(op, parsed, entries));
  }
  entries_ = std::move(entries);
  return absl::OkStatus();
}

}  // namespace penstock
