#include "kernels/cuda/pool.h"

#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/items.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

template <typename T>
PENSTOCK_KERNEL void AddPositionKernel(const float* position, size_t samples, size_t size, T* x) {
  const size_t vectors = size / Vector<T>::kSize;  // Per sample.
  for (size_t i = simt::FirstItem(); i < samples * vectors; i += simt::ItemStride()) {
    const Floats<T> p = LoadFloats<T>(position + i % vectors * Vector<T>::kSize);
    Floats<T> v = LoadVector(x + i * Vector<T>::kSize);
    PENSTOCK_UNROLL for (int n = 0; n < Vector<T>::kSize; ++n) v.values[n] += p.values[n];
    StoreVector(v, x + i * Vector<T>::kSize);
  }
}

// A warp takes kPoolLanes neighbouring vectors of a sample. Its groups of kPoolLanes lanes take
// every kPoolGroups-th token, so that a few short rows give enough threads.
constexpr unsigned kPoolLanes = 8, kPoolGroups = simt::kWarp / kPoolLanes;

template <typename T>
PENSTOCK_KERNEL void MeanPoolKernel(const T* x, size_t samples, size_t tokens, size_t dim, T* y) {
  constexpr int kSize = Vector<T>::kSize;
  const unsigned lane = simt::Thread() % simt::kWarp, group = lane / kPoolLanes;
  const size_t vectors = dim / kSize, warps = (vectors + kPoolLanes - 1) / kPoolLanes;
  for (size_t w = simt::FirstItem() / simt::kWarp; w < samples * warps;
       w += simt::ItemStride() / simt::kWarp) {
    const size_t sample = w / warps, vector = w % warps * kPoolLanes + lane % kPoolLanes;
    Floats<T> sum = {};
    for (size_t t = group; t < tokens && vector < vectors; t += kPoolGroups) {
      const Floats<T> v = LoadVector(x + (sample * tokens + t) * dim + vector * kSize);
      PENSTOCK_UNROLL for (int n = 0; n < kSize; ++n) sum.values[n] += v.values[n];
    }
    PENSTOCK_UNROLL for (float& value : sum.values) {
      PENSTOCK_UNROLL for (unsigned mask = kPoolLanes; mask < simt::kWarp; mask *= 2) {
        value += simt::ShuffleXor(value, mask);
      }
      value /= static_cast<float>(tokens);
    }
    if (group == 0 && vector < vectors) StoreVector(sum, y + sample * dim + vector * kSize);
  }
}

template <typename T>
PENSTOCK_KERNEL void MeanPoolBackwardKernel(const T* dy, size_t samples, size_t tokens, size_t dim,
                                            T* dx) {
  const size_t vectors = dim / Vector<T>::kSize;
  for (size_t i = simt::FirstItem(); i < samples * tokens * vectors; i += simt::ItemStride()) {
    const size_t sample = i / vectors / tokens;
    Floats<T> v = LoadVector(dy + sample * dim + i % vectors * Vector<T>::kSize);
    PENSTOCK_UNROLL for (float& value : v.values) value /= static_cast<float>(tokens);
    StoreVector(v, dx + i * Vector<T>::kSize);
  }
}

// A grid of blocks of kThreads; each thread takes one vector of the rows of `row` values.
template <typename T>
simt::Grid GridFor(size_t rows, size_t row) {
  return {.x = BlocksFor(rows * (row / Vector<T>::kSize)), .threads = kThreads};
}

template <typename T>
bool IsWhole(size_t row) {
  return row % Vector<T>::kSize == 0;
}

}  // namespace

template <typename T>
cudaError_t AddPosition(const float* position, size_t samples, size_t size, T* x,
                        cudaStream_t stream) {
  if (!IsWhole<T>(size) || !AreAligned(position, x)) return cudaErrorInvalidValue;
  return simt::Launch(AddPositionKernel<T>, GridFor<T>(samples, size), stream, position, samples,
                      size, x);
}

template <typename T>
cudaError_t MeanPool(const T* x, size_t samples, size_t tokens, size_t dim, T* y,
                     cudaStream_t stream) {
  if (!IsWhole<T>(dim) || !AreAligned(x, y)) return cudaErrorInvalidValue;
  const size_t warps = (dim / Vector<T>::kSize + kPoolLanes - 1) / kPoolLanes;  // Per sample.
  const simt::Grid grid{.x = BlocksFor(samples * warps * simt::kWarp), .threads = kThreads};
  return simt::Launch(MeanPoolKernel<T>, grid, stream, x, samples, tokens, dim, y);
}

template <typename T>
cudaError_t MeanPoolBackward(const T* dy, size_t samples, size_t tokens, size_t dim, T* dx,
                             cudaStream_t stream) {
  if (!IsWhole<T>(dim) || !AreAligned(dy, dx)) return cudaErrorInvalidValue;
  return simt::Launch(MeanPoolBackwardKernel<T>, GridFor<T>(samples * tokens, dim), stream, dy,
                      samples, tokens, dim, dx);
}

#define PENSTOCK_INSTANTIATE(T)                                                      \
  template cudaError_t AddPosition(const float*, size_t, size_t, T*, cudaStream_t);  \
  template cudaError_t MeanPool(const T*, size_t, size_t, size_t, T*, cudaStream_t); \
  template cudaError_t MeanPoolBackward(const T*, size_t, size_t, size_t, T*, cudaStream_t);
PENSTOCK_INSTANTIATE(float)
PENSTOCK_INSTANTIATE(Bf16)
#undef PENSTOCK_INSTANTIATE

}  // namespace penstock::cuda
