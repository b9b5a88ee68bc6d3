#include "kernels/cuda/score.h"

#include "kernels/cuda/geometry.h"
#include "kernels/numeric/bf16.h"
#include "kernels/simt/items.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

template <typename T>
PENSTOCK_KERNEL void ScoreKernel(const T* scores, size_t stride, size_t rows, float* prediction) {
  for (size_t r = simt::FirstItem(); r < rows; r += simt::ItemStride()) {
    prediction[r] = simt::Tanh(ToFloat(scores[r * stride]));
  }
}

// Each thread writes one element.
template <typename T>
PENSTOCK_KERNEL void ScoreBackwardKernel(const float* prediction, const float* target,
                                         const float* weight, size_t rows, size_t stride,
                                         T* dscores) {
  for (size_t i = simt::FirstItem(); i < rows * stride; i += simt::ItemStride()) {
    const size_t r = i / stride;
    float gradient = 0;
    if (i % stride == 0) {
      const float p = prediction[r];
      gradient = 2.0f * (p - target[r]) * weight[r] * (1.0f - p * p);
    }
    dscores[i] = FromFloat<T>(gradient);
  }
}

}  // namespace

template <typename T>
cudaError_t Score(const T* scores, size_t stride, size_t rows, float* prediction,
                  cudaStream_t stream) {
  return simt::Launch(ScoreKernel<T>, {.x = BlocksFor(rows), .threads = kThreads}, stream, scores,
                      stride, rows, prediction);
}

template <typename T>
cudaError_t ScoreBackward(const float* prediction, const float* target, const float* weight,
                          size_t rows, size_t stride, T* dscores, cudaStream_t stream) {
  return simt::Launch(ScoreBackwardKernel<T>, {.x = BlocksFor(rows * stride), .threads = kThreads},
                      stream, prediction, target, weight, rows, stride, dscores);
}

#define PENSTOCK_INSTANTIATE(T)                                                                    \
  template cudaError_t Score(const T*, size_t, size_t, float*, cudaStream_t);                      \
  template cudaError_t ScoreBackward(const float*, const float*, const float*, size_t, size_t, T*, \
                                     cudaStream_t);
PENSTOCK_INSTANTIATE(float)
PENSTOCK_INSTANTIATE(Bf16)
#undef PENSTOCK_INSTANTIATE

}  // namespace penstock::cuda
