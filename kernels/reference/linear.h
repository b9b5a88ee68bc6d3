// Fully connected layer, in plain loops: the definition that faster code is tested against.
#ifndef PENSTOCK_KERNELS_REFERENCE_LINEAR_H_
#define PENSTOCK_KERNELS_REFERENCE_LINEAR_H_

#include <cstddef>

namespace penstock::reference {

// y = x w^T + bias [+ residual]. x (rows, in), w (out, in), bias (out), residual and y (rows, out);
// `residual` may be null and may be y.
template <typename T>
void Linear(const T* x, const T* w, const T* bias, const T* residual, size_t rows, size_t in,
            size_t out, T* y) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t o = 0; o < out; ++o) {
      T sum = bias[o];
      for (size_t i = 0; i < in; ++i) sum += x[r * in + i] * w[o * in + i];
      y[r * out + o] = residual == nullptr ? sum : residual[r * out + o] + sum;
    }
  }
}

// dx = dy w. dy (rows, out), w (out, in), dx (rows, in).
template <typename T>
void LinearBackwardInput(const T* dy, const T* w, size_t rows, size_t in, size_t out, T* dx) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < in; ++i) {
      T sum = 0;
      for (size_t o = 0; o < out; ++o) sum += dy[r * out + o] * w[o * in + i];
      dx[r * in + i] = sum;
    }
  }
}

// dw += dy^T x, dbias += column sums of dy.
template <typename T>
void LinearBackwardWeight(const T* dy, const T* x, size_t rows, size_t in, size_t out, T* dw,
                          T* dbias) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t o = 0; o < out; ++o) {
      const T gradient = dy[r * out + o];
      dbias[o] += gradient;
      for (size_t i = 0; i < in; ++i) dw[o * in + i] += gradient * x[r * in + i];
    }
  }
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_LINEAR_H_
