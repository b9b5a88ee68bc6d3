// Mean squared error, and cross-entropy of a softmax.
#ifndef PENSTOCK_KERNELS_REFERENCE_LOSS_H_
#define PENSTOCK_KERNELS_REFERENCE_LOSS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/numeric/host_device.h"

namespace penstock::reference {

// Returns the sum of the squared errors of `count` values, added in index order. To get the mean,
// divide it by the number of samples in the global batch.
template <typename T>
double SquaredErrorSum(const T* prediction, const T* target, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double error = static_cast<double>(prediction[i]) - static_cast<double>(target[i]);
    sum += error * error;
  }
  return sum;
}

// Writes the gradient of sum * weight with respect to the prediction. `weight` is 1 / the number of
// samples in the global batch.
template <typename T>
void SquaredErrorBackward(const T* prediction, const T* target, T weight, size_t count,
                          T* dprediction) {
  for (size_t i = 0; i < count; ++i) {
    dprediction[i] = T(2) * (prediction[i] - target[i]) * weight;
  }
}

// Returns whether `target` is a class number, an integer in [0, classes). REQUIRES: T represents
// all of those integers; float does up to 2^24.
template <typename T>
PENSTOCK_HOST_DEVICE bool IsClass(T target, size_t classes) {
  return target >= T(0) && target < static_cast<T>(classes) &&
         target == static_cast<T>(static_cast<size_t>(target));
}

// Returns the sum over a row of exp(logit - largest).
template <typename T>
T ExponentialSum(const T* row, size_t classes, T largest) {
  T sum = 0;
  for (size_t c = 0; c < classes; ++c) sum += std::exp(row[c] - largest);
  return sum;
}

// Returns whether class `c` ranks before the target by likelihood. If logits are equal, the lower
// class number ranks first. A NaN ranks before every number; everything ranks before a target whose
// logit is NaN.
template <typename T>
PENSTOCK_HOST_DEVICE bool IsAhead(T logit, size_t c, T target_logit, size_t target) {
  return c != target && !(logit < target_logit || (logit == target_logit && c > target));
}

// Writes for each sample {-log softmax(logits)[target], the number of classes ahead of the target}.
// The second is 0 if the target is the most likely class. If the target is no class, the loss is
// NaN and all classes are ahead. A NaN logit may have the same result. logits (samples, stride),
// whose columns from `classes` on are not read; targets (samples); results (samples, 2).
template <typename T>
void Classify(const T* logits, const T* targets, size_t samples, size_t classes, size_t stride,
              T* results) {
  for (size_t b = 0; b < samples; ++b) {
    const T* row = logits + b * stride;
    const T* largest = std::max_element(row, row + classes);
    results[2 * b] = std::numeric_limits<T>::quiet_NaN();
    results[2 * b + 1] = static_cast<T>(classes);
    if (!IsClass(targets[b], classes)) continue;
    const auto target = static_cast<size_t>(targets[b]);
    size_t ahead = 0;
    for (size_t c = 0; c < classes; ++c) ahead += IsAhead(row[c], c, row[target], target);
    results[2 * b] = std::log(ExponentialSum(row, classes, *largest)) + (*largest - row[target]);
    results[2 * b + 1] = static_cast<T>(ahead);
  }
}

// Writes the gradient, with respect to the logits, of the sum of weight times the losses of
// Classify(). Columns from `classes` on become zero. dlogits (samples, stride) must not be logits;
// weight (samples). Samples of weight 0 are padding: only their weight is read, and their gradient
// is zero. The gradient of other samples whose target is no class is NaN.
template <typename T>
void SoftmaxCrossEntropyBackward(const T* logits, const T* targets, const T* weight, size_t samples,
                                 size_t classes, size_t stride, T* dlogits) {
  std::fill_n(dlogits, samples * stride, T(0));
  for (size_t b = 0; b < samples; ++b) {
    if (weight[b] == T(0)) continue;
    const T* row = logits + b * stride;
    const T factor = IsClass(targets[b], classes) ? weight[b] : std::numeric_limits<T>::quiet_NaN();
    const T largest = *std::max_element(row, row + classes);
    const T sum = ExponentialSum(row, classes, largest);
    for (size_t c = 0; c < classes; ++c) {
      const T p = std::exp(row[c] - largest) / sum;
      dlogits[b * stride + c] = (p - (static_cast<T>(c) == targets[b] ? T(1) : T(0))) * factor;
    }
  }
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_LOSS_H_
