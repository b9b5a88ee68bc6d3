// Loads and stores of 16 bytes at a time.
#ifndef PENSTOCK_KERNELS_CUDA_VECTOR_H_
#define PENSTOCK_KERNELS_CUDA_VECTOR_H_

#include <cstddef>
#include <cstdint>

#include "kernels/numeric/bf16.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {

template <typename T>
struct alignas(16) Vector {
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));
  T values[kSize];
};

// The values of a Vector<T>, as floats.
template <typename T>
struct Floats {
  float values[Vector<T>::kSize];
};

inline bool IsAligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

template <typename... Pointers>
bool AreAligned(const Pointers*... pointers) {
  return (IsAligned(pointers) && ...);
}

// REQUIRES: `from` is a multiple of 16 bytes.
template <typename T>
PENSTOCK_DEVICE Vector<T> LoadBits(const T* from) {
  return *reinterpret_cast<const Vector<T>*>(from);
}

template <typename T>
PENSTOCK_DEVICE Floats<T> ToFloats(const Vector<T>& vector) {
  Floats<T> x;
  PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; ++i) x.values[i] =
      ToFloat(vector.values[i]);
  return x;
}

// REQUIRES: as for LoadBits().
template <typename T>
PENSTOCK_DEVICE Floats<T> LoadVector(const T* from) {
  return ToFloats(LoadBits(from));
}

// Loads the floats that belong to a Vector<T>: those of parameters that are float for every T.
// REQUIRES: as for LoadBits().
template <typename T>
PENSTOCK_DEVICE Floats<T> LoadFloats(const float* from) {
  Floats<T> x;
  PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; i += Vector<float>::kSize) {
    const Vector<float> part = LoadBits(from + i);
    PENSTOCK_UNROLL for (int n = 0; n < Vector<float>::kSize; ++n) x.values[i + n] = part.values[n];
  }
  return x;
}

template <typename T>
PENSTOCK_DEVICE void StoreVector(const Floats<T>& x, T* to) {
  Vector<T> vector;
  PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; ++i) {
    vector.values[i] = FromFloat<T>(x.values[i]);
  }
  *reinterpret_cast<Vector<T>*>(to) = vector;
}

// Loads the vector at element `at` of an array of `count` elements, with zeros beyond its end.
template <typename T>
PENSTOCK_DEVICE Floats<T> LoadUpTo(const T* from, size_t at, size_t count) {
  if (at + Vector<T>::kSize <= count) return LoadVector(from + at);
  Floats<T> x = {};
  for (int i = 0; i < Vector<T>::kSize; ++i) {
    if (at + i < count) x.values[i] = ToFloat(from[at + i]);
  }
  return x;
}

template <typename T>
PENSTOCK_DEVICE void StoreUpTo(const Floats<T>& x, T* to, size_t at, size_t count) {
  if (at + Vector<T>::kSize <= count) return StoreVector(x, to + at);
  for (int i = 0; i < Vector<T>::kSize; ++i) {
    if (at + i < count) to[at + i] = FromFloat<T>(x.values[i]);
  }
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_VECTOR_H_
