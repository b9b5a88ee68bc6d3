#include "kernels/cuda/activation.h"

#include <cmath>

#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/items.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

constexpr float kLog2E = 1.4426950408889634f;

PENSTOCK_DEVICE float Sigmoid(float x) { return 1.0f / (1.0f + simt::Exp2(-kLog2E * x)); }

// The tanh form is x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3). This avoids the cancellation
// in 1 + tanh(u) when u is far below zero.
struct GeluTanh {
  static constexpr float kTwiceRoot = 1.5957691216057308f, kCubic = 0.044715f;
  PENSTOCK_DEVICE static float Value(float x) {
    return x * Sigmoid(kTwiceRoot * (x + kCubic * x * x * x));
  }
  PENSTOCK_DEVICE static float Slope(float x) {
    const float s = Sigmoid(kTwiceRoot * (x + kCubic * x * x * x));
    return s + x * s * (1.0f - s) * kTwiceRoot * (1.0f + 3.0f * kCubic * x * x);
  }
};

struct GeluErf {
  static constexpr float kInverseRoot2 = 0.70710678118654752f;
  static constexpr float kDensityAt0 = 0.39894228040143268f;  // 1 / sqrt(2 pi).
  PENSTOCK_DEVICE static float Cdf(float x) { return 0.5f * simt::Erfc(-kInverseRoot2 * x); }
  PENSTOCK_DEVICE static float Value(float x) { return x * Cdf(x); }
  PENSTOCK_DEVICE static float Slope(float x) {
    return Cdf(x) + x * kDensityAt0 * simt::Exp2(-0.5f * kLog2E * x * x);
  }
};

// Returns dy * slope(x). The first argument is the gradient dy.
template <typename Form>
struct TimesSlope {
  PENSTOCK_DEVICE static float Value(float dy, float x) { return dy * Form::Slope(x); }
};

struct SumOf {
  PENSTOCK_DEVICE static float Value(float a, float b) { return a + b; }
};

template <typename T, typename Function>
PENSTOCK_KERNEL void MapKernel(const T* x, size_t count, T* y) {
  constexpr size_t kSize = Vector<T>::kSize;
  const size_t stride = simt::ItemStride() * kSize;
  for (size_t at = simt::FirstItem() * kSize; at < count; at += stride) {
    Floats<T> v = LoadUpTo(x, at, count);
    PENSTOCK_UNROLL for (float& value : v.values) value = Function::Value(value);
    StoreUpTo(v, y, at, count);
  }
}

template <typename T, typename Function>
PENSTOCK_KERNEL void MapPairsKernel(const T* a, const T* b, size_t count, T* y) {
  constexpr size_t kSize = Vector<T>::kSize;
  const size_t stride = simt::ItemStride() * kSize;
  for (size_t at = simt::FirstItem() * kSize; at < count; at += stride) {
    Floats<T> v = LoadUpTo(a, at, count);
    const Floats<T> w = LoadUpTo(b, at, count);
    PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; ++i) {
      v.values[i] = Function::Value(v.values[i], w.values[i]);
    }
    StoreUpTo(v, y, at, count);
  }
}

template <typename Function, typename T>
cudaError_t Map(const T* x, size_t count, T* y, cudaStream_t stream) {
  if (!AreAligned(x, y)) return cudaErrorInvalidValue;
  const size_t vectors = (count + Vector<T>::kSize - 1) / Vector<T>::kSize;
  return simt::Launch(MapKernel<T, Function>, {.x = BlocksFor(vectors), .threads = kThreads},
                      stream, x, count, y);
}

template <typename Function, typename T>
cudaError_t MapPairs(const T* a, const T* b, size_t count, T* y, cudaStream_t stream) {
  if (!AreAligned(a, b, y)) return cudaErrorInvalidValue;
  const size_t vectors = (count + Vector<T>::kSize - 1) / Vector<T>::kSize;
  return simt::Launch(MapPairsKernel<T, Function>, {.x = BlocksFor(vectors), .threads = kThreads},
                      stream, a, b, count, y);
}

}  // namespace

template <typename T>
cudaError_t Gelu(const T* x, GeluForm form, size_t count, T* y, cudaStream_t stream) {
  return form == GeluForm::kTanh ? Map<GeluTanh>(x, count, y, stream)
                                 : Map<GeluErf>(x, count, y, stream);
}

template <typename T>
cudaError_t GeluBackward(const T* dy, const T* x, GeluForm form, size_t count, T* dx,
                         cudaStream_t stream) {
  return form == GeluForm::kTanh ? MapPairs<TimesSlope<GeluTanh>>(dy, x, count, dx, stream)
                                 : MapPairs<TimesSlope<GeluErf>>(dy, x, count, dx, stream);
}

template <typename T>
cudaError_t Add(const T* addend, size_t count, T* sum, cudaStream_t stream) {
  return MapPairs<SumOf>(sum, addend, count, sum, stream);
}

#define PENSTOCK_INSTANTIATE(T)                                                              \
  template cudaError_t Gelu(const T*, GeluForm, size_t, T*, cudaStream_t);                   \
  template cudaError_t GeluBackward(const T*, const T*, GeluForm, size_t, T*, cudaStream_t); \
  template cudaError_t Add(const T*, size_t, T*, cudaStream_t);
PENSTOCK_INSTANTIATE(float)
PENSTOCK_INSTANTIATE(Bf16)
#undef PENSTOCK_INSTANTIATE

}  // namespace penstock::cuda
