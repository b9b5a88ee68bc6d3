// The cross-entropy of reference/loss.h on the GPU; the squared error's gradient is in score.h. The
// rules of activation.h hold; any address is good.
#ifndef PENSTOCK_KERNELS_CUDA_LOSS_H_
#define PENSTOCK_KERNELS_CUDA_LOSS_H_

#include <cstddef>

#include "kernels/reference/loss.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

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
