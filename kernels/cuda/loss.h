// reference/loss.h on the GPU. The rules of activation.h hold; any address is good.
#ifndef PENSTOCK_KERNELS_CUDA_LOSS_H_
#define PENSTOCK_KERNELS_CUDA_LOSS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/reference/loss.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// *sum = what reference::SquaredError() returns. Targets and weights are float.
template <typename T>
cudaError_t SquaredError(const T* prediction, const float* target, const float* weight, size_t rows,
                         double* sum, T* dprediction, cudaStream_t stream);

// *sum = what reference::SoftmaxCrossEntropy() returns. A label outside [0, classes) of a sample
// that has a weight makes the sum and its sample's gradient NaN. workspace (samples).
template <typename T>
cudaError_t SoftmaxCrossEntropy(const T* logits, const int32_t* labels, const float* weight,
                                size_t samples, size_t classes, double* sum, T* dlogits,
                                float* workspace, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_LOSS_H_
