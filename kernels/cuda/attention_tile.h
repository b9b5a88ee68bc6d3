// Code that the forward and the backward of attention share: rows in shared memory, products of
// tiles along a head's dimension, scores.
#ifndef PENSTOCK_KERNELS_CUDA_ATTENTION_TILE_H_
#define PENSTOCK_KERNELS_CUDA_ATTENTION_TILE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_geometry.h"
#include "kernels/cuda/fragment.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {

inline constexpr float kLog2E = 1.4426950408889634f;

template <typename T>
struct AttentionArguments {
  const T* qkv;
  const T* dout;  // Used by the backward only.
  T* out;         // Output of the forward; dqkv in the backward.
  unsigned samples, tokens, heads;
  unsigned parts;     // Parts of the samples. Block x has part x / heads and head x % heads.
  const float* bias;  // May be null.
  float* dbias;       // (parts, heads, 64, 64), or null.
  Dropout dropout;
  const DropoutDraw* draw;
};

// Returns the arguments of a kernel for kTokens tokens. The compiler then knows their number and
// drops the branches and masks for others.
template <unsigned kTokens, typename T>
PENSTOCK_DEVICE AttentionArguments<T> WithTokens(AttentionArguments<T> a) {
  if constexpr (kTokens != kAnyTokens) a.tokens = kTokens;
  return a;
}

// Number of warps in a block.
template <unsigned kTokens>
PENSTOCK_DEVICE unsigned Warps() {
  return kTokens != kAnyTokens ? AttentionWarps(kTokens) : simt::Threads() / simt::kWarp;
}

template <typename T, int kDim>
struct HeadShape {
  static constexpr unsigned kStride = RowStride<T>(kDim);
  static constexpr int kSteps = kDim / 16;
};

// A left operand, and a sum, of 16 rows and kDim columns.
template <typename T, int kDim>
struct LeftRows {
  Left<T> steps[kDim / 16];
};
template <int kDim>
struct RowSums {
  Square steps[kDim / 16];
};

// 1 / sqrt(kDim).
template <int kDim>
PENSTOCK_DEVICE constexpr float ScoreScale() {
  return kDim == 16 ? 0.25f : kDim == 32 ? 0.17677669529663687f : 0.125f;
}

// Starts copying `tokens` rows of kDim values, `from_stride` apart, into rows of shared memory.
// Rows beyond the tokens, up to a whole tile, become zeros.
template <typename T, int kDim>
PENSTOCK_DEVICE void CopyRows(const T* from, size_t from_stride, unsigned tokens, T* to) {
  constexpr unsigned kSize = Vector<T>::kSize, kVectors = kDim / kSize;
  const unsigned count = TilesOf(tokens) * kTile * kVectors;
  for (unsigned i = simt::Thread(); i < count; i += simt::Threads()) {
    const unsigned row = i / kVectors, column = i % kVectors * kSize;
    const bool valid = row < tokens;
    simt::CopyAsync16(to + row * HeadShape<T, kDim>::kStride + column,
                      from + (valid ? row : 0) * from_stride + column, valid);
  }
}

// s (16x16) = a times rows [0, 16) of `rows`, along the head's dimension.
template <typename T, int kDim>
PENSTOCK_DEVICE void Scores(const LeftRows<T, kDim>& a, const T* rows, Square& s) {
  s = {};
  PENSTOCK_UNROLL for (int step = 0; step < kDim / 16; ++step) {
    Right<T> b[2];
    LoadRightTransposed(rows + step * 16, HeadShape<T, kDim>::kStride, b);
    Multiply(a.steps[step], b[0], s.c[0]);
    Multiply(a.steps[step], b[1], s.c[1]);
  }
}

// sum (16 x kDim) += a (16x16) times rows [0, 16) of `rows`.
template <typename T, int kDim>
PENSTOCK_DEVICE void AddProduct(const Left<T>& a, const T* rows, RowSums<kDim>& sum) {
  PENSTOCK_UNROLL for (int step = 0; step < kDim / 16; ++step) {
    Right<T> b[2];
    LoadRight(rows + step * 16, HeadShape<T, kDim>::kStride, b);
    Multiply(a, b[0], sum.steps[step].c[0]);
    Multiply(a, b[1], sum.steps[step].c[1]);
  }
}
template <typename T, int kDim>
PENSTOCK_DEVICE void AddProduct(const Square& p, const T* rows, RowSums<kDim>& sum) {
  Left<T> a;
  ToLeft(p, a);
  AddProduct(a, rows, sum);
}

// A lane's values for rows g and g + 8 of a tile, one number each.
struct RowPair {
  float v[2];
};

// Reductions over the four lanes that share rows.
PENSTOCK_DEVICE float SumQuad(float x) {
  x += simt::ShuffleXor(x, 1);
  return x + simt::ShuffleXor(x, 2);
}
PENSTOCK_DEVICE float MaxQuad(float x) {
  x = fmaxf(x, simt::ShuffleXor(x, 1));
  return fmaxf(x, simt::ShuffleXor(x, 2));
}

