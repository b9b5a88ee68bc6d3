// Element-wise functions: GELU in both forms (Hendrycks, Gimpel, arXiv:1606.08415), tanh, and sums.
#ifndef PENSTOCK_KERNELS_REFERENCE_ACTIVATION_H_
#define PENSTOCK_KERNELS_REFERENCE_ACTIVATION_H_

#include <cmath>
#include <cstddef>
#include <numbers>

namespace penstock::reference {

enum class GeluForm { kTanh, kErf };

template <typename T>
T GeluValue(T x, GeluForm form) {
  if (form == GeluForm::kErf) {
    return T(0.5) * x * (T(1) + std::erf(x / std::numbers::sqrt2_v<T>));
  }
  const T c = std::sqrt(T(2) / std::numbers::pi_v<T>);
  return T(0.5) * x * (T(1) + std::tanh(c * (x + T(0.044715) * x * x * x)));
}

template <typename T>
T GeluSlope(T x, GeluForm form) {
  if (form == GeluForm::kErf) {
    const T density = std::exp(T(-0.5) * x * x) / std::sqrt(T(2) * std::numbers::pi_v<T>);
    return T(0.5) * (T(1) + std::erf(x / std::numbers::sqrt2_v<T>)) + x * density;
  }
  const T c = std::sqrt(T(2) / std::numbers::pi_v<T>);
  const T t = std::tanh(c * (x + T(0.044715) * x * x * x));
  return T(0.5) * (T(1) + t) +
         T(0.5) * x * (T(1) - t * t) * c * (T(1) + T(3) * T(0.044715) * x * x);
}

// x and y (count).
template <typename T>
void Gelu(const T* x, GeluForm form, size_t count, T* y) {
  for (size_t i = 0; i < count; ++i) y[i] = GeluValue(x[i], form);
}

// dx = dy * slope(x). dx may be dy.
template <typename T>
void GeluBackward(const T* dy, const T* x, GeluForm form, size_t count, T* dx) {
  for (size_t i = 0; i < count; ++i) dx[i] = dy[i] * GeluSlope(x[i], form);
}

template <typename T>
void Tanh(const T* x, size_t count, T* y) {
  for (size_t i = 0; i < count; ++i) y[i] = std::tanh(x[i]);
}

// Uses the output y. dx may be dy.
template <typename T>
void TanhBackward(const T* dy, const T* y, size_t count, T* dx) {
  for (size_t i = 0; i < count; ++i) dx[i] = dy[i] * (T(1) - y[i] * y[i]);
}

// sum += addend; adds the gradients of two shards.
template <typename T>
void Add(const T* addend, size_t count, T* sum) {
  for (size_t i = 0; i < count; ++i) sum[i] += addend[i];
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_ACTIVATION_H_
