#include "trainer/backend/cpu/gemm.h"

#include <cblas.h>
#include <dnnl.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

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

absl::StatusOr<GemmEngine> ParseGemmEngine(absl::string_view name) {
  if (name == "onednn") return GemmEngine::kOneDnn;
  if (name == "openblas") return GemmEngine::kOpenBlas;
  return absl::InvalidArgumentError(
      absl::StrCat("no GEMM is called \"", name, "\"; there are onednn and openblas"));
}

GemmDescription DescribeGemm(GemmEngine engine) {
  if (engine == GemmEngine::kOpenBlas) {
    return {absl::StrCat("openblas sgemm, ", openblas_get_corename()), openblas_get_config()};
  }
  const dnnl_version_t* version = dnnl_version();
  return {absl::StrCat("onednn sgemm, isa 0x", absl::Hex(dnnl_get_effective_cpu_isa())),
          absl::StrCat("oneDNN ", version->major, ".", version->minor, ".", version->patch)};
}

void Gemm(GemmEngine engine, size_t m, size_t n, size_t k, const GemmOperand& a,
          const GemmOperand& b, bool accumulate, float* c) {
  const float beta = accumulate ? 1.0f : 0.0f;
  if (engine == GemmEngine::kOneDnn) return GemmOneDnn(m, n, k, a, b, beta, c);
  return GemmOpenBlas(m, n, k, a, b, beta, c);
}

}  // namespace penstock