// Turns products into scores and drops probabilities, for one sample and head. If !kExtras, only
// the scale is left after compilation.
template <typename T, int kDim, bool kExtras>
struct Extras {
  PENSTOCK_DEVICE Extras(const AttentionArguments<T>& a, unsigned sample, unsigned head)
      : tokens(a.tokens), dropout(a.dropout) {
    if constexpr (kExtras) {
      if (a.bias != nullptr) bias = a.bias + size_t{head} * kBiasTokens * kBiasTokens;
      if (dropout.active()) {
        key = a.draw->key;
        first_index = ((a.draw->first_sample + sample) * a.heads + head) * tokens * tokens;
      }
    }
  }
  // A probability is 2^(Unit() score - ...). Without extras a score is the plain product, so that
  // the scale and the subtraction are one instruction.
  static PENSTOCK_DEVICE constexpr float Unit() {
    return kExtras ? 1.0f : ScoreScale<kDim>() * kLog2E;
  }
  // The base of exponents: the largest score, or 0 if a bias of -infinity has excluded all keys so
  // far. Every block of keys has at least one key, so that the largest score is finite without a
  // bias.
  static PENSTOCK_DEVICE float Base(float largest) {
    return kExtras && largest == -INFINITY ? 0.0f : largest;
  }
  PENSTOCK_DEVICE float Score(float product, unsigned query, unsigned k) const {
    if constexpr (kExtras) {
      const float score = product * (ScoreScale<kDim>() * kLog2E);
      return bias == nullptr ? score : score + kLog2E * bias[query * kBiasTokens + k];
    }
    return product;
  }
  PENSTOCK_DEVICE float Factor(unsigned query, unsigned k) const {
    if constexpr (kExtras) {
      if (dropout.active()) {
        return dropout.Factor(key, first_index + uint64_t{query} * tokens + k);
      }
    }
    return 1.0f;
  }
  // Returns Factor() of a probability, given whether it is not zero. Saves drawing again. The scale
  // is 1 if nothing is dropped.
  PENSTOCK_DEVICE float FactorIf(bool kept) const {
    return kExtras ? (kept ? dropout.scale : 0.0f) : 1.0f;
  }

  unsigned tokens;
  Dropout dropout;
  const float* bias = nullptr;
  uint64_t key = 0, first_index = 0;
};

// Sets the scores of keys beyond the last token to -infinity, in a square that begins with key
// `first`.
PENSTOCK_DEVICE void MaskKeys(unsigned first, unsigned tokens, Square& s) {
  if (first + kTile <= tokens) return;
  PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
    if (first + i / 4 * 8 + ColumnOf(i % 4) >= tokens) s.c[i / 4][i % 4] = -INFINITY;
  }
}

// Stores a warp's 16 rows of results. bf16 goes through 16 rows of shared memory, so that whole
// rows are written. float is written directly, because four lanes fill 32 bytes. Does not store
// rows from `rows` on.
template <int kDim>
PENSTOCK_DEVICE void StoreRows(const RowSums<kDim>& sums, const RowPair& scale, Bf16* stage,
                               Bf16* to, size_t stride, unsigned rows) {
  constexpr unsigned kStride = HeadShape<Bf16, kDim>::kStride, kVectors = kDim / 8;
  simt::SyncWarp();  // All lanes have read the previous contents of the stage.
  PENSTOCK_UNROLL for (int step = 0; step < kDim / 16; ++step) {
    PENSTOCK_UNROLL for (int i = 0; i < 8; i += 2) {
      const float(&c)[4] = sums.steps[step].c[i / 4];
      const unsigned at = RowOf(i % 4) * kStride + step * 16 + i / 4 * 8 + ColumnOf(0);
      *reinterpret_cast<uint32_t*>(stage + at) =
          PackBf16(c[i % 4] * scale.v[i % 4 / 2], c[i % 4 + 1] * scale.v[i % 4 / 2]);
    }
  }
  simt::SyncWarp();
  PENSTOCK_UNROLL for (unsigned i = 0; i < kTile * kVectors / simt::kWarp; ++i) {
    const unsigned item = i * simt::kWarp + Lane(), row = item / kVectors;
    const unsigned column = item % kVectors * 8;
    if (row < rows) {
      *reinterpret_cast<Vector<Bf16>*>(to + row * stride + column) =
          *reinterpret_cast<const Vector<Bf16>*>(stage + row * kStride + column);
    }
  }
}
template <int kDim>
PENSTOCK_DEVICE void StoreRows(const RowSums<kDim>& sums, const RowPair& scale, float*, float* to,
                               size_t stride, unsigned rows) {
  PENSTOCK_UNROLL for (int step = 0; step < kDim / 16; ++step) {
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      const unsigned row = RowOf(i % 4), column = step * 16 + i / 4 * 8 + ColumnOf(i % 4);
      if (row < rows)
        to[row * stride + column] = sums.steps[step].c[i / 4][i % 4] * scale.v[i % 4 / 2];
    }
  }
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ATTENTION_TILE_H_
