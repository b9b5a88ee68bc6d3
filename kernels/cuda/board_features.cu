#include "kernels/cuda/board_features.h"

#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/items.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

using reference::kBoardFeatures;
using reference::kBoardFlags;
using reference::kBoardPlanes;
using reference::kBoardSquares;
using reference::kPackedBoardBytes;

// Features from packed records: At() returns feature `index` of a square.
struct Packed {
  const uint8_t* packed;
  PENSTOCK_DEVICE float At(size_t sample, unsigned square, unsigned index) const {
    const unsigned k = index / 6, t = index % 6;
    const bool plane = index < kBoardPlanes;
    const unsigned bit = plane ? kBoardPlanes * square + 4 * t + k
                               : kBoardSquares * kBoardPlanes + index - kBoardPlanes;
    const unsigned byte = packed[sample * kPackedBoardBytes + bit / 8];
    const float value = (byte >> (7 - bit % 8)) & 1;
    return plane && k % 2 == 1 && value != 0.0f ? -1.0f : value;
  }
};

template <typename S>
struct Decoded {
  const S* planes;
  const S* flags;
  PENSTOCK_DEVICE float At(size_t sample, unsigned square, unsigned index) const {
    return index < kBoardPlanes ? planes[(sample * kBoardSquares + square) * kBoardPlanes + index]
                                : flags[sample * kBoardFlags + index - kBoardPlanes];
  }
};

// Each thread writes one vector of features.
template <typename Source, typename T>
PENSTOCK_KERNEL void BoardKernel(Source source, size_t samples, unsigned stride, T* features) {
  const unsigned vectors = stride / Vector<T>::kSize;  // Vectors per square.
  const size_t count = samples * kBoardSquares * vectors;
  for (size_t i = simt::FirstItem(); i < count; i += simt::ItemStride()) {
    const size_t token = i / vectors, sample = token / kBoardSquares;
    const auto square = static_cast<unsigned>(token % kBoardSquares);
    const auto first = static_cast<unsigned>(i % vectors) * Vector<T>::kSize;
    Floats<T> x = {};
    PENSTOCK_UNROLL for (unsigned v = 0; v < Vector<T>::kSize; ++v) {
      if (first + v < kBoardFeatures) x.values[v] = source.At(sample, square, first + v);
    }
    StoreVector(x, features + i * Vector<T>::kSize);
  }
}

template <typename Source, typename T>
cudaError_t Expand(Source source, size_t samples, size_t stride, T* features, cudaStream_t stream) {
  if (stride < kBoardFeatures || stride % Vector<T>::kSize != 0 || !IsAligned(features)) {
    return cudaErrorInvalidValue;
  }
  const size_t vectors = samples * kBoardSquares * (stride / Vector<T>::kSize);
  return simt::Launch(BoardKernel<Source, T>, {.x = BlocksFor(vectors), .threads = kThreads},
                      stream, source, samples, stride, features);
}

}  // namespace

template <typename T>
cudaError_t ExpandPackedBoards(const uint8_t* packed, size_t samples, size_t stride, T* features,
                               cudaStream_t stream) {
  return Expand(Packed{packed}, samples, stride, features, stream);
}

template <typename S, typename T>
cudaError_t JoinBoardPlanes(const S* planes, const S* flags, size_t samples, size_t stride,
                            T* features, cudaStream_t stream) {
  return Expand(Decoded<S>{planes, flags}, samples, stride, features, stream);
}

#define PENSTOCK_INSTANTIATE(T)                                                              \
  template cudaError_t ExpandPackedBoards(const uint8_t*, size_t, size_t, T*, cudaStream_t); \
  template cudaError_t JoinBoardPlanes(const int8_t*, const int8_t*, size_t, size_t, T*,     \
                                       cudaStream_t);                                        \
  template cudaError_t JoinBoardPlanes(const float*, const float*, size_t, size_t, T*,       \
                                       cudaStream_t);
PENSTOCK_INSTANTIATE(float)
PENSTOCK_INSTANTIATE(Bf16)
#undef PENSTOCK_INSTANTIATE

}  // namespace penstock::cuda
