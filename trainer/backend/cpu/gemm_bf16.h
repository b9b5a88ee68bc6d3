// Matrix products of operands rounded to bfloat16, summed in float32. Uses oneDNN's matmul, which
// uses AMX or AVX512_BF16 if the processor has them.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_GEMM_BF16_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_GEMM_BF16_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "trainer/backend/cpu/gemm.h"

namespace penstock {

// kFailedPrecondition: oneDNN cannot multiply bfloat16 on this processor (it needs AVX-512).
absl::Status CheckBf16Products();

// Rounds to nearest, ties to even; denormals become zero. REQUIRES: to.size() == from.size().
void RoundToBf16(std::span<const float> from, std::span<uint16_t> to);

// Same contract as Gemm(). REQUIRES: CheckBf16Products().
void GemmBf16(size_t m, size_t n, size_t k, const GemmOperand& a, const GemmOperand& b,
              bool accumulate, float* c);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_GEMM_BF16_H_
