// The kernel of AttentionBackward(). A block processes one head, and one sample at a time. For 64
// tokens in bf16, attention_backward_64.h has the code of a sample. This file has it for any other
// number, and for float.
//
// In the first half a warp takes 16 queries over all keys. It finds the softmax's logarithmic sum
// and the mean of the probabilities' gradients, keeps both in shared memory, and computes the
// queries' gradients. In the second half it takes 16 keys over all queries, with scores transposed,
// and computes the gradients of keys and values. Scores are computed twice if one block of keys
// holds them all (up to 64 tokens in bf16, 32 in float), else three times. In return no sum crosses
// warps, so no warp waits for another's sum, and every sum has one order
// (docs/internals/adr/2026-11-23-attention-backward-computes-scores-twice.md).
#ifndef PENSTOCK_KERNELS_CUDA_ATTENTION_BACKWARD_H_
#define PENSTOCK_KERNELS_CUDA_ATTENTION_BACKWARD_H_

#include "kernels/cuda/attention_backward_64.h"
#include "kernels/cuda/attention_scores.h"
#include "kernels/cuda/geometry.h"

namespace penstock::cuda {

// dq += ds k for a block of keys. Afterwards block.s holds ds.
template <typename T, int kDim, bool kExtras>
PENSTOCK_DEVICE void AddQueryGradients(ScoreBlock<T>& block, const RowStatistics& rows,
                                       unsigned key, unsigned query, unsigned tokens,
                                       const Sources<T>& from, RowSums<kDim>& dq, float* dbias) {
  PENSTOCK_UNROLL for (int n = 0; n < kSquares<T>; ++n) {
    const unsigned first = key + n * 16;
    if (first >= tokens) continue;
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      float& s = block.s[n].c[i / 4][i % 4];
      s = simt::Exp2(Extras<T, kDim, kExtras>::Unit() * s - rows.log_sum.v[i % 4 / 2]) *
          (block.dp[n].c[i / 4][i % 4] - rows.mean.v[i % 4 / 2]);
      if constexpr (kExtras) {
        const unsigned column = first + i / 4 * 8 + ColumnOf(i % 4);
        if (dbias != nullptr) dbias[(query + RowOf(i % 4)) * kBiasTokens + column] += s;
      }
    }
    AddProduct<T, kDim>(block.s[n], from.shared_k + first * HeadShape<T, kDim>::kStride, dq);
  }
}

// Statistics of every query, which the second half reads: log_sum and mean (rows).
struct SharedStatistics {
  float* log_sum;
  float* mean;
};

template <typename T, int kDim, bool kExtras, typename E>
PENSTOCK_DEVICE void QueryTile(const Sources<T>& from, unsigned query, const E& extras, T* stage,
                               T* dq, const SharedStatistics& statistics, float* dbias) {
  constexpr unsigned kBlock = kSquares<T> * 16;
  const unsigned tokens = extras.tokens;
  LeftRows<T, kDim> q, g;
  LoadRows<kDim>(from.q, from.stride, from.shared_q, query, tokens, q);
  LoadRows<kDim>(from.g, from.g_stride, from.shared_g, query, tokens, g);
  ScoreBlock<T> block;
  Softmax softmax;
  PENSTOCK_NO_UNROLL for (unsigned key = 0; key < tokens; key += kBlock) {
    TakeBlock(q, g, from, query, key, extras, block);
    AddBlock<E>(block, key, tokens, softmax);
  }
  const RowStatistics rows = Finish<E>(softmax);
  if (Lane() % 4 == 0) {
    PENSTOCK_UNROLL for (int r = 0; r < 2; ++r) {
      statistics.log_sum[query + RowOf(2 * r)] = rows.log_sum.v[r];
      statistics.mean[query + RowOf(2 * r)] = rows.mean.v[r];
    }
  }
  RowSums<kDim> sums = {};
  PENSTOCK_NO_UNROLL for (unsigned key = 0; key < tokens; key += kBlock) {
    // A single block of keys still holds its scores.
    if (tokens > kBlock) TakeBlock(q, g, from, query, key, extras, block);
    AddQueryGradients<T, kDim, kExtras>(block, rows, key, query, tokens, from, sums, dbias);
  }
  const RowPair scale = {{ScoreScale<kDim>(), ScoreScale<kDim>()}};
  StoreRows(sums, scale, stage, dq + query * from.stride, from.stride, tokens - query);
}

