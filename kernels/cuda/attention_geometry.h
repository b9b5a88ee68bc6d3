// How attention lies on blocks, warps and shared memory. Pure functions.
#ifndef PENSTOCK_KERNELS_CUDA_ATTENTION_GEOMETRY_H_
#define PENSTOCK_KERNELS_CUDA_ATTENTION_GEOMETRY_H_

#include <algorithm>
#include <cstddef>

#include "kernels/numeric/host_device.h"

namespace penstock::cuda {

inline constexpr unsigned kMostTokens = 256;
inline constexpr unsigned kBiasTokens = 64;
inline constexpr unsigned kTile = 16;  // Rows of queries or keys that a warp takes.
inline constexpr unsigned kMostAttentionWarps = 8;

PENSTOCK_HOST_DEVICE constexpr unsigned TilesOf(unsigned tokens) {
  return (tokens + kTile - 1) / kTile;
}

// Warps of a block: as few as take the tiles in the same number of rounds as eight would.
PENSTOCK_HOST_DEVICE constexpr unsigned AttentionWarps(unsigned tokens) {
  const unsigned tiles = TilesOf(tokens);
  const unsigned rounds = (tiles + kMostAttentionWarps - 1) / kMostAttentionWarps;
  return (tiles + rounds - 1) / rounds;
}

// Values between the beginnings of two rows in shared memory: 16 bytes more than a row, so that
// eight rows lie in different banks.
template <typename T>
PENSTOCK_HOST_DEVICE constexpr unsigned RowStride(unsigned head_dim) {
  return head_dim + 16 / static_cast<unsigned>(sizeof(T));
}

// Bytes of shared memory. The backward has queries, keys, values and the output's gradient there
// at once in bf16, two of them at a time in float; two numbers a query; and a tile a warp through
// which bf16 results are stored in whole rows.
template <typename T>
constexpr unsigned ForwardShared(unsigned tokens, unsigned head_dim) {
  return 3 * TilesOf(tokens) * kTile * RowStride<T>(head_dim) * static_cast<unsigned>(sizeof(T));
}
template <typename T>
PENSTOCK_HOST_DEVICE constexpr unsigned BackwardShared(unsigned tokens, unsigned head_dim) {
  const unsigned rows = TilesOf(tokens) * kTile;
  const unsigned arrays = sizeof(T) == 2 ? 4 : 2;
  const unsigned staged = AttentionWarps(tokens) * kTile;
  return (arrays * rows + staged) * RowStride<T>(head_dim) * static_cast<unsigned>(sizeof(T)) +
         2 * rows * static_cast<unsigned>(sizeof(float));
}

inline constexpr unsigned kBiasShared = kBiasTokens * kBiasTokens * sizeof(float);

// Parts that the samples are cut into where the gradient by the bias is summed: together with the
// heads enough blocks to fill a GPU, and no more, since each writes (64, 64) floats: for fewer
// samples than these that would be more than a block reads.
inline constexpr size_t kBiasBlocks = 512;
inline constexpr size_t kLeastBiasSamples = 4;
constexpr unsigned BiasParts(size_t samples, size_t heads) {
  return static_cast<unsigned>(
      std::clamp<size_t>(kBiasBlocks / std::max<size_t>(heads, 1), 1,
                         std::max<size_t>(samples / kLeastBiasSamples, 1)));
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ATTENTION_GEOMETRY_H_
