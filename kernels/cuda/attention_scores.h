// Code that both backward kernels of attention share: the scores of 16 queries, the gradients of
// their probabilities, and the sums of their softmax.
#ifndef PENSTOCK_KERNELS_CUDA_ATTENTION_SCORES_H_
#define PENSTOCK_KERNELS_CUDA_ATTENTION_SCORES_H_

#include "kernels/cuda/attention_forward.h"

namespace penstock::cuda {

// Rows of one sample and head. In bf16 all four arrays are in shared memory. In float, keys and
// values and then queries and gradients take turns there, and left operands come from global
// memory.
template <typename T>
struct Sources {
  const T *q, *k, *v, *g;  // In global memory; g is the gradient of the output.
  size_t stride, g_stride;
  T *shared_q, *shared_k, *shared_v, *shared_g;
};

template <typename T>
inline constexpr bool kAllResident = sizeof(T) == 2;

// Returns the rows of a sample and head. In shared memory, the arrays begin `area` values apart.
template <typename T, int kDim>
PENSTOCK_DEVICE Sources<T> SourcesOf(const AttentionArguments<T>& a, unsigned sample, unsigned head,
                                     T* areas, unsigned area) {
  const size_t width = size_t{a.heads} * kDim;
  const size_t at = size_t{sample} * a.tokens * 3 * width + head * kDim;
  const unsigned second = kAllResident<T> ? 2 * area : 0;
  return {a.qkv + at,
          a.qkv + at + width,
          a.qkv + at + 2 * width,
          a.dout + size_t{sample} * a.tokens * width + head * kDim,
          3 * width,
          width,
          areas + second,
          areas,
          areas + area,
          areas + second + area};
}

// Loads 16 rows as a left operand: from shared memory in bf16, from global memory in float.
template <int kDim>
PENSTOCK_DEVICE void LoadRows(const Bf16*, size_t, const Bf16* shared, unsigned first, unsigned,
                              LeftRows<Bf16, kDim>& left) {
  LoadQueries<Bf16, kDim>(shared + first * HeadShape<Bf16, kDim>::kStride, left);
}
template <int kDim>
PENSTOCK_DEVICE void LoadRows(const float* global, size_t stride, const float*, unsigned first,
                              unsigned tokens, LeftRows<float, kDim>& left) {
  PENSTOCK_UNROLL for (int step = 0; step < kDim / 16; ++step) {
    LoadLeft(global + first * stride + step * 16, static_cast<unsigned>(stride), tokens - first,
             left.steps[step]);
  }
}

// Scores of 16 queries and a block of keys (64 in bf16, 32 in float), and the gradients of their
// probabilities.
template <typename T>
struct ScoreBlock {
  Square s[kSquares<T>], dp[kSquares<T>];
};

// Returns a mask of the probabilities that dropout keeps: bit 8 n + i is element i of square n.
template <typename T, int kDim, typename E>
PENSTOCK_DEVICE uint32_t TakeBlock(const LeftRows<T, kDim>& q, const LeftRows<T, kDim>& g,
                                   const Sources<T>& from, unsigned query, unsigned key,
                                   const E& extras, ScoreBlock<T>& block) {
  constexpr unsigned kStride = HeadShape<T, kDim>::kStride;
  uint32_t kept = 0;
  PENSTOCK_UNROLL for (int n = 0; n < kSquares<T>; ++n) {
    const unsigned first = key + n * 16;
    if (first >= extras.tokens) continue;
    Scores(q, from.shared_k + first * kStride, block.s[n]);
    Scores(g, from.shared_v + first * kStride, block.dp[n]);
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      const unsigned row = query + RowOf(i % 4), column = first + i / 4 * 8 + ColumnOf(i % 4);
      float& s = block.s[n].c[i / 4][i % 4];
      s = extras.Score(s, row, column);
      const float factor = extras.Factor(row, column);
      block.dp[n].c[i / 4][i % 4] *= factor;
      kept |= factor != 0 ? 1u << (n * 8 + i) : 0;
    }
    MaskKeys(first, extras.tokens, block.s[n]);
  }
  return kept;
}

// The softmax's sums over the keys seen so far, relative to 2^(Unit() Base(largest)): `sum` of the
// probabilities, `dot` of probability times gradient.
struct Softmax {
  RowPair largest = {{-INFINITY, -INFINITY}};
  RowPair sum = {}, dot = {};
};

template <typename E, typename T>
PENSTOCK_DEVICE void AddBlock(const ScoreBlock<T>& block, unsigned key, unsigned tokens,
                              Softmax& softmax) {
  RowPair largest = softmax.largest;
  PENSTOCK_UNROLL for (int n = 0; n < kSquares<T>; ++n) {
    if (key + n * 16 >= tokens) continue;
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      largest.v[i % 4 / 2] = fmaxf(largest.v[i % 4 / 2], block.s[n].c[i / 4][i % 4]);
    }
  }
  PENSTOCK_UNROLL for (int r = 0; r < 2; ++r) {
    largest.v[r] = MaxQuad(largest.v[r]);
    const float shrink = simt::Exp2(E::Unit() * (softmax.largest.v[r] - E::Base(largest.v[r])));
    softmax.sum.v[r] *= shrink;
    softmax.dot.v[r] *= shrink;
  }
  softmax.largest = largest;
  PENSTOCK_UNROLL for (int n = 0; n < kSquares<T>; ++n) {
    if (key + n * 16 >= tokens) continue;
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      const int r = i % 4 / 2;
      const float p =
          simt::Exp2(E::Unit() * block.s[n].c[i / 4][i % 4] - E::Unit() * E::Base(largest.v[r]));
      softmax.sum.v[r] += p;
      softmax.dot.v[r] += p * block.dp[n].c[i / 4][i % 4];
    }
  }
}

// A row's softmax: p = 2^(Unit() score - log_sum), ds = p (dp - mean).
struct RowStatistics {
  RowPair log_sum, mean;
};

template <typename E>
PENSTOCK_DEVICE RowStatistics Finish(const Softmax& softmax) {
  RowStatistics rows;
  PENSTOCK_UNROLL for (int r = 0; r < 2; ++r) {
    const float sum = SumQuad(softmax.sum.v[r]);
    rows.log_sum.v[r] = E::Unit() * softmax.largest.v[r] + simt::Log2(sum);
    rows.mean.v[r] = SumQuad(softmax.dot.v[r]) / sum;
  }
  return rows;
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ATTENTION_SCORES_H_
