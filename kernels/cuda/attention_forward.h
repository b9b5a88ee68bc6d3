// The kernel of Attention(). A block processes one sample and head, with its queries, keys and
// values in shared memory. A warp takes 16 queries at a time over blocks of 64 keys (float: 32),
// and keeps the running maximum score of Milakov and Gimelshein (arXiv:1805.02867).
#ifndef PENSTOCK_KERNELS_CUDA_ATTENTION_FORWARD_H_
#define PENSTOCK_KERNELS_CUDA_ATTENTION_FORWARD_H_

#include "kernels/cuda/attention_tile.h"

namespace penstock::cuda {

// Squares of 16 keys between two updates of the running values: as many as registers hold.
template <typename T>
inline constexpr int kSquares = sizeof(T) == 2 ? 4 : 2;

template <int kDim>
struct Running {
  RowPair largest = {{-INFINITY, -INFINITY}};
  RowPair sum = {};
  RowSums<kDim> out = {};
};

// Turns the products in s into scores of the keys from `first_key` on, -infinity beyond the last
// token. Updates the running maximum and rescales the sums taken under the previous maximum.
template <int kSize, int kDim, typename E>
PENSTOCK_DEVICE void TakeScores(Square (&s)[kSize], unsigned first_query, unsigned first_key,
                                const E& extras, Running<kDim>& running) {
  RowPair largest = running.largest;
  PENSTOCK_UNROLL for (int n = 0; n < kSize; ++n) {
    const unsigned first = first_key + n * 16;
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      float& x = s[n].c[i / 4][i % 4];
      x = extras.Score(x, first_query + RowOf(i % 4), first + i / 4 * 8 + ColumnOf(i % 4));
    }
    MaskKeys(first, extras.tokens, s[n]);
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      largest.v[i % 4 / 2] = fmaxf(largest.v[i % 4 / 2], s[n].c[i / 4][i % 4]);
    }
  }
  PENSTOCK_UNROLL for (int r = 0; r < 2; ++r) {
    largest.v[r] = MaxQuad(largest.v[r]);
    const float shrink = simt::Exp2(E::Unit() * (running.largest.v[r] - E::Base(largest.v[r])));
    running.sum.v[r] *= shrink;
    PENSTOCK_UNROLL for (auto& step : running.out.steps) {
      PENSTOCK_UNROLL for (auto& c : step.c) {
        c[2 * r] *= shrink;
        c[2 * r + 1] *= shrink;
      }
    }
  }
  running.largest = largest;
}

template <typename T, int kDim, typename E>
PENSTOCK_DEVICE void AddValues(Square (&s)[kSquares<T>], unsigned first_query, unsigned first_key,
                               const T* values, const E& extras, Running<kDim>& running) {
  PENSTOCK_UNROLL for (int n = 0; n < kSquares<T>; ++n) {
    if (first_key + n * 16 >= extras.tokens) continue;
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      float& x = s[n].c[i / 4][i % 4];
      x = simt::Exp2(E::Unit() * x - E::Unit() * E::Base(running.largest.v[i % 4 / 2]));
      running.sum.v[i % 4 / 2] += x;
      const unsigned key = first_key + n * 16 + i / 4 * 8 + ColumnOf(i % 4);
      x *= extras.Factor(first_query + RowOf(i % 4), key);
    }
    AddProduct<T, kDim>(s[n], values + n * 16 * HeadShape<T, kDim>::kStride, running.out);
  }
}

template <typename T, int kDim>
PENSTOCK_DEVICE void LoadQueries(const Bf16* queries, LeftRows<Bf16, kDim>& left) {
  PENSTOCK_UNROLL for (int step = 0; step < kDim / 16; ++step) {
    LoadLeft(queries + step * 16, HeadShape<Bf16, kDim>::kStride, left.steps[step]);
  }
}
template <typename T, int kDim>
PENSTOCK_DEVICE void LoadQueries(const float* queries, LeftRows<float, kDim>& left) {
  PENSTOCK_UNROLL for (int step = 0; step < kDim / 16; ++step) {
    LoadLeft(queries + step * 16, HeadShape<float, kDim>::kStride, kTile, left.steps[step]);
  }
}

template <typename T, int kDim, bool kExtras, unsigned kTokens>
PENSTOCK_KERNEL void PENSTOCK_LAUNCH_BOUNDS(kMostAttentionWarps* simt::kWarp,
                                            kExtras || sizeof(T) == 4 ? 1 : 2)
    AttentionKernel(AttentionArguments<T> arguments) {
  const AttentionArguments<T> a = WithTokens<kTokens>(arguments);
  constexpr unsigned kStride = HeadShape<T, kDim>::kStride;
  const unsigned head = simt::BlockX() % a.heads, sample = simt::BlockX() / a.heads;
  const size_t width = size_t{a.heads} * kDim;
  const unsigned rows = TilesOf(a.tokens) * kTile;
  T* q = reinterpret_cast<T*>(simt::Shared());
  T *k = q + rows * kStride, *v = k + rows * kStride;
  const T* from = a.qkv + size_t{sample} * a.tokens * 3 * width + head * kDim;
  CopyRows<T, kDim>(from, 3 * width, a.tokens, q);
  CopyRows<T, kDim>(from + width, 3 * width, a.tokens, k);
  CopyRows<T, kDim>(from + 2 * width, 3 * width, a.tokens, v);
  const Extras<T, kDim, kExtras> extras(a, sample, head);
  simt::CopyAsyncWait();
  simt::SyncBlock();

  const unsigned warps = Warps<kTokens>();
  for (unsigned tile = simt::Thread() / simt::kWarp; tile * kTile < a.tokens; tile += warps) {
    const unsigned query = tile * kTile;
    LeftRows<T, kDim> left;
    LoadQueries<T, kDim>(q + query * kStride, left);
    Running<kDim> running;
    PENSTOCK_NO_UNROLL for (unsigned key = 0; key < a.tokens; key += kSquares<T> * 16) {
      Square s[kSquares<T>];
      PENSTOCK_UNROLL for (int n = 0; n < kSquares<T>; ++n) {
        if (key + n * 16 < a.tokens) Scores(left, k + (key + n * 16) * kStride, s[n]);
      }
      TakeScores(s, query, key, extras, running);
      AddValues<T, kDim>(s, query, key, v + key * kStride, extras, running);
    }
    const RowPair scale = {{1.0f / SumQuad(running.sum.v[0]), 1.0f / SumQuad(running.sum.v[1])}};
    // The tile's queries are in registers, so their rows in shared memory can serve as the stage.
    StoreRows(running.out, scale, q + query * kStride,
              a.out + (size_t{sample} * a.tokens + query) * width + head * kDim, width,
              a.tokens - query);
  }
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ATTENTION_FORWARD_H_
