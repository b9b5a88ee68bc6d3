#include "kernels/cuda/loss.h"

#include <cmath>

#include "kernels/cuda/block_sum.h"
#include "kernels/cuda/geometry.h"
#include "kernels/numeric/bf16.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

// One block sums everything: a batch is some ten thousand values.
constexpr simt::Grid kSumGrid = {.threads = 1024, .shared = kSumBlockShared};

template <typename T>
PENSTOCK_KERNEL void SquaredErrorKernel(const T* prediction, const float* target,
                                        const float* weight, size_t rows, double* sum,
                                        T* dprediction) {
  double squares = 0;
  for (size_t r = simt::Thread(); r < rows; r += simt::Threads()) {
    const float w = weight[r], error = w == 0 ? 0.0f : ToFloat(prediction[r]) - target[r];
    squares += static_cast<double>(error) * static_cast<double>(error);
    dprediction[r] = FromFloat<T>(2.0f * error * w);
  }
  squares = SumBlock(squares);
  if (simt::Thread() == 0) *sum = squares;
}

PENSTOCK_KERNEL void SumKernel(const float* values, size_t count, double* sum) {
  double total = 0;
  for (size_t i = simt::Thread(); i < count; i += simt::Threads()) total += values[i];
  total = SumBlock(total);
  if (simt::Thread() == 0) *sum = total;
}

PENSTOCK_DEVICE float MaxLanes(float x) {
  for (unsigned mask = simt::kWarp / 2; mask > 0; mask /= 2) {
    x = fmaxf(x, simt::ShuffleXor(x, mask));
  }
  return x;
}

PENSTOCK_DEVICE float SumLanes(float x) {
  for (unsigned mask = simt::kWarp / 2; mask > 0; mask /= 2) x += simt::ShuffleXor(x, mask);
  return x;
}

// A warp a sample.
template <typename T>
PENSTOCK_KERNEL void CrossEntropyKernel(const T* logits, const int32_t* labels, const float* weight,
                                        size_t samples, size_t classes, float* losses, T* dlogits) {
  const unsigned lane = simt::Thread() % simt::kWarp, warps = simt::Threads() / simt::kWarp;
  for (size_t b = size_t{simt::BlockX()} * warps + simt::Thread() / simt::kWarp; b < samples;
       b += size_t{simt::GridX()} * warps) {
    if (weight[b] == 0) {
      if (lane == 0) losses[b] = 0;
      for (size_t c = lane; c < classes; c += simt::kWarp) dlogits[b * classes + c] = T{};
      continue;
    }
    const T* row = logits + b * classes;
    float largest = -INFINITY, sum = 0;
    for (size_t c = lane; c < classes; c += simt::kWarp) largest = fmaxf(largest, ToFloat(row[c]));
    largest = MaxLanes(largest);
    for (size_t c = lane; c < classes; c += simt::kWarp) sum += expf(ToFloat(row[c]) - largest);
    sum = SumLanes(sum);
    const int32_t label = labels[b];
    const bool valid = label >= 0 && static_cast<size_t>(label) < classes;
    const float factor = valid ? weight[b] : NAN;
    if (lane == 0) losses[b] = valid ? largest + logf(sum) - ToFloat(row[label]) : NAN;
    for (size_t c = lane; c < classes; c += simt::kWarp) {
      const float p = expf(ToFloat(row[c]) - largest) / sum;
      const float hit = static_cast<int64_t>(c) == label ? 1.0f : 0.0f;
      dlogits[b * classes + c] = FromFloat<T>((p - hit) * factor);
    }
  }
}

}  // namespace

template <typename T>
cudaError_t SquaredError(const T* prediction, const float* target, const float* weight, size_t rows,
                         double* sum, T* dprediction, cudaStream_t stream) {
  return simt::Launch(SquaredErrorKernel<T>, kSumGrid, stream, prediction, target, weight, rows,
                      sum, dprediction);
}

template <typename T>
cudaError_t SoftmaxCrossEntropy(const T* logits, const int32_t* labels, const float* weight,
                                size_t samples, size_t classes, double* sum, T* dlogits,
                                float* workspace, cudaStream_t stream) {
  const cudaError_t error = simt::Launch(
      CrossEntropyKernel<T>, {.x = BlocksFor(samples * simt::kWarp), .threads = kThreads}, stream,
      logits, labels, weight, samples, classes, workspace, dlogits);
  if (error != cudaSuccess) return error;
  return simt::Launch(SumKernel, kSumGrid, stream, workspace, samples, sum);
}

#define PENSTOCK_INSTANTIATE(T)                                                                    \
  template cudaError_t SquaredError(const T*, const float*, const float*, size_t, double*, T*,     \
                                    cudaStream_t);                                                 \
  template cudaError_t SoftmaxCrossEntropy(const T*, const int32_t*, const float*, size_t, size_t, \
                                           double*, T*, float*, cudaStream_t);
PENSTOCK_INSTANTIATE(float)
PENSTOCK_INSTANTIATE(Bf16)
#undef PENSTOCK_INSTANTIATE

}  // namespace penstock::cuda