// The gradients of 16 keys and values. `dk` and `dv` point at the sample's rows.
template <typename T, int kDim, typename E>
PENSTOCK_DEVICE void KeyTile(const Sources<T>& from, unsigned key, const E& extras, T* stage, T* dk,
                             T* dv, const SharedStatistics& statistics) {
  constexpr unsigned kStride = HeadShape<T, kDim>::kStride;
  const unsigned tokens = extras.tokens;
  LeftRows<T, kDim> k, v;
  LoadRows<kDim>(from.k, from.stride, from.shared_k, key, tokens, k);
  LoadRows<kDim>(from.v, from.stride, from.shared_v, key, tokens, v);
  RowSums<kDim> key_sums = {}, value_sums = {};
  PENSTOCK_NO_UNROLL for (unsigned query = 0; query < tokens; query += kTile) {
    Square p, ds;  // Transposed: rows are keys, columns are queries.
    Scores(k, from.shared_q + query * kStride, p);
    Scores(v, from.shared_g + query * kStride, ds);
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      const unsigned row = key + RowOf(i % 4), column = query + i / 4 * 8 + ColumnOf(i % 4);
      float &x = p.c[i / 4][i % 4], &d = ds.c[i / 4][i % 4];
      const float factor = extras.Factor(column, row);
      // Rows beyond the tokens have keys of zeros. They do no harm, and their results are not
      // stored. With a bias, all 64 rows exist.
      const float probability =
          simt::Exp2(E::Unit() * extras.Score(x, column, row) - statistics.log_sum[column]);
      d = probability * (d * factor - statistics.mean[column]);
      x = probability * factor;
    }
    AddProduct<T, kDim>(p, from.shared_g + query * kStride, value_sums);
    AddProduct<T, kDim>(ds, from.shared_q + query * kStride, key_sums);
  }
  const RowPair scale = {{ScoreScale<kDim>(), ScoreScale<kDim>()}}, one = {{1.0f, 1.0f}};
  StoreRows(key_sums, scale, stage, dk + key * from.stride, from.stride, tokens - key);
  StoreRows(value_sums, one, stage, dv + key * from.stride, from.stride, tokens - key);
}

template <typename T, int kDim, bool kExtras>
PENSTOCK_DEVICE void OneSample(const AttentionArguments<T>& a, unsigned sample, unsigned head,
                               float* dbias) {
  constexpr unsigned kStride = HeadShape<T, kDim>::kStride;
  const size_t width = size_t{a.heads} * kDim;
  const unsigned rows = TilesOf(a.tokens) * kTile, warps = Warps<kAnyTokens>();
  const unsigned warp = simt::Thread() / simt::kWarp;
  T* const areas = reinterpret_cast<T*>(simt::Shared());
  const unsigned area = rows * kStride;
  const size_t at = size_t{sample} * a.tokens * 3 * width + head * kDim;
  const Sources<T> from = SourcesOf<T, kDim>(a, sample, head, areas, area);
  T* const stages = areas + (kAllResident<T> ? 4 : 2) * area;
  T* const stage = stages + warp * kTile * kStride;
  const SharedStatistics statistics{
      reinterpret_cast<float*>(stages + warps * kTile * kStride),
      reinterpret_cast<float*>(stages + warps * kTile * kStride) + rows};
  CopyRows<T, kDim>(from.k, from.stride, a.tokens, from.shared_k);
  CopyRows<T, kDim>(from.v, from.stride, a.tokens, from.shared_v);
  if constexpr (kAllResident<T>) {
    CopyRows<T, kDim>(from.q, from.stride, a.tokens, from.shared_q);
    CopyRows<T, kDim>(from.g, from.g_stride, a.tokens, from.shared_g);
  }
  const Extras<T, kDim, kExtras> extras(a, sample, head);
  simt::CopyAsyncWait();
  simt::SyncBlock();
  T* const dq = a.out + at;
  for (unsigned tile = warp; tile * kTile < a.tokens; tile += warps) {
    QueryTile<T, kDim, kExtras>(from, tile * kTile, extras, stage, dq, statistics, dbias);
  }
  simt::SyncBlock();
  if constexpr (!kAllResident<T>) {
    CopyRows<T, kDim>(from.q, from.stride, a.tokens, from.shared_q);
    CopyRows<T, kDim>(from.g, from.g_stride, a.tokens, from.shared_g);
    simt::CopyAsyncWait();
    simt::SyncBlock();
  }
  for (unsigned tile = warp; tile * kTile < a.tokens; tile += warps) {
    T* out = dq;
    if constexpr (simt::kSaveRegisters) {
      out = a.out + (size_t{simt::Anew(sample)} * a.tokens * 3 * width + head * kDim);
    }
    KeyTile<T, kDim>(from, tile * kTile, extras, stage, out + width, out + 2 * width, statistics);
  }
}

