#include "kernels/cuda/loss.h"

#include <cmath>

#include "kernels/cuda/geometry.h"
#include "kernels/numeric/bf16.h"
#include "kernels/simt/items.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

// Each warp takes one row at a time, beginning with the number of the warp in the grid and
// advancing by the number of warps.
PENSTOCK_DEVICE size_t FirstRow() { return simt::FirstItem() / simt::kWarp; }
PENSTOCK_DEVICE size_t RowStride() { return simt::ItemStride() / simt::kWarp; }
PENSTOCK_DEVICE unsigned Lane() { return simt::Thread() % simt::kWarp; }

PENSTOCK_DEVICE float SumLanes(float x) {
  for (unsigned mask = simt::kWarp / 2; mask > 0; mask /= 2) x += simt::ShuffleXor(x, mask);
  return x;
}

// The largest logit of a row, ignoring NaNs.
template <typename T>
PENSTOCK_DEVICE float LargestOf(const T* row, size_t classes) {
  float largest = -INFINITY;
  for (size_t c = Lane(); c < classes; c += simt::kWarp) {
    const float x = ToFloat(row[c]);
    if (x > largest) largest = x;
  }
  for (unsigned mask = simt::kWarp / 2; mask > 0; mask /= 2) {
    const float other = simt::ShuffleXor(largest, mask);
    if (other > largest) largest = other;
  }
  return largest;
}

template <typename T>
PENSTOCK_DEVICE float ExponentialSumOf(const T* row, size_t classes, float largest) {
  float sum = 0;
  for (size_t c = Lane(); c < classes; c += simt::kWarp)
    sum += simt::Exp(ToFloat(row[c]) - largest);
  return SumLanes(sum);
}

// The number of classes ahead of the target, as a float, which represents every possible count.
template <typename T>
PENSTOCK_DEVICE float ClassesAhead(const T* row, size_t classes, size_t target) {
  const float logit = ToFloat(row[target]);
  float ahead = 0;
  for (size_t c = Lane(); c < classes; c += simt::kWarp) {
    if (reference::IsAhead(ToFloat(row[c]), c, logit, target)) ahead += 1;
  }
  return SumLanes(ahead);
}

template <typename T>
PENSTOCK_KERNEL void ClassifyKernel(const T* logits, const float* targets, size_t samples,
                                    size_t classes, size_t stride, float* results) {
  for (size_t b = FirstRow(); b < samples; b += RowStride()) {
    const T* row = logits + b * stride;
    const bool is_class = reference::IsClass(targets[b], classes);  // The same in all lanes.
    const size_t target = is_class ? static_cast<size_t>(targets[b]) : 0;
    const float largest = LargestOf(row, classes);
    const float sum = ExponentialSumOf(row, classes, largest);
    const float ahead = ClassesAhead(row, classes, target);
    if (Lane() != 0) continue;
    results[2 * b] = is_class ? simt::Log(sum) + (largest - ToFloat(row[target])) : NAN;
    results[2 * b + 1] = is_class ? ahead : static_cast<float>(classes);
  }
}

template <typename T>
PENSTOCK_DEVICE void StoreZeros(size_t first, size_t end, T* row) {
  for (size_t c = first + Lane(); c < end; c += simt::kWarp) row[c] = T{};
}

template <typename T>
PENSTOCK_KERNEL void CrossEntropyBackwardKernel(const T* logits, const float* targets,
                                                const float* weight, size_t samples, size_t classes,
                                                size_t stride, T* dlogits) {
  for (size_t b = FirstRow(); b < samples; b += RowStride()) {
    T* gradient = dlogits + b * stride;
    const float w = weight[b];
    StoreZeros(w == 0 ? 0 : classes, stride, gradient);
    if (w == 0) continue;
    const T* row = logits + b * stride;
    const float largest = LargestOf(row, classes);
    const float sum = ExponentialSumOf(row, classes, largest), target = targets[b];
    const float factor = reference::IsClass(target, classes) ? w : NAN;
    for (size_t c = Lane(); c < classes; c += simt::kWarp) {
      const float p = simt::Exp(ToFloat(row[c]) - largest) / sum;
      const float hit = static_cast<float>(c) == target ? 1.0f : 0.0f;
      gradient[c] = FromFloat<T>((p - hit) * factor);
    }
  }
}

// A float represents every integer up to this one.
constexpr size_t kMostClasses = size_t{1} << 24;

bool AreClasses(size_t classes, size_t stride) {
  return classes > 0 && classes <= kMostClasses && classes <= stride;
}

simt::Grid WarpsFor(size_t rows) {
  return {.x = BlocksFor(rows * simt::kWarp), .threads = kThreads};
}

}  // namespace

template <typename T>
cudaError_t Classify(const T* logits, const float* targets, size_t samples, size_t classes,
                     size_t stride, float* results, cudaStream_t stream) {
  if (!AreClasses(classes, stride)) return cudaErrorInvalidValue;
  return simt::Launch(ClassifyKernel<T>, WarpsFor(samples), stream, logits, targets, samples,
                      classes, stride, results);
}

template <typename T>
cudaError_t SoftmaxCrossEntropyBackward(const T* logits, const float* targets, const float* weight,
                                        size_t samples, size_t classes, size_t stride, T* dlogits,
                                        cudaStream_t stream) {
  if (!AreClasses(classes, stride)) return cudaErrorInvalidValue;
  return simt::Launch(CrossEntropyBackwardKernel<T>, WarpsFor(samples), stream, logits, targets,
                      weight, samples, classes, stride, dlogits);
}

#define PENSTOCK_INSTANTIATE(T)                                                                  \
  template cudaError_t Classify(const T*, const float*, size_t, size_t, size_t, float*,          \
                                cudaStream_t);                                                   \
  template cudaError_t SoftmaxCrossEntropyBackward(const T*, const float*, const float*, size_t, \
                                                   size_t, size_t, T*, cudaStream_t);
PENSTOCK_INSTANTIATE(float)
PENSTOCK_INSTANTIATE(Bf16)
#undef PENSTOCK_INSTANTIATE

}  // namespace penstock::cuda
