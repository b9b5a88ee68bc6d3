// Multi-head self-attention without a mask, after the qkv projection.
#ifndef PENSTOCK_KERNELS_REFERENCE_ATTENTION_H_
#define PENSTOCK_KERNELS_REFERENCE_ATTENTION_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/numeric/counter_random.h"

namespace penstock::reference {

struct AttentionShape {
  size_t samples = 0;
  size_t tokens = 0;
  size_t heads = 0;
  size_t head_dim = 0;
  size_t width() const { return heads * head_dim; }

  // REQUIRES: `heads` divides `width`.
  static AttentionShape OfWidth(size_t samples, size_t tokens, size_t heads, size_t width) {
    return {samples, tokens, heads, width / heads};
  }
};

// Optional inputs of attention, besides queries, keys and values.
template <typename T>
struct AttentionOptions {
  // (heads, tokens, tokens), added to the scaled scores, or null. -infinity excludes a key; a query
  // with all keys excluded gets NaN.
  const T* bias = nullptr;
  // Dropout of the probabilities. The factor of (sample b, head h, query i, key j) is that of index
  // (((first_sample + b) heads + h) tokens + i) tokens + j.
  Dropout dropout;
  uint64_t key = 0;  // Must be a hash: see kernels/numeric/counter_random.h.
  // Position of sample 0 in the global batch. The parts of a batch thus drop the same values as
  // the whole batch.
  uint64_t first_sample = 0;
};

// The inputs of one sample and head. q, k and v point at token 0; neighbouring tokens are `stride`
// apart.
template <typename T>
struct AttentionHead {
  AttentionHead(const T* qkv, const AttentionShape& s, const AttentionOptions<T>& o, size_t b,
                size_t h)
      : q(qkv + b * s.tokens * 3 * s.width() + h * s.head_dim),
        k(q + s.width()),
        v(k + s.width()),
        bias(o.bias == nullptr ? nullptr : o.bias + h * s.tokens * s.tokens),
        stride(3 * s.width()),
        first_index(((o.first_sample + b) * s.heads + h) * s.tokens * s.tokens),
        shape(s),
        options(o) {}

  T Factor(size_t i, size_t j) const {
    return T(options.dropout.Factor(options.key, first_index + i * shape.tokens + j));
  }

  const T *q, *k, *v, *bias;
  size_t stride;
  uint64_t first_index;
  const AttentionShape& shape;
  const AttentionOptions<T>& options;
};

// Row i of softmax(q k^T / sqrt(head_dim) + bias), before dropout. p (tokens).
template <typename T>
void AttentionProbabilities(const AttentionHead<T>& head, size_t i, T* p) {
  const size_t tokens = head.shape.tokens, head_dim = head.shape.head_dim;
  const T scale = T(1) / std::sqrt(static_cast<T>(head_dim));
  for (size_t j = 0; j < tokens; ++j) {
    T dot = 0;
    for (size_t d = 0; d < head_dim; ++d) {
      dot += head.q[i * head.stride + d] * head.k[j * head.stride + d];
    }
    p[j] = dot * scale + (head.bias == nullptr ? T(0) : head.bias[i * tokens + j]);
  }
  const T largest = *std::max_element(p, p + tokens);
  T sum = 0;
  for (size_t j = 0; j < tokens; ++j) sum += p[j] = std::exp(p[j] - largest);
  for (size_t j = 0; j < tokens; ++j) p[j] /= sum;
}

// qkv (samples, tokens, 3, heads, head_dim), out (samples, tokens, heads, head_dim).
template <typename T>
void Attention(const T* qkv, const AttentionShape& shape, T* out,
               const AttentionOptions<T>& options = {}) {
  const size_t width = shape.width();
  std::vector<T> p(shape.tokens);
  for (size_t b = 0; b < shape.samples; ++b) {
    for (size_t h = 0; h < shape.heads; ++h) {
      const AttentionHead<T> head(qkv, shape, options, b, h);
      for (size_t i = 0; i < shape.tokens; ++i) {
        AttentionProbabilities(head, i, p.data());
        T* row = out + (b * shape.tokens + i) * width + h * shape.head_dim;
        std::fill(row, row + shape.head_dim, T(0));
        for (size_t j = 0; j < shape.tokens; ++j) {
          const T weight = p[j] * head.Factor(i, j);
          for (size_t d = 0; d < shape.head_dim; ++d)
            row[d] += weight * head.v[j * head.stride + d];
        }
      }
    }
  }
}

// Writes dqkv, shaped as qkv, from dout, shaped as out. Unless dbias is null, dbias += the bias
// gradient. The softmax is recomputed from qkv.
template <typename T>
void AttentionBackward(const T* qkv, const T* dout, const AttentionShape& shape, T* dqkv,
                       const AttentionOptions<T>& options = {}, T* dbias = nullptr) {
  const size_t width = shape.width(), tokens = shape.tokens;
  const T scale = T(1) / std::sqrt(static_cast<T>(shape.head_dim));
  std::vector<T> p(tokens), dp(tokens);
  std::fill(dqkv, dqkv + shape.samples * tokens * 3 * width, T(0));
  for (size_t b = 0; b < shape.samples; ++b) {
    for (size_t h = 0; h < shape.heads; ++h) {
      const AttentionHead<T> head(qkv, shape, options, b, h);
      T *dq = dqkv + (head.q - qkv), *dk = dq + width, *dv = dk + width;
      for (size_t i = 0; i < tokens; ++i) {
        AttentionProbabilities(head, i, p.data());
        const T* g = dout + (b * tokens + i) * width + h * shape.head_dim;
        T mean = 0;  // Sum of p * dp.
        for (size_t j = 0; j < tokens; ++j) {
          const T factor = head.Factor(i, j);
          dp[j] = 0;
          for (size_t d = 0; d < shape.head_dim; ++d) {
            dp[j] += g[d] * head.v[j * head.stride + d] * factor;
            dv[j * head.stride + d] += p[j] * factor * g[d];
          }
          mean += p[j] * dp[j];
        }
        for (size_t j = 0; j < tokens; ++j) {
          const T ds = p[j] * (dp[j] - mean);
          if (dbias != nullptr) dbias[(h * tokens + i) * tokens + j] += ds;
          for (size_t d = 0; d < shape.head_dim; ++d) {
            dq[i * head.stride + d] += ds * scale * head.k[j * head.stride + d];
            dk[j * head.stride + d] += ds * scale * head.q[i * head.stride + d];
          }
        }
      }
    }
  }
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_ATTENTION_H_
