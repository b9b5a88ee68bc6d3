// Mean squared error.
#ifndef PENSTOCK_KERNELS_REFERENCE_LOSS_H_
#define PENSTOCK_KERNELS_REFERENCE_LOSS_H_

#include <cstddef>

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

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_LOSS_H_
