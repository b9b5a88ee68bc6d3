// Layer normalisation over the last axis (Ba, Kiros, Hinton, arXiv:1607.06450).
#ifndef PENSTOCK_KERNELS_REFERENCE_LAYER_NORM_H_
#define PENSTOCK_KERNELS_REFERENCE_LAYER_NORM_H_

#include <cmath>
#include <cstddef>

namespace penstock::reference {

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, the variance divided by dim.
// x and y (rows, dim), gamma and beta (dim); mean and rstd (rows) are kept for the backward.
template <typename T>
void LayerNorm(const T* x, const T* gamma, const T* beta, T epsilon, size_t rows, size_t dim, T* y,
               T* mean, T* rstd) {
  for (size_t r = 0; r < rows; ++r) {
    const T* row = x + r * dim;
    T sum = 0, squares = 0;
    for (size_t i = 0; i < dim; ++i) sum += row[i];
    mean[r] = sum / static_cast<T>(dim);
    for (size_t i = 0; i < dim; ++i) squares += (row[i] - mean[r]) * (row[i] - mean[r]);
    rstd[r] = T(1) / std::sqrt(squares / static_cast<T>(dim) + epsilon);
    for (size_t i = 0; i < dim; ++i) {
      y[r * dim + i] = (row[i] - mean[r]) * rstd[r] * gamma[i] + beta[i];
    }
  }
}

// Normalises sum = x + residual, which it also writes. `sum` may be x or residual.
template <typename T>
void AddLayerNorm(const T* x, const T* residual, const T* gamma, const T* beta, T epsilon,
                  size_t rows, size_t dim, T* sum, T* y, T* mean, T* rstd) {
  for (size_t i = 0; i < rows * dim; ++i) sum[i] = x[i] + residual[i];
  LayerNorm(sum, gamma, beta, epsilon, rows, dim, y, mean, rstd);
}

// dx += the gradient of x (the residual path has already put its own gradient there). Adds to
// dgamma and dbeta.
template <typename T>
void LayerNormBackward(const T* dy, const T* x, const T* gamma, const T* mean, const T* rstd,
                       size_t rows, size_t dim, T* dx, T* dgamma, T* dbeta) {
  for (size_t r = 0; r < rows; ++r) {
    T sum = 0, dot = 0;  // Sums of g = dy * gamma, and of g times the normalised x.
    for (size_t i = 0; i < dim; ++i) {
      const T normal = (x[r * dim + i] - mean[r]) * rstd[r];
      const T g = dy[r * dim + i] * gamma[i];
      sum += g;
      dot += g * normal;
      dgamma[i] += dy[r * dim + i] * normal;
      dbeta[i] += dy[r * dim + i];
    }
    for (size_t i = 0; i < dim; ++i) {
      const T normal = (x[r * dim + i] - mean[r]) * rstd[r];
      const T g = dy[r * dim + i] * gamma[i];
      dx[r * dim + i] += rstd[r] * (g - (sum + normal * dot) / static_cast<T>(dim));
    }
  }
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_LAYER_NORM_H_
