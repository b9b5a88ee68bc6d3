// The oneDNN part of gemm.h. A build without oneDNN (PENSTOCK_PORTABLE) has without_onednn.cc
// instead.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_GEMM_ONEDNN_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_GEMM_ONEDNN_H_

#include <cstddef>

#include "trainer/backend/cpu/gemm.h"

namespace penstock {

bool HasOneDnn();

// Same contract as Gemm(), with c = beta * c + a b. REQUIRES: HasOneDnn().
void SgemmOneDnn(size_t m, size_t n, size_t k, const GemmOperand& a, const GemmOperand& b,
                 float beta, float* c);

// REQUIRES: HasOneDnn().
GemmDescription DescribeOneDnn(bool bf16);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_GEMM_ONEDNN_H_
