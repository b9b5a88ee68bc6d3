// How many blocks and threads do how much: pure functions of the shapes, never of the GPU, so that
// sums are taken in the same order everywhere.
#ifndef PENSTOCK_KERNELS_CUDA_GEOMETRY_H_
#define PENSTOCK_KERNELS_CUDA_GEOMETRY_H_

#include <algorithm>
#include <cstddef>

#include "kernels/numeric/host_device.h"

namespace penstock::cuda {

inline constexpr unsigned kThreads = 256;
// Enough for any GPU to be full; beyond it a thread takes several items. Two where emulated, so
// that arrays of a test's size need that.
#if defined(PENSTOCK_SIMT_EMULATION)
inline constexpr size_t kMostBlocks = 2;
#else
inline constexpr size_t kMostBlocks = 1 << 16;
#endif

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
PENSTOCK_HOST_DEVICE constexpr size_t FirstOf(size_t rows, unsigned parts, unsigned part) {
  return rows / parts * part + (part < rows % parts ? part : rows % parts);
}

// The same for sums of `columns` columns: fewer parts where the columns alone fill a GPU.
inline constexpr size_t kEnoughSums = size_t{1} << 20;
constexpr unsigned PartsOf(size_t rows, size_t columns) {
  return std::min(PartsOf(rows), static_cast<unsigned>(std::clamp<size_t>(
                                     kEnoughSums / std::max<size_t>(columns, 1), 1, kMostParts)));
}

// Lanes that a row of `vectors` gets in a warp: several rows a warp where rows are short.
constexpr unsigned LanesFor(size_t vectors) { return vectors > 16 ? 32 : vectors > 8 ? 16 : 8; }

// How a layer norm's rows lie in a warp: `lanes` lanes a row, each with `chunks` vectors of 16
// bytes; no chunks: not possible.
struct RowLayout {
  unsigned lanes = 0, chunks = 0;
};

// For rows of `dim` values, `vector` values in 16 bytes. A row is whole vectors, at most 1,024
// values.
inline constexpr size_t kMostNormColumns = 1024;
constexpr RowLayout NormLayout(size_t dim, size_t vector) {
  if (dim == 0 || dim % vector != 0 || dim > kMostNormColumns) return {};
  const size_t vectors = dim / vector;
  const unsigned lanes = LanesFor(vectors);
  unsigned chunks = 1;
  while (chunks * lanes < vectors) chunks *= 2;
  return {lanes, chunks};
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_GEOMETRY_H_
