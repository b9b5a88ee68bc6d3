// Multi-head self-attention without a mask, after the qkv projection.
#ifndef PENSTOCK_KERNELS_REFERENCE_ATTENTION_H_
#define PENSTOCK_KERNELS_REFERENCE_ATTENTION_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace penstock::reference {

struct AttentionShape {
  size_t samples = 0;
  size_t tokens = 0;
  size_t heads = 0;
  size_t head_dim = 0;
  size_t width() const { return heads * head_dim; }
};

// Row i of softmax(q k^T / sqrt(head_dim)) of one sample and head. q and k point at that sample's
// token 0 and head; neighbouring tokens are `stride` apart. p (tokens).
template <typename T>
void AttentionProbabilities(const T* q, const T* k, size_t i, size_t stride, size_t tokens,
                            size_t head_dim, T* p) {
  const T scale = T(1) / std::sqrt(static_cast<T>(head_dim));
  for (size_t j = 0; j < tokens; ++j) {
    T dot = 0;
    for (size_t d = 0; d < head_dim; ++d) dot += q[i * stride + d] * k[j * stride + d];
    p[j] = dot * scale;
  }
  const T largest = *std::max_element(p, p + tokens);
  T sum = 0;
  for (size_t j = 0; j < tokens; ++j) sum += p[j] = std::exp(p[j] - largest);
  for (size_t j = 0; j < tokens; ++j) p[j] /= sum;
}

// qkv (samples, tokens, 3, heads, head_dim), out (samples, tokens, heads, head_dim).
template <typename T>
void Attention(const T* qkv, const AttentionShape& shape, T* out) {
  const size_t width = shape.width(), stride = 3 * width;
  std::vector<T> p(shape.tokens);
  for (size_t b = 0; b < shape.samples; ++b) {
    for (size_t h = 0; h < shape.heads; ++h) {
      const T* q = qkv + b * shape.tokens * stride + h * shape.head_dim;
      const T* v = q + 2 * width;
      for (size_t i = 0; i < shape.tokens; ++i) {
        AttentionProbabilities(q, q + width, i, stride, shape.tokens, shape.head_dim, p.data());
        T* row = out + (b * shape.tokens + i) * width + h * shape.head_dim;
        std::fill(row, row + shape.head_dim, T(0));
        for (size_t j = 0; j < shape.tokens; ++j) {
          for (size_t d = 0; d < shape.head_dim; ++d) row[d] += p[j] * v[j * stride + d];
        }
      }
    }
  }
}

// Writes dqkv, shaped as qkv, from dout, shaped as out. The softmax is recomputed from qkv.
template <typename T>
void AttentionBackward(const T* qkv, const T* dout, const AttentionShape& shape, T* dqkv) {
  const size_t width = shape.width(), stride = 3 * width;
  const T scale = T(1) / std::sqrt(static_cast<T>(shape.head_dim));
  std::vector<T> p(shape.tokens), dp(shape.tokens);
  std::fill(dqkv, dqkv + shape.samples * shape.tokens * stride, T(0));
  for (size_t b = 0; b < shape.samples; ++b) {
    for (size_t h = 0; h < shape.heads; ++h) {
      const size_t offset = b * shape.tokens * stride + h * shape.head_dim;
      const T *q = qkv + offset, *k = q + width, *v = k + width;
      T *dq = dqkv + offset, *dk = dq + width, *dv = dk + width;
      for (size_t i = 0; i < shape.tokens; ++i) {
        AttentionProbabilities(q, k, i, stride, shape.tokens, shape.head_dim, p.data());
        const T* g = dout + (b * shape.tokens + i) * width + h * shape.head_dim;
        T mean = 0;  // Sum of p * dp.
        for (size_t j = 0; j < shape.tokens; ++j) {
          dp[j] = 0;
          for (size_t d = 0; d < shape.head_dim; ++d) {
            dp[j] += g[d] * v[j * stride + d];
            dv[j * stride + d] += p[j] * g[d];
          }
          mean += p[j] * dp[j];
        }
        for (size_t j = 0; j < shape.tokens; ++j) {
          const T ds = p[j] * (dp[j] - mean) * scale;
          for (size_t d = 0; d < shape.head_dim; ++d) {
            dq[i * stride + d] += ds * k[j * stride + d];
            dk[j * stride + d] += ds * q[i * stride + d];
          }
        }
      }
    }
  }
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_ATTENTION_H_
