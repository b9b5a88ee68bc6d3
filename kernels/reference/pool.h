// Operations across the tokens of a sample, besides attention: learned positions and the mean.
#ifndef PENSTOCK_KERNELS_REFERENCE_POOL_H_
#define PENSTOCK_KERNELS_REFERENCE_POOL_H_

#include <algorithm>
#include <cstddef>

namespace penstock::reference {

// x += position for every sample. x (samples, size), position (size).
template <typename T>
void AddPosition(const T* position, size_t samples, size_t size, T* x) {
  for (size_t b = 0; b < samples; ++b) {
    for (size_t i = 0; i < size; ++i) x[b * size + i] += position[i];
  }
}

// dposition += sum of dx over the samples.
template <typename T>
void AddPositionBackward(const T* dx, size_t samples, size_t size, T* dposition) {
  for (size_t b = 0; b < samples; ++b) {
    for (size_t i = 0; i < size; ++i) dposition[i] += dx[b * size + i];
  }
}

// x (samples, tokens, dim), y (samples, dim).
template <typename T>
void MeanPool(const T* x, size_t samples, size_t tokens, size_t dim, T* y) {
  for (size_t b = 0; b < samples; ++b) {
    T* row = y + b * dim;
    std::fill(row, row + dim, T(0));
    for (size_t t = 0; t < tokens; ++t) {
      for (size_t i = 0; i < dim; ++i) row[i] += x[(b * tokens + t) * dim + i];
    }
    for (size_t i = 0; i < dim; ++i) row[i] /= static_cast<T>(tokens);
  }
}

// Writes dx.
template <typename T>
void MeanPoolBackward(const T* dy, size_t samples, size_t tokens, size_t dim, T* dx) {
  for (size_t b = 0; b < samples; ++b) {
    for (size_t t = 0; t < tokens; ++t) {
      for (size_t i = 0; i < dim; ++i) {
        dx[(b * tokens + t) * dim + i] = dy[b * dim + i] / static_cast<T>(tokens);
      }
    }
  }
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_POOL_H_
