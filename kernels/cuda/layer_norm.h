// reference/layer_norm.h on the GPU. The rules of activation.h hold.
//
// gamma, beta, mean, rstd and the gradients of gamma and beta are float for every T. A row must be
// a whole number of 16-byte vectors of T and at most 1,024 values.
#ifndef PENSTOCK_KERNELS_CUDA_LAYER_NORM_H_
#define PENSTOCK_KERNELS_CUDA_LAYER_NORM_H_

#include <cstddef>

#include "kernels/reference/layer_norm.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

template <typename T>
cudaError_t LayerNorm(const T* x, const float* gamma, const float* beta, float epsilon, size_t rows,
                      size_t dim, T* y, float* mean, float* rstd, cudaStream_t stream);

// Normalises sum = x + residual, which is first rounded to T. `sum` may be x or residual.
template <typename T>
cudaError_t AddLayerNorm(const T* x, const T* residual, const float* gamma, const float* beta,
                         float epsilon, size_t rows, size_t dim, T* sum, T* y, float* mean,
                         float* rstd, cudaStream_t stream);

// Number of floats of workspace that LayerNormBackward() needs.
size_t LayerNormWorkspace(size_t rows, size_t dim);

// dx = residual_gradient + the gradient of x. `residual_gradient` may be null, which means zeros,
// and may be dx. Adds to dgamma and dbeta.
template <typename T>
cudaError_t LayerNormBackward(const T* dy, const T* x, const float* gamma, const float* mean,
                              const float* rstd, size_t rows, size_t dim,
                              const T* residual_gradient, T* dx, float* dgamma, float* dbeta,
                              float* workspace, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_LAYER_NORM_H_
