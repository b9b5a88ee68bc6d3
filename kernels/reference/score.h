// The end of the board model: the step from the last layer's output to a prediction, forward and
// backward.
#ifndef PENSTOCK_KERNELS_REFERENCE_SCORE_H_
#define PENSTOCK_KERNELS_REFERENCE_SCORE_H_

#include <cmath>
#include <cstddef>

namespace penstock::reference {

// prediction (rows) = tanh of column 0 of scores (rows, stride).
template <typename T>
void Score(const T* scores, size_t stride, size_t rows, T* prediction) {
  for (size_t r = 0; r < rows; ++r) prediction[r] = std::tanh(scores[r * stride]);
}

// Writes the gradient of the sum of weight (prediction - target)^2 with respect to column 0 of
// scores. The other columns of dscores (rows, stride) become zero. prediction, target and weight
// (rows).
template <typename T>
void ScoreBackward(const T* prediction, const T* target, const T* weight, size_t rows,
                   size_t stride, T* dscores) {
  for (size_t r = 0; r < rows; ++r) {
    const T p = prediction[r];
    for (size_t i = 0; i < stride; ++i) dscores[r * stride + i] = T(0);
    dscores[r * stride] = T(2) * (p - target[r]) * weight[r] * (T(1) - p * p);
  }
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_SCORE_H_
