// Products of a linear layer with kNarrow outputs, for libraries that lack them. The rules of
// activation.h hold.
#ifndef PENSTOCK_KERNELS_CUDA_NARROW_LINEAR_H_
#define PENSTOCK_KERNELS_CUDA_NARROW_LINEAR_H_

#include <cstddef>

#include "kernels/cuda/geometry.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// y (rows, kNarrow) = x (rows, in) w^T + bias, with w (kNarrow, in). `in` must be a whole number of
// 16-byte vectors of T, here and below.
template <typename T>
cudaError_t NarrowLinear(const T* x, const T* w, const T* bias, size_t rows, size_t in, T* y,
                         cudaStream_t stream);

// dx (rows, in) = dy (rows, kNarrow) w.
template <typename T>
cudaError_t NarrowBackwardInput(const T* dy, const T* w, size_t rows, size_t in, T* dx,
                                cudaStream_t stream);

// Number of floats of workspace that NarrowBackwardWeight() needs.
size_t NarrowWorkspace(size_t rows, size_t in);

// dw (kNarrow, in) += dy^T x. The order of the sum depends on the shape alone.
template <typename T>
cudaError_t NarrowBackwardWeight(const T* dy, const T* x, size_t rows, size_t in, float* dw,
                                 float* workspace, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_NARROW_LINEAR_H_
