#include "trainer/backend/cpu/gemm_onednn.h"

#include <dnnl.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

// oneDNN runs on the OpenMP of libgomp; clang would look for its own omp.h.
extern "C" void omp_set_num_threads(int);

namespace penstock {
namespace {

// The setting applies to the calling thread only.
void LimitOpenMpToThisThread() {
  thread_local bool limited = false;
  if (limited) return;
  omp_set_num_threads(1);
  limited = true;
}

}  // namespace

bool HasOneDnn() { return true; }

void SgemmOneDnn(size_t m, size_t n, size_t k, const GemmOperand& a, const GemmOperand& b,
                 float beta, float* c) {
  LimitOpenMpToThisThread();
  auto letter = [](const GemmOperand& x) { return x.transpose == Transpose::kYes ? 'T' : 'N'; };
  auto size = [](size_t x) { return static_cast<dnnl_dim_t>(x); };
  const dnnl_status_t status =
      dnnl_sgemm(letter(a), letter(b), size(m), size(n), size(k), 1.0f, a.data, size(a.stride),
                 b.data, size(b.stride), beta, c, size(n));
  if (status != dnnl_success) std::abort();  // Wrong arguments, or no memory.
}

GemmDescription DescribeOneDnn(bool bf16) {
  const dnnl_version_t* version = dnnl_version();
  return {absl::StrCat("onednn ", bf16 ? "bf16 matmul" : "sgemm", ", isa 0x",
                       absl::Hex(dnnl_get_effective_cpu_isa())),
          absl::StrCat("oneDNN ", version->major, ".", version->minor, ".", version->patch)};
}

}  // namespace penstock
