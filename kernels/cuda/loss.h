// The cross-entropy of reference/loss.h on the GPU; score.h has the gradient of the squared error.
// The rules of activation.h hold, except that arrays may lie at any address.
#ifndef PENSTOCK_KERNELS_CUDA_LOSS_H_
#define PENSTOCK_KERNELS_CUDA_LOSS_H_

#include <cstddef>

#include "kernels/reference/loss.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// There must be at least one class, at most 2^24 and at most `stride`, else cudaErrorInvalidValue.
// Targets are class numbers, stored as float.
template <typename T>
cudaError_t Classify(const T* logits, const float* targets, size_t samples, size_t classes,
                     size_t stride, float* results, cudaStream_t stream);

// Classes, stride and targets are as in Classify().
template <typename T>
cudaError_t SoftmaxCrossEntropyBackward(const T* logits, const float* targets, const float* weight,
                                        size_t samples, size_t classes, size_t stride, T* dlogits,
                                        cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_LOSS_H_
