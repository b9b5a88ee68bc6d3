#include "trainer/backend/cpu/attention_products.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/functional/function_ref.h"

namespace penstock {
namespace {

using reference::AttentionShape;

// Rows of a head, as they lie between those of others: times `scale`.
void PutRows(const float* from, const AttentionShape& shape, float scale, size_t stride,
             float* to) {
  for (size_t token = 0; token < shape.tokens; ++token) {
    for (size_t d = 0; d < shape.head_dim; ++d) {
      to[token * stride + d] = from[token * shape.head_dim + d] * scale;
    }
  }
}

void ForHeads(const AttentionShape& shape, absl::FunctionRef<void(size_t b, size_t h)> body) {
  for (size_t b = 0; b < shape.samples; ++b) {
    for (size_t h = 0; h < shape.heads; ++h) body(b, h);
  }
}

// Of a head's output, in the matrix of all.
size_t OutputOf(const AttentionShape& shape, size_t b, size_t h) {
  return b * shape.tokens * shape.width() + h * shape.head_dim;
}

}  // namespace

void AttentionProducts::Probabilities(const Head& head, float* p) const {
  const AttentionShape& shape = head.shape;
  Gemm(gemm_, shape.tokens, shape.tokens, shape.head_dim, {head.q, head.stride},
       {head.k, head.stride, Transpose::kYes}, /*accumulate=*/false, p);
  const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  kernels_.softmax(p, head.bias, scale, shape.tokens, shape.tokens);
}

void AttentionProducts::DropOut(const Head& head, const float* p, float* y) const {
  const size_t count = head.shape.tokens * head.shape.tokens;
  kernels_.drop_out(p, head.options.dropout, head.options.key, head.first_index, count, y);
}

void AttentionProducts::Forward(const float* qkv, const AttentionShape& shape,
                                const reference::AttentionOptions<float>& options,
                                float* out) const {
  std::vector<float> p(shape.tokens * shape.tokens), rows(shape.tokens * shape.head_dim);
  ForHeads(shape, [&](size_t b, size_t h) {
    const Head head(qkv, shape, options, b, h);
    Probabilities(head, p.data());
    if (options.dropout.active()) DropOut(head, p.data(), p.data());
    Gemm(gemm_, shape.tokens, shape.head_dim, shape.tokens, {p.data(), shape.tokens},
         {head.v, head.stride}, /*accumulate=*/false, rows.data());
    PutRows(rows.data(), shape, 1.0f, shape.width(), out + OutputOf(shape, b, h));
  });
}

void AttentionProducts::Backward(const float* qkv, const float* dout, const AttentionShape& shape,
                                 const reference::AttentionOptions<float>& options, float* dqkv,
                                 float* dbias) const {
  const size_t tokens = shape.tokens, width = shape.width(), d = shape.head_dim;
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  std::vector<float> p(tokens * tokens), dp(tokens * tokens), rows(tokens * d);
  std::vector<float> dropped(options.dropout.active() ? tokens * tokens : 0);
  ForHeads(shape, [&](size_t b, size_t h) {
    const Head head(qkv, shape, options, b, h);
    const float* g = dout + OutputOf(shape, b, h);
    float *dq = dqkv + (head.q - qkv), *dk = dq + width, *dv = dk + width;
    Probabilities(head, p.data());
    Gemm(gemm_, tokens, tokens, d, {g, width}, {head.v, head.stride, Transpose::kYes},
         /*accumulate=*/false, dp.data());
    const float* weights = p.data();
    if (options.dropout.active()) {
      DropOut(head, p.data(), dropped.data());
      DropOut(head, dp.data(), dp.data());
      weights = dropped.data();
    }
    Gemm(gemm_, tokens, d, tokens, {weights, tokens, Transpose::kYes}, {g, width},
         /*accumulate=*/false, rows.data());
    PutRows(rows.data(), shape, 1.0f, head.stride, dv);
    kernels_.softmax_backward(p.data(), tokens, tokens, dp.data());
    if (dbias != nullptr) kernels_.add(dp.data(), tokens * tokens, dbias + h * tokens * tokens);
    Gemm(gemm_, tokens, d, tokens, {dp.data(), tokens}, {head.k, head.stride},
         /*accumulate=*/false, rows.data());
    PutRows(rows.data(), shape, scale, head.stride, dq);
    Gemm(gemm_, tokens, d, tokens, {dp.data(), tokens, Transpose::kYes}, {head.q, head.stride},
         /*accumulate=*/false, rows.data());
    PutRows(rows.data(), shape, scale, head.stride, dk);
  });
}

}  // namespace penstock
