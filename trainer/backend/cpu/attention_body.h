// Attention over 64 tokens, for any target. Only kernels.cc includes this.
//
// Scores are stored transposed, s[key][query], so that the softmax runs down columns: sixteen
// queries per register, and no sum across lanes. A head's bias is transposed once for all samples.
// The bias gradient is transposed after it has been summed over the samples.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_ATTENTION_BODY_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_ATTENTION_BODY_H_

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "trainer/backend/cpu/transpose.h"
#include "trainer/backend/cpu/vector.h"

namespace penstock::cpu {

inline constexpr int kTokens = 64;

// to (kDim, 64) = from (64 tokens of row stride `stride`, kDim) transposed, times scale.
template <typename Vec, int kDim>
PENSTOCK_INLINE void TransposeHead(const float* from, ptrdiff_t stride, float scale, float* to) {
  for (int token = 0; token < kTokens; token += kLanes) {
    for (int d = 0; d < kDim; d += kLanes) {
      Transposer<Vec>::Block(from + token * stride + d, stride, scale, to + d * kTokens + token,
                             kTokens);
    }
  }
}

// Replaces s (64 keys, 64 queries) by e^(s - column maximum), and returns 1 / column sums.
template <typename Vec>
PENSTOCK_INLINE void ExpColumns(float* s, Vec inverse[4]) {
  Vec largest[4], sum[4];
  PENSTOCK_UNROLL for (int n = 0; n < 4; ++n) {
    Load(s + n * kLanes, largest[n]);
    sum[n] = Vec{};
  }
  for (int key = 1; key < kTokens; ++key) {
    PENSTOCK_UNROLL for (int n = 0; n < 4; ++n) {
      Vec x;
      Load(s + key * kTokens + n * kLanes, x);
      Raise(largest[n], x);
    }
  }
  for (int key = 0; key < kTokens; ++key) {
    PENSTOCK_UNROLL for (int n = 0; n < 4; ++n) {
      Vec x;
      Load(s + key * kTokens + n * kLanes, x);
      x -= largest[n];
      Exp(x);
      sum[n] += x;
      Store(x, s + key * kTokens + n * kLanes);
    }
  }
  PENSTOCK_UNROLL for (int n = 0; n < 4; ++n) inverse[n] = 1.0f / sum[n];
}

// sum += x * scale; both are (64, 64).
template <typename Vec>
PENSTOCK_INLINE void AddScaled(const float* x, float scale, float* sum) {
  for (int i = 0; i < kTokens * kTokens; i += kLanes) {
    Vec addend, total;
    Load(x + i, addend);
    Load(sum + i, total);
    Store(total + addend * scale, sum + i);
  }
}

// `bias` has the layout of scores, or is null.
template <typename Target, int kDim>
PENSTOCK_INLINE void AttendHead(const float* q, const float* bias, ptrdiff_t width, float* out) {
  using Vec = typename Target::Vec;
  alignas(64) float transposed[kDim * kTokens], s[kTokens * kTokens], inverse[kTokens];
  const ptrdiff_t stride = 3 * width;
  const float *k = q + width, *v = k + width;
  TransposeHead<Vec, kDim>(q, stride, 1.0f / std::sqrt(static_cast<float>(kDim)), transposed);
  Multiply64<Target, 4>(k, stride, 1, kDim, transposed, kTokens, s, kTokens);
  if (bias != nullptr) AddScaled<Vec>(bias, 1.0f, s);
  Vec inverses[4];
  ExpColumns(s, inverses);
  PENSTOCK_UNROLL for (int n = 0; n < 4; ++n) Store(inverses[n], inverse + n * kLanes);
  Multiply64<Target, kDim / kLanes>(s, 1, kTokens, kTokens, v, stride, out, width);
  for (int token = 0; token < kTokens; ++token) {
    PENSTOCK_UNROLL for (int d = 0; d < kDim; d += kLanes) {
      Vec x;
      Load(out + token * width + d, x);
      x *= inverse[token];
      Store(x, out + token * width + d);
    }
  }
}

// Turns p into the softmax, and dp into the gradient of the scores before scaling, times scale.
template <typename Vec>
PENSTOCK_INLINE void SoftmaxBackward(float* p, float* dp, const Vec inverse[4], float scale) {
  Vec mean[4];
  PENSTOCK_UNROLL for (int n = 0; n < 4; ++n) mean[n] = Vec{};
  for (int key = 0; key < kTokens; ++key) {
    PENSTOCK_UNROLL for (int n = 0; n < 4; ++n) {
      Vec x, dx;
      Load(p + key * kTokens + n * kLanes, x);
      Load(dp + key * kTokens + n * kLanes, dx);
      x *= inverse[n];
      mean[n] += x * dx;
      Store(x, p + key * kTokens + n * kLanes);
    }
  }
  for (int key = 0; key < kTokens; ++key) {
    PENSTOCK_UNROLL for (int n = 0; n < 4; ++n) {
      Vec x, dx;
      Load(p + key * kTokens + n * kLanes, x);
      Load(dp + key * kTokens + n * kLanes, dx);
      dx = x * (dx - mean[n]) * scale;
      Store(dx, dp + key * kTokens + n * kLanes);
    }
  }
}

// `bias` and `dbias` have the layout of scores, or are null. Adds to `dbias`.
template <typename Target, int kDim>
PENSTOCK_INLINE void AttendHeadBackward(const float* q, const float* bias, const float* dout,
                                        ptrdiff_t width, float* dq, float* dbias) {
  using Vec = typename Target::Vec;
  constexpr int kVecs = kDim / kLanes;
  alignas(64) float transposed[kDim * kTokens], p[kTokens * kTokens], ds[kTokens * kTokens];
  const ptrdiff_t stride = 3 * width;
  const float scale = 1.0f / std::sqrt(static_cast<float>(kDim));
  const float *k = q + width, *v = k + width;
  TransposeHead<Vec, kDim>(q, stride, scale, transposed);
  Multiply64<Target, 4>(k, stride, 1, kDim, transposed, kTokens, p, kTokens);
  if (bias != nullptr) AddScaled<Vec>(bias, 1.0f, p);
  Vec inverse[4];
  ExpColumns(p, inverse);
  TransposeHead<Vec, kDim>(dout, width, 1.0f, transposed);
  Multiply64<Target, 4>(v, stride, 1, kDim, transposed, kTokens, ds, kTokens);
  SoftmaxBackward(p, ds, inverse, scale);
  if (dbias != nullptr) AddScaled<Vec>(ds, 1.0f / scale, dbias);
  float *dk = dq + width, *dv = dk + width;
  Multiply64<Target, kVecs>(p, kTokens, 1, kTokens, dout, width, dv, stride);
  Multiply64<Target, kVecs>(ds, kTokens, 1, kTokens, q, stride, dk, stride);
  Multiply64<Target, kVecs>(ds, 1, kTokens, kTokens, k, stride, dq, stride);
}

// Writes the head's bias to `transposed` and returns it; null if there is no bias.
template <typename Vec>
PENSTOCK_INLINE const float* TransposeBias(const float* bias, size_t head, float* transposed) {
  if (bias == nullptr) return nullptr;
  TransposeHead<Vec, kTokens>(bias + head * kTokens * kTokens, kTokens, 1.0f, transposed);
  return transposed;
}

template <typename Target, int kDim>
PENSTOCK_INLINE void AttendAll(const float* qkv, const float* bias, size_t samples, size_t heads,
                               float* out) {
  using Vec = typename Target::Vec;
  alignas(64) float transposed[kTokens * kTokens];
  const size_t width = heads * kDim;
  for (size_t h = 0; h < heads; ++h) {
    const float* head_bias = TransposeBias<Vec>(bias, h, transposed);
    for (size_t b = 0; b < samples; ++b) {
      AttendHead<Target, kDim>(qkv + b * kTokens * 3 * width + h * kDim, head_bias,
                               static_cast<ptrdiff_t>(width), out + b * kTokens * width + h * kDim);
    }
  }
}

template <typename Target, int kDim>
PENSTOCK_INLINE void AttendAllBackward(const float* qkv, const float* bias, const float* dout,
                                       size_t samples, size_t heads, float* dqkv, float* dbias) {
  using Vec = typename Target::Vec;
  alignas(64) float transposed[kTokens * kTokens], sums[kTokens * kTokens];
  const size_t width = heads * kDim;
  for (size_t h = 0; h < heads; ++h) {
    const float* head_bias = TransposeBias<Vec>(bias, h, transposed);
    if (dbias != nullptr) std::fill(sums, sums + kTokens * kTokens, 0.0f);
    for (size_t b = 0; b < samples; ++b) {
      const size_t offset = b * kTokens * 3 * width + h * kDim;
      AttendHeadBackward<Target, kDim>(
          qkv + offset, head_bias, dout + b * kTokens * width + h * kDim,
          static_cast<ptrdiff_t>(width), dqkv + offset, dbias == nullptr ? nullptr : sums);
    }
    if (dbias == nullptr) continue;
    TransposeHead<Vec, kTokens>(sums, kTokens, 1.0f, transposed);
    AddScaled<Vec>(transposed, 1.0f, dbias + h * kTokens * kTokens);
  }
}

}  // namespace penstock::cpu

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_ATTENTION_BODY_H_
