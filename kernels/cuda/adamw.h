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
using reference::UpdateScalars;  // Lives in device memory, so that a captured graph stays valid.

// Number of doubles of workspace that GradientNorm() needs.
size_t GradientNormWorkspace(size_t count);

// *norm = sqrt(sum of the squares of the unscaled gradient (count)). The order of the sum depends
// on `count` alone. A *norm that is NaN or above kLargestGradientNorm is kept, so that steps queued
// behind a diverged one update nothing. Set *norm to 0 before the first step.
cudaError_t GradientNorm(const float* gradient, size_t count, double* norm, double* workspace,
                         cudaStream_t stream);

// Updates the fp32 masters `parameter`, m and v (count each) from gradient (count), clipped by
// *norm, and writes `parameter` rounded to `copy` unless `copy` is null. decays (count / kDecayRun,
// rounded up) is 1 for parameters that decay, else 0. Changes nothing if *norm is NaN or above
// kLargestGradientNorm.
cudaError_t Adamw(const UpdateScalars* update, const double* norm, const uint8_t* decays,
                  const float* gradient, size_t count, float* parameter, float* m, float* v,
                  Bf16* copy, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ADAMW_H_
