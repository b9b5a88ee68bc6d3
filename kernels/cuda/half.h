// Converts gradients to 16 bits for sending, and back. The rules of activation.h hold.
#ifndef PENSTOCK_KERNELS_CUDA_HALF_H_
#define PENSTOCK_KERNELS_CUDA_HALF_H_

#include <cstddef>

#include "kernels/numeric/wire.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// Half is Bf16 or Fp16. Applies ToWire() or FromWire() to each value.
template <typename Half>
cudaError_t Narrow(const float* from, size_t count, Half* to, cudaStream_t stream);
template <typename Half>
cudaError_t Widen(const Half* from, size_t count, float* to, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_HALF_H_
