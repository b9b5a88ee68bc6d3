#include "kernels/cuda/dropout.h"

#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/items.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

template <typename T>
PENSTOCK_KERNEL void DropOutKernel(const T* x, Dropout dropout, const DropoutDraw* draw,
                                   size_t width, size_t count, T* y) {
  constexpr size_t kSize = Vector<T>::kSize;
  const bool active = dropout.active();
  const uint64_t key = active ? draw->key : 0;
  const uint64_t first_index = active ? draw->first_sample * width : 0;
  for (size_t at = simt::FirstItem() * kSize; at < count; at += simt::ItemStride() * kSize) {
    Floats<T> v = LoadUpTo(x, at, count);
    PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; ++i) {
      if (active) v.values[i] *= dropout.Factor(key, first_index + at + i);
    }
    StoreUpTo(v, y, at, count);
  }
}

}  // namespace

template <typename T>
cudaError_t DropOut(const T* x, const Dropout& dropout, const DropoutDraw* draw, size_t samples,
                    size_t width, T* y, cudaStream_t stream) {
  if (!AreAligned(x, y) || (dropout.active() && draw == nullptr)) return cudaErrorInvalidValue;
  const size_t count = samples * width;
  const size_t vectors = (count + Vector<T>::kSize - 1) / Vector<T>::kSize;
  return simt::Launch(DropOutKernel<T>, {.x = BlocksFor(vectors), .threads = kThreads}, stream, x,
                      dropout, draw, width, count, y);
}

#define PENSTOCK_INSTANTIATE(T)                                                                  \
  template cudaError_t DropOut(const T*, const Dropout&, const DropoutDraw*, size_t, size_t, T*, \
                               cudaStream_t);
PENSTOCK_INSTANTIATE(float)
PENSTOCK_INSTANTIATE(Bf16)
#undef PENSTOCK_INSTANTIATE

}  // namespace penstock::cuda
