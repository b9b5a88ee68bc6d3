#include "trainer/backend/cpu/gemm.h"

#include <cblas.h>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/backend/cpu/gemm_bf16.h"
#include "trainer/backend/cpu/gemm_onednn.h"

namespace penstock {
namespace {

void LimitOpenBlas() {
  [[maybe_unused]] static const bool limited = [] {
    openblas_set_num_threads(1);
    return true;
  }();
}

void GemmOpenBlas(size_t m, size_t n, size_t k, const GemmOperand& a, const GemmOperand& b,
                  float beta, float* c) {
  LimitOpenBlas();
  auto order = [](const GemmOperand& x) {
    return x.transpose == Transpose::kYes ? CblasTrans : CblasNoTrans;
  };
  auto size = [](size_t x) { return static_cast<blasint>(x); };
  cblas_sgemm(CblasRowMajor, order(a), order(b), size(m), size(n), size(k), 1.0f, a.data,
              size(a.stride), b.data, size(b.stride), beta, c, size(n));
}

}  // namespace

absl::string_view DefaultGemm() { return HasOneDnn() ? "onednn" : "openblas"; }

GemmEngine DefaultGemmEngine() { return HasOneDnn() ? GemmEngine::kOneDnn : GemmEngine::kOpenBlas; }

absl::Status CheckGemmEngine(GemmEngine engine) {
  if (engine == GemmEngine::kOpenBlas || HasOneDnn()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "--gemm onednn: this build has no oneDNN; use --gemm openblas and --precision fp32");
}

absl::StatusOr<GemmEngine> ParseGemmEngine(absl::string_view name, absl::string_view precision) {
  if (name != "onednn" && name != "openblas") {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown --gemm \"", name, "\"; give onednn or openblas"));
  }
  if (name == "onednn") PENSTOCK_RETURN_IF_ERROR(CheckGemmEngine(GemmEngine::kOneDnn));
  if (precision == "fp32") return name == "onednn" ? GemmEngine::kOneDnn : GemmEngine::kOpenBlas;
  if (precision != "bf16") {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown --precision \"", precision, "\"; give fp32 or bf16"));
  }
  if (name != "onednn") {
    return absl::InvalidArgumentError(
        absl::StrCat("--precision bf16 needs --gemm onednn",
                     HasOneDnn() ? "" : ", which this build does not have"));
  }
  PENSTOCK_RETURN_IF_ERROR(CheckBf16Products());
  return GemmEngine::kOneDnnBf16;
}

GemmDescription DescribeGemm(GemmEngine engine) {
  if (engine == GemmEngine::kOpenBlas) {
    return {absl::StrCat("openblas sgemm, ", openblas_get_corename()), openblas_get_config()};
  }
  return DescribeOneDnn(engine == GemmEngine::kOneDnnBf16);
}

void Gemm(GemmEngine engine, size_t m, size_t n, size_t k, const GemmOperand& a,
          const GemmOperand& b, bool accumulate, float* c) {
  if (engine == GemmEngine::kOneDnnBf16) return GemmBf16(m, n, k, a, b, accumulate, c);
  const float beta = accumulate ? 1.0f : 0.0f;
  if (engine == GemmEngine::kOneDnn) return SgemmOneDnn(m, n, k, a, b, beta, c);
  return GemmOpenBlas(m, n, k, a, b, beta, c);
}

}  // namespace penstock
