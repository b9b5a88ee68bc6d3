// How work is divided into blocks and threads. Pure functions of the shapes, never of the GPU, so
// that sums have the same order everywhere.
#ifndef PENSTOCK_KERNELS_CUDA_GEOMETRY_H_
#define PENSTOCK_KERNELS_CUDA_GEOMETRY_H_

#include <algorithm>
#include <cstddef>

#include "kernels/numeric/host_device.h"

namespace penstock::cuda {

inline constexpr unsigned kThreads = 256;
inline constexpr size_t kNarrow = 8;  // Number of outputs of NarrowLinear().
// Enough blocks to fill any GPU; with more items, a thread takes several. The emulation uses only
// two blocks, so that arrays of a test's size reach that case.
#if defined(PENSTOCK_SIMT_EMULATION)
inline constexpr size_t kMostBlocks = 2;
#else
inline constexpr size_t kMostBlocks = 1 << 16;
#endif

// Number of blocks of kThreads for `items`, with one item per thread up to kMostBlocks.
constexpr unsigned BlocksFor(size_t items) {
  return static_cast<unsigned>(std::min((items + kThreads - 1) / kThreads, kMostBlocks));
}

// Sums over rows are computed in parts; a second pass adds the parts in order. There are at most
// kMostParts parts, and a part has at least kLeastRows rows unless it is the only one.
inline constexpr size_t kMostParts = 256;
inline constexpr size_t kLeastRows = 32;

constexpr unsigned PartsOf(size_t rows) {
  return static_cast<unsigned>(std::clamp<size_t>(rows / kLeastRows, 1, kMostParts));
}

// Part p of `parts` has rows [FirstOf(p), FirstOf(p + 1)).
PENSTOCK_HOST_DEVICE constexpr size_t FirstOf(size_t rows, unsigned parts, unsigned part) {
  return rows / parts * part + (part < rows % parts ? part : rows % parts);
}

// Number of parts for sums of `columns` columns; it is smaller if the columns alone fill a GPU.
inline constexpr size_t kEnoughSums = size_t{1} << 20;
constexpr unsigned PartsOf(size_t rows, size_t columns) {
  return std::min(PartsOf(rows), static_cast<unsigned>(std::clamp<size_t>(
                                     kEnoughSums / std::max<size_t>(columns, 1), 1, kMostParts)));
}

// Number of a warp's lanes that share a row of `vectors` vectors. If rows are short, a warp takes
// several.
constexpr unsigned LanesFor(size_t vectors) { return vectors > 16 ? 32 : vectors > 8 ? 16 : 8; }

// Layout of a layer norm's rows in a warp: `lanes` lanes per row, each with `chunks` vectors of 16
// bytes. `chunks` is 0 if no layout fits.
struct RowLayout {
  unsigned lanes = 0, chunks = 0;
};

// The layout for rows of `dim` values, with `vector` values in 16 bytes. A row must be whole
// vectors and at most 1,024 values.
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
