// reference/pool.h on the GPU. The rules of activation.h hold; rows are whole 16-byte vectors of T.
#ifndef PENSTOCK_KERNELS_CUDA_POOL_H_
#define PENSTOCK_KERNELS_CUDA_POOL_H_

#include <cstddef>

#include "kernels/reference/pool.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// x += position for every sample. x (samples, size), position (size). The backward is
// AddColumnSums(dx, samples, size).
template <typename T>
cudaError_t AddPosition(const float* position, size_t samples, size_t size, T* x,
                        cudaStream_t stream);

// x (samples, tokens, dim), y (samples, dim).
template <typename T>
cudaError_t MeanPool(const T* x, size_t samples, size_t tokens, size_t dim, T* y,
                     cudaStream_t stream);

// Writes dx.
template <typename T>
cudaError_t MeanPoolBackward(const T* dy, size_t samples, size_t tokens, size_t dim, T* dx,
                             cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_POOL_H_
