// reference/loss.h on the GPU. The rules of activation.h hold; any address is good.
#ifndef PENSTOCK_KERNELS_CUDA_LOSS_H_
#define PENSTOCK_KERNELS_CUDA_LOSS_H_

#include <cstddef>

#include "kernels/reference/loss.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// *sum = what reference::SquaredError() returns. Targets and weights are float.
template <typename T>
cudaError_t SquaredError(const T* prediction, const float* target, const float* weight, size_t rows,
                         double* sum, T* dprediction, cudaStream_t stream);

// Classes are at least one and at most 2^24, and no more than `stride`, else cudaErrorInvalidValue.
// Targets are float: numbers of classes.
template <typename T>
cudaError_t Classify(const T* logits, const float* targets, size_t samples, size_t classes,
                     size_t stride, float* results, cudaStream_t stream);

// Classes, stride and targets as of Classify().
template <typename T>
cudaError_t SoftmaxCrossEntropyBackward(const T* logits, const float* targets, const float* weight,
                                        size_t samples, size_t classes, size_t stride, T* dlogits,
                                        cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_LOSS_H_
