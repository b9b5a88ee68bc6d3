// GELU and the sums of reference/activation.h on the GPU; tanh is part of score.h.
//
// T is float or Bf16; sums and functions are computed in float. Arrays are device memory at
// multiples of 16 bytes (else cudaErrorInvalidValue). Work is queued on `stream`; nothing is
// allocated and nothing waits, so a launch may be captured into a graph. Results have the same bits
// every time.
#ifndef PENSTOCK_KERNELS_CUDA_ACTIVATION_H_
#define PENSTOCK_KERNELS_CUDA_ACTIVATION_H_

#include <cstddef>

#include "kernels/reference/activation.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

using reference::GeluForm;

// x and y (count); y may be x.
template <typename T>
cudaError_t Gelu(const T* x, GeluForm form, size_t count, T* y, cudaStream_t stream);

// dx = dy * slope(x); dx may be dy.
template <typename T>
cudaError_t GeluBackward(const T* dy, const T* x, GeluForm form, size_t count, T* dx,
                         cudaStream_t stream);

// sum += addend.
template <typename T>
cudaError_t Add(const T* addend, size_t count, T* sum, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ACTIVATION_H_
