// Mean squared error, and cross-entropy of a softmax.
#ifndef PENSTOCK_KERNELS_REFERENCE_LOSS_H_
#define PENSTOCK_KERNELS_REFERENCE_LOSS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace penstock::reference {

// The sum over `count` values, in index order; divide by the samples of the global batch.
template <typename T>
double SquaredErrorSum(const T* prediction, const T* target, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double error = static_cast<double>(prediction[i]) - static_cast<double>(target[i]);
    sum += error * error;
  }
  return sum;
}

// dprediction of sum * weight; weight is 1 / samples of the global batch.
template <typename T>
void SquaredErrorBackward(const T* prediction, const T* target, T weight, size_t count,
                          T* dprediction) {
  for (size_t i = 0; i < count; ++i) {
    dprediction[i] = T(2) * (prediction[i] - target[i]) * weight;
  }
}

// The squared errors' sum, and dprediction of the sum of weight times squared error. All have
// `rows` values. Rows of weight 0 are padding: nothing else of them is read, they are not in the
// sum, and their gradient is zero.
template <typename T>
double SquaredError(const T* prediction, const T* target, const T* weight, size_t rows,
                    T* dprediction) {
  double sum = 0;
  for (size_t r = 0; r < rows; ++r) {
    dprediction[r] = T(0);
    if (weight[r] == T(0)) continue;
    sum += SquaredErrorSum(prediction + r, target + r, 1);
    SquaredErrorBackward(prediction + r, target + r, weight[r], 1, dprediction + r);
  }
  return sum;
}

// The sum over the samples of -log softmax(logits)[label], and dlogits of the sum of weight times
// that. logits and dlogits (samples, classes), labels and weight (samples); labels in [0, classes).
// Samples of weight 0 are padding as above, their labels any number.
template <typename T>
double SoftmaxCrossEntropy(const T* logits, const int32_t* labels, const T* weight, size_t samples,
                           size_t classes, T* dlogits) {
  double loss = 0;
  for (size_t b = 0; b < samples; ++b) {
    std::fill_n(dlogits + b * classes, classes, T(0));
    if (weight[b] == T(0)) continue;
    const T* row = logits + b * classes;
    const auto label = static_cast<size_t>(labels[b]);
    const T largest = *std::max_element(row, row + classes);
    T sum = 0;
    for (size_t c = 0; c < classes; ++c) sum += std::exp(row[c] - largest);
    loss += static_cast<double>(largest + std::log(sum) - row[label]);
    for (size_t c = 0; c < classes; ++c) {
      const T p = std::exp(row[c] - largest) / sum;
      dlogits[b * classes + c] = (p - (c == label ? T(1) : T(0))) * weight[b];
    }
  }
  return loss;
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_LOSS_H_
