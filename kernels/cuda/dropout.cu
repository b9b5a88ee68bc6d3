#include "kernels/cuda/dropout.h"

#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/items.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

template <typename T>
PENSTOCK_KERNEL void DropOutKernel(const T* x, Dropout dropout, const uint64_t* key,
                                   uint64_t first_index, size_t count, T* y) {
  constexpr size_t kSize = Vector<T>::kSize;
  const bool active = dropout.active();
  const uint64_t random = active ? *key : 0;
  for (size_t at = simt::FirstItem() * kSize; at < count; at += simt::ItemStride() * kSize) {
    Floats<T> v = LoadUpTo(x, at, count);
    PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; ++i) {
      if (active) v.values[i] *= dropout.Factor(random, first_index + at + i);
    }
    StoreUpTo(v, y, at, count);
  }
}

}  // namespace

template <typename T>
cudaError_t DropOut(const T* x, const Dropout& dropout, const uint64_t* key, uint64_t first_index,
                    size_t count, T* y, cudaStream_t stream) {
  if (!AreAligned(x, y) || (dropout.active() && key == nullptr)) return cudaErrorInvalidValue;
  const size_t vectors = (count + Vector<T>::kSize - 1) / Vector<T>::kSize;
  return simt::Launch(DropOutKernel<T>, {.x = BlocksFor(vectors), .threads = kThreads}, stream, x,
                      dropout, key, first_index, count, y);
}

#define PENSTOCK_INSTANTIATE(T)                                                                 \
  template cudaError_t DropOut(const T*, const Dropout&, const uint64_t*, uint64_t, size_t, T*, \
                               cudaStream_t);
PENSTOCK_INSTANTIATE(float)
PENSTOCK_INSTANTIATE(Bf16)
#undef PENSTOCK_INSTANTIATE

}  // namespace penstock::cuda
