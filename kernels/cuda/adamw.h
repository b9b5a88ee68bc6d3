// reference/adamw.h on the GPU: one launch for a whole arena of parameters. The rules of
// activation.h hold.
#ifndef PENSTOCK_KERNELS_CUDA_ADAMW_H_
#define PENSTOCK_KERNELS_CUDA_ADAMW_H_

#include <cstddef>
#include <cstdint>

#include "kernels/numeric/bf16.h"
#include "kernels/reference/adamw.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

using reference::kDecayRun;
using reference::kLargestGradientNorm;
using reference::UpdateScalars;  // In device memory, so that a captured graph needs no new ones.

// Doubles of workspace that GradientNorm() needs.
size_t GradientNormWorkspace(size_t count);

// *norm = the root of the sum of the squares of gradient (count), not scaled; the order of the sum
// depends on count alone. A *norm that is NaN or more than kLargestGradientNorm stays, so that
// steps that are queued behind one that diverged update nothing: begin with 0.
cudaError_t GradientNorm(const float* gradient, size_t count, double* norm, double* workspace,
                         cudaStream_t stream);

// Updates the fp32 masters `parameter`, m and v (count each) from gradient (count), clipped by
// *norm, and writes `parameter` rounded to `copy` unless that is null. decays (count / kDecayRun,
// rounded up): 1 where parameters decay, else 0. Changes nothing if *norm is NaN or more than
// kLargestGradientNorm.
cudaError_t Adamw(const UpdateScalars* update, const double* norm, const uint8_t* decays,
                  const float* gradient, size_t count, float* parameter, float* m, float* v,
                  Bf16* copy, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ADAMW_H_
