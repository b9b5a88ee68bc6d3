// How many blocks and threads do how much: pure functions of the shapes, never of the GPU, so that
// sums are taken in the same order everywhere.
#ifndef PENSTOCK_KERNELS_CUDA_GEOMETRY_H_
#define PENSTOCK_KERNELS_CUDA_GEOMETRY_H_

#include <algorithm>
#include <cstddef>

namespace penstock::cuda {

inline constexpr unsigned kThreads = 256;
// Enough for any GPU to be full; beyond it a thread takes several items.
inline constexpr size_t kMostBlocks = 1 << 16;

// Blocks of kThreads for `items`, one a thread.
constexpr unsigned BlocksFor(size_t items) {
  return static_cast<unsigned>(std::min((items + kThreads - 1) / kThreads, kMostBlocks));
}

// Sums over rows are taken in parts whose results a second pass adds in order. At most kMostParts
// parts, and no part of fewer than kLeastRows rows unless it is the only one.
inline constexpr size_t kMostParts = 256;
inline constexpr size_t kLeastRows = 32;

constexpr unsigned PartsOf(size_t rows) {
  return static_cast<unsigned>(std::clamp<size_t>(rows / kLeastRows, 1, kMostParts));
}

// Part p of `parts` is rows [FirstOf(p), FirstOf(p + 1)).
constexpr size_t FirstOf(size_t rows, unsigned parts, unsigned part) {
  return rows / parts * part + std::min<size_t>(part, rows % parts);
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_GEOMETRY_H_
