// The backward of attention for exactly 64 tokens in bf16, one sample and head. A block has four
// warps.
//
// In the first half a warp takes 16 queries over all keys. It computes the softmax, stores the
// probabilities and the scores' gradients in shared memory as bf16, and computes the queries'
// gradients. In the second half it takes 16 keys over all queries. It reads what the first half has
// stored, transposed, and computes the gradients of keys and values. So scores are computed once.
// Every sum has the order, and the operands, of the kernel for any number of tokens
// (docs/internals/adr/2026-11-27-64-tokens-compute-scores-once.md).
#ifndef PENSTOCK_KERNELS_CUDA_ATTENTION_BACKWARD_64_H_
#define PENSTOCK_KERNELS_CUDA_ATTENTION_BACKWARD_64_H_

#include "kernels/cuda/attention_scores.h"

namespace penstock::cuda {

// Probabilities after dropout, and the gradients of scores: rows are queries, columns are keys.
struct SharedScores {
  static constexpr unsigned kStride = RowStride<Bf16>(kFixedTokens);
  static constexpr unsigned kSize = kFixedTokens * kStride;

  Bf16 *p, *ds;
};

// Turns the scores of a square of 16 keys into probabilities after dropout, and the gradients of
// probabilities into those of scores. The lowest 8 bits of `kept` are the square's.
template <typename E>
PENSTOCK_DEVICE void Differentiate(const RowStatistics& rows, uint32_t kept, const E& extras,
                                   Square& s, Square& dp) {
  PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
    float &x = s.c[i / 4][i % 4], &d = dp.c[i / 4][i % 4];
    const float probability = simt::Exp2(E::Unit() * x - rows.log_sum.v[i % 4 / 2]);
    d = probability * (d - rows.mean.v[i % 4 / 2]);
    x = probability * extras.FactorIf((kept >> i & 1) != 0);
  }
}

// Adds the scores' gradients of a square to its part of the bias gradient.
PENSTOCK_DEVICE void AddBiasGradients(const Square& ds, float* dbias) {
  PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
    dbias[RowOf(i % 4) * kBiasTokens + i / 4 * 8 + ColumnOf(i % 4)] += ds.c[i / 4][i % 4];
  }
}

// Computes the gradients of 16 queries, to be multiplied by the scale, and stores their rows of
// `scores`.
template <int kDim, typename E>
PENSTOCK_DEVICE void TakeQueries(const Sources<Bf16>& from, unsigned query, const E& extras,
                                 const SharedScores& scores, float* dbias, RowSums<kDim>& dq) {
  constexpr unsigned kStride = HeadShape<Bf16, kDim>::kStride;
  ScoreBlock<Bf16> block;
  LeftRows<Bf16, kDim> q, g;
  LoadQueries<Bf16, kDim>(from.shared_q + query * kStride, q);
  LoadQueries<Bf16, kDim>(from.shared_g + query * kStride, g);
  const uint32_t kept = TakeBlock(q, g, from, query, 0, extras, block);
  Softmax softmax;
  AddBlock<E>(block, 0, kFixedTokens, softmax);
  const RowStatistics rows = Finish<E>(softmax);
  PENSTOCK_UNROLL for (int n = 0; n < kSquares<Bf16>; ++n) {
    const unsigned at = query * SharedScores::kStride + n * 16;
    Square &p = block.s[n], &ds = block.dp[n];
    Differentiate(rows, kept >> (8 * n), extras, p, ds);
    if (dbias != nullptr) AddBiasGradients(ds, dbias + query * kBiasTokens + n * 16);
    Left<Bf16> left;
    ToLeft(p, left);
    StoreLeft(left, scores.p + at, SharedScores::kStride);
    ToLeft(ds, left);
    StoreLeft(left, scores.ds + at, SharedScores::kStride);
    AddProduct(left, from.shared_k + n * 16 * kStride, dq);
  }
}

// Computes the gradients of 16 keys, to be multiplied by the scale, and of 16 values.
template <int kDim>
PENSTOCK_DEVICE void TakeKeys(const Sources<Bf16>& from, unsigned key, const SharedScores& scores,
                              RowSums<kDim>& dk, RowSums<kDim>& dv) {
  constexpr unsigned kStride = HeadShape<Bf16, kDim>::kStride;
  PENSTOCK_UNROLL for (unsigned query = 0; query < kFixedTokens; query += kTile) {
    const unsigned at = query * SharedScores::kStride + key;
    Left<Bf16> p, ds;
    LoadLeftTransposed(scores.p + at, SharedScores::kStride, p);
    LoadLeftTransposed(scores.ds + at, SharedScores::kStride, ds);
    AddProduct(p, from.shared_g + query * kStride, dv);
    AddProduct(ds, from.shared_q + query * kStride, dk);
  }
}

template <int kDim, bool kExtras>
PENSTOCK_DEVICE void OneSample64(const AttentionArguments<Bf16>& a, unsigned sample, unsigned head,
                                 float* dbias) {
  constexpr unsigned kStride = HeadShape<Bf16, kDim>::kStride, kArea = kFixedTokens * kStride;
  Bf16* const areas = reinterpret_cast<Bf16*>(simt::Shared());
  const Sources<Bf16> from = SourcesOf<Bf16, kDim>(a, sample, head, areas, kArea);
  const SharedScores scores{areas + 4 * kArea, areas + 4 * kArea + SharedScores::kSize};
  CopyRows<Bf16, kDim>(from.k, from.stride, kFixedTokens, from.shared_k);
  CopyRows<Bf16, kDim>(from.v, from.stride, kFixedTokens, from.shared_v);
  CopyRows<Bf16, kDim>(from.q, from.stride, kFixedTokens, from.shared_q);
  CopyRows<Bf16, kDim>(from.g, from.g_stride, kFixedTokens, from.shared_g);
  const Extras<Bf16, kDim, kExtras> extras(a, sample, head);
  simt::CopyAsyncWait();
  simt::SyncBlock();
  const unsigned first = simt::Thread() / simt::kWarp * kTile;
  RowSums<kDim> dq = {}, dk = {}, dv = {};
  TakeQueries(from, first, extras, scores, dbias, dq);
  simt::SyncBlock();
  // Keys are read by the first half only, so now their rows serve as the stages of the warps.
  Bf16* const stage = from.shared_k + first * kStride;
  Bf16* const out = a.out + (from.q - a.qkv) + first * from.stride;
  const size_t width = size_t{a.heads} * kDim;
  const RowPair scale = {{ScoreScale<kDim>(), ScoreScale<kDim>()}}, one = {{1.0f, 1.0f}};
  StoreRows(dq, scale, stage, out, from.stride, kTile);
  TakeKeys(from, first, scores, dk, dv);
  StoreRows(dk, scale, stage, out + width, from.stride, kTile);
  StoreRows(dv, one, stage, out + 2 * width, from.stride, kTile);
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ATTENTION_BACKWARD_64_H_