// The bias gradient is (64, 64) in shared memory, summed over the block's samples; the pointer is
// null if there is no bias gradient. A lane adds to, zeroes and stores the same elements: those of
// its tile's sums.
template <typename Function>
PENSTOCK_DEVICE void ForBiasElements(unsigned query, Function function) {
  PENSTOCK_UNROLL for (unsigned column = 0; column < kBiasTokens; column += 8) {
    PENSTOCK_UNROLL for (int i = 0; i < 4; ++i) {
      function((query + RowOf(i)) * kBiasTokens + column + ColumnOf(i));
    }
  }
}

// The most registers of a thread. The kernel does not spill with them. With one register more, a
// multiprocessor would hold one block (of four warps) fewer. For 64 tokens of bf16 it holds five
// blocks with heads of 16 and 32, and four with heads of 64. With bias or dropout it holds four and
// three.
template <typename T, int kDim, bool kExtras, unsigned kTokens>
constexpr int BackwardRegisters() {
  if (kTokens == kFixedTokens) {
    if (kExtras) return kDim == 64 ? 168 : 128;
    return kDim == 64 ? 128 : 96;
  }
  if (kExtras || sizeof(T) == 4 || kDim == 64) return 255;
  return kDim == 32 ? 168 : 128;
}

template <typename T, int kDim, bool kExtras, unsigned kTokens>
PENSTOCK_KERNEL void PENSTOCK_MOST_REGISTERS((BackwardRegisters<T, kDim, kExtras, kTokens>()))
    AttentionBackwardKernel(AttentionArguments<T> arguments) {
  const AttentionArguments<T> a = WithTokens<kTokens>(arguments);
  const unsigned head = simt::BlockX() % a.heads, part = simt::BlockX() / a.heads;
  const auto end = static_cast<unsigned>(FirstOf(a.samples, a.parts, part + 1));
  float* dbias = nullptr;
  const unsigned query =
      simt::Thread() / simt::kWarp * kTile;  // With 64 tokens, each warp has one tile.
  if constexpr (kExtras) {
    if (a.dbias != nullptr) {
      dbias = reinterpret_cast<float*>(simt::Shared() + BackwardShared<T>(a.tokens, kDim));
      ForBiasElements(query, [&](unsigned i) { dbias[i] = 0.0f; });
    }
  }
  PENSTOCK_NO_UNROLL for (auto sample = static_cast<unsigned>(FirstOf(a.samples, a.parts, part));
                          sample < end; ++sample) {
    if constexpr (kTokens == kFixedTokens) {
      OneSample64<kDim, kExtras>(a, sample, head, dbias);
    } else {
      OneSample<T, kDim, kExtras>(a, sample, head, dbias);
    }
    simt::SyncBlock();  // The next sample overwrites shared memory.
  }
  if constexpr (kExtras) {
    if (dbias == nullptr) return;
    float* to = a.dbias + (size_t{part} * a.heads + head) * kBiasTokens * kBiasTokens;
    ForBiasElements(query, [&](unsigned i) { to[i] = dbias[i]; });
  }
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ATTENTION_BACKWARD_H_
