#include <cstdlib>

#include "trainer/backend/cpu/gemm_bf16.h"
#include "trainer/backend/cpu/gemm_onednn.h"

namespace penstock {

bool HasOneDnn() { return false; }

absl::Status CheckBf16Products() {
  return absl::FailedPreconditionError(
      "--precision bf16: this build has no oneDNN; use --precision fp32");
}

// Unreachable, because CheckGemmEngine() fails.
void SgemmOneDnn(size_t, size_t, size_t, const GemmOperand&, const GemmOperand&, float, float*) {
  std::abort();
}
GemmDescription DescribeOneDnn(bool) { std::abort(); }
void RoundToBf16(std::span<const float>, std::span<uint16_t>) { std::abort(); }
void GemmBf16(size_t, size_t, size_t, const GemmOperand&, const GemmOperand&, bool, float*) {
  std::abort();
}

}  // namespace penstock
