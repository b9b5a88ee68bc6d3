// reference/score.h on the GPU. The rules of activation.h hold, except that arrays may lie at any
// address. Predictions, targets and weights are float for every T.
#ifndef PENSTOCK_KERNELS_CUDA_SCORE_H_
#define PENSTOCK_KERNELS_CUDA_SCORE_H_

#include <cstddef>

#include "kernels/reference/score.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

template <typename T>
cudaError_t Score(const T* scores, size_t stride, size_t rows, float* prediction,
                  cudaStream_t stream);

// A weight of 0 makes the row's gradient 0 for every prediction that is a number.
template <typename T>
cudaError_t ScoreBackward(const float* prediction, const float* target, const float* weight,
                          size_t rows, size_t stride, T* dscores, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_SCORE_H_
