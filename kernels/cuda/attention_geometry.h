// The mapping of attention to blocks, warps and shared memory. Pure functions.
#ifndef PENSTOCK_KERNELS_CUDA_ATTENTION_GEOMETRY_H_
#define PENSTOCK_KERNELS_CUDA_ATTENTION_GEOMETRY_H_

#include <algorithm>
#include <cstddef>

#include "kernels/numeric/host_device.h"

namespace penstock::cuda {

inline constexpr unsigned kMostTokens = 256;
inline constexpr unsigned kBiasTokens = 64;
// The kernels of bf16 are compiled for this number of tokens, that of a board, and for any number.
inline constexpr unsigned kFixedTokens = 64, kAnyTokens = 0;
inline constexpr unsigned kTile = 16;  // Rows of queries or keys that a warp takes.
inline constexpr unsigned kMostAttentionWarps = 8;

PENSTOCK_HOST_DEVICE constexpr unsigned TilesOf(unsigned tokens) {
  return (tokens + kTile - 1) / kTile;
}

// Warps per block: the fewest that need no more rounds for the tiles than eight warps would.
PENSTOCK_HOST_DEVICE constexpr unsigned AttentionWarps(unsigned tokens) {
  const unsigned tiles = TilesOf(tokens);
  const unsigned rounds = (tiles + kMostAttentionWarps - 1) / kMostAttentionWarps;
  return (tiles + rounds - 1) / rounds;
}

// Distance of two rows in shared memory, in values: 16 bytes more than a row, so that eight rows
// begin in different banks.
template <typename T>
PENSTOCK_HOST_DEVICE constexpr unsigned RowStride(unsigned head_dim) {
  return head_dim + 16 / static_cast<unsigned>(sizeof(T));
}

// Bytes of shared memory. In bf16 the backward holds queries, keys, values and the output's
// gradient at once; in float it holds two of them at a time. It also holds two numbers per query,
// and one tile per warp, through which bf16 results are stored in whole rows. For 64 tokens in bf16
// it holds probabilities and gradients of scores instead (attention_backward_64.h).
template <typename T>
constexpr unsigned ForwardShared(unsigned tokens, unsigned head_dim) {
  return 3 * TilesOf(tokens) * kTile * RowStride<T>(head_dim) * static_cast<unsigned>(sizeof(T));
}
template <typename T>
PENSTOCK_HOST_DEVICE constexpr unsigned BackwardShared(unsigned tokens, unsigned head_dim) {
  const unsigned rows = TilesOf(tokens) * kTile;
  const unsigned arrays = sizeof(T) == 2 ? 4 : 2;
  const unsigned row = RowStride<T>(head_dim) * static_cast<unsigned>(sizeof(T));
  if (sizeof(T) == 2 && tokens == kFixedTokens) {
    return rows * (arrays * row + 2 * RowStride<T>(tokens) * static_cast<unsigned>(sizeof(T)));
  }
  const unsigned staged = AttentionWarps(tokens) * kTile;
  return (arrays * rows + staged) * row + 2 * rows * static_cast<unsigned>(sizeof(float));
}

inline constexpr unsigned kBiasShared = kBiasTokens * kBiasTokens * sizeof(float);

// Parts of the samples for the sum of the bias gradient. Parts times heads are enough blocks to
// fill a GPU, and no more, because each block writes (64, 64) floats. A part has at least
// kLeastBiasSamples samples: with fewer, a block would write more than it reads.
inline constexpr size_t kBiasBlocks = 512;
inline constexpr size_t kLeastBiasSamples = 4;
constexpr unsigned BiasParts(size_t samples, size_t heads) {
  return static_cast<unsigned>(
      std::clamp<size_t>(kBiasBlocks / std::max<size_t>(heads, 1), 1,
                         std::max<size_t>(samples / kLeastBiasSamples, 1)));
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ATTENTION_GEOMETRY_H_
