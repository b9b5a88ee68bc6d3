#include "trainer/backend/cpu/gemm.h"

#include <cblas.h>
#include <dnnl.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"
#include "trainer/backend/cpu/gemm_bf16.h"

// oneDNN runs on the OpenMP of libgomp; clang would look for its own omp.h.
extern "C" void omp_set_num_threads(int);

namespace penstock {
namespace {

// The setting belongs to the calling thread.
void LimitOpenMpToThisThread() {
  thread_local bool limited = false;
  if (limited) return;
  omp_set_num_threads(1);
  limited = true;
}

void LimitOpenBlas() {
  [[maybe_unused]] static const bool limited = [] {
    openblas_set_num_threads(1);
    return true;
  }();
}

void GemmOneDnn(size_t m, size_t n, size_t k, const GemmOperand& a, const GemmOperand& b,
                float beta, float* c) {
  LimitOpenMpToThisThread();
  auto letter = [](const GemmOperand& x) { return x.transpose == Transpose::kYes ? 'T' : 'N'; };
  auto size = [](size_t x) { return static_cast<dnnl_dim_t>(x); };
  const dnnl_status_t status =
      dnnl_sgemm(letter(a), letter(b), size(m), size(n), size(k), 1.0f, a.data, size(a.stride),
                 b.data, size(b.stride), beta, c, size(n));
  if (status != dnnl_success) std::abort();  // Only wrong arguments or no memory.
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

absl::StatusOr<GemmEngine> ParseGemmEngine(absl::string_view name, absl::string_view precision) {
  if (name != "onednn" && name != "openblas") {
    return absl::InvalidArgumentError(
        absl::StrCat("no GEMM is called \"", name, "\"; there are onednn and openblas"));
  }
  if (precision == "fp32") return name == "onednn" ? GemmEngine::kOneDnn : GemmEngine::kOpenBlas;
  if (precision != "bf16") {
    return absl::InvalidArgumentError(
        absl::StrCat("no precision is called \"", precision, "\"; there are fp32 and bf16"));
  }
  if (name != "onednn") {
    return absl::InvalidArgumentError("--precision bf16 needs --gemm onednn");
  }
  PENSTOCK_RETURN_IF_ERROR(CheckBf16Products());
  return GemmEngine::kOneDnnBf16;
}

GemmDescription DescribeGemm(GemmEngine engine) {
  if (engine == GemmEngine::kOpenBlas) {
    return {absl::StrCat("openblas sgemm, ", openblas_get_corename()), openblas_get_config()};
  }
  const dnnl_version_t* version = dnnl_version();
  const char* products = engine == GemmEngine::kOneDnnBf16 ? "bf16 matmul" : "sgemm";
  return {absl::StrCat("onednn ", products, ", isa 0x", absl::Hex(dnnl_get_effective_cpu_isa())),
          absl::StrCat("oneDNN ", version->major, ".", version->minor, ".", version->patch)};
}

void Gemm(GemmEngine engine, size_t m, size_t n, size_t k, const GemmOperand& a,
          const GemmOperand& b, bool accumulate, float* c) {
  if (engine == GemmEngine::kOneDnnBf16) return GemmBf16(m, n, k, a, b, accumulate, c);
  const float beta = accumulate ? 1.0f : 0.0f;
  if (engine == GemmEngine::kOneDnn) return GemmOneDnn(m, n, k, a, b, beta, c);
  return GemmOpenBlas(m, n, k, a, b, beta, c);
}

}  // namespace penstock
