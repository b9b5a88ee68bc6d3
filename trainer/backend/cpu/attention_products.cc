#include "trainer/backend/cpu/attention_products.h"

#include <cmath>

#include "absl/functional/function_ref.h"

namespace penstock {
namespace {

using reference::AttentionShape;

// Writes a head's rows, times `scale`, to their place between the rows of other heads.
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

// Number of floats in a head's rows, and in its probabilities.
size_t RowsOf(const AttentionShape& shape) { return shape.tokens * shape.head_dim; }
size_t SquareOf(const AttentionShape& shape) { return shape.tokens * shape.tokens; }

// Offset of a head's output in the matrix of all heads.
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

size_t AttentionProducts::ForwardScratch(const AttentionShape& shape) {
  return RowsOf(shape) + SquareOf(shape);
}

size_t AttentionProducts::BackwardScratch(const AttentionShape& shape, const Dropout& dropout) {
  return RowsOf(shape) + (dropout.active() ? 3 : 2) * SquareOf(shape);
}

void AttentionProducts::Forward(const float* qkv, const AttentionShape& shape,
                                const reference::AttentionOptions<float>& options, float* scratch,
                                float* out) const {
  float *rows = scratch, *p = rows + RowsOf(shape);
  ForHeads(shape, [&](size_t b, size_t h) {
    const Head head(qkv, shape, options, b, h);
    Probabilities(head, p);
    if (options.dropout.active()) DropOut(head, p, p);
    Gemm(gemm_, shape.tokens, shape.head_dim, shape.tokens, {p, shape.tokens},
         {head.v, head.stride}, /*accumulate=*/false, rows);
    PutRows(rows, shape, 1.0f, shape.width(), out + OutputOf(shape, b, h));
  });
}

void AttentionProducts::Backward(const float* qkv, const float* dout, const AttentionShape& shape,
                                 const reference::AttentionOptions<float>& options, float* scratch,
                                 float* dqkv, float* dbias) const {
  const size_t tokens = shape.tokens, width = shape.width(), d = shape.head_dim;
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  float *rows = scratch, *p = rows + RowsOf(shape), *dp = p + SquareOf(shape);
  float* dropped = dp + SquareOf(shape);  // Allocated only with dropout.
  ForHeads(shape, [&](size_t b, size_t h) {
    const Head head(qkv, shape, options, b, h);
    const float* g = dout + OutputOf(shape, b, h);
    float *dq = dqkv + (head.q - qkv), *dk = dq + width, *dv = dk + width;
    Probabilities(head, p);
    Gemm(gemm_, tokens, tokens, d, {g, width}, {head.v, head.stride, Transpose::kYes},
         /*accumulate=*/false, dp);
    const float* weights = p;
    if (options.dropout.active()) {
      DropOut(head, p, dropped);
      DropOut(head, dp, dp);
      weights = dropped;
    }
    Gemm(gemm_, tokens, d, tokens, {weights, tokens, Transpose::kYes}, {g, width},
         /*accumulate=*/false, rows);
    PutRows(rows, shape, 1.0f, head.stride, dv);
    kernels_.softmax_backward(p, tokens, tokens, dp);
    if (dbias != nullptr) kernels_.add(dp, tokens * tokens, dbias + h * tokens * tokens);
    Gemm(gemm_, tokens, d, tokens, {dp, tokens}, {head.k, head.stride},
         /*accumulate=*/false, rows);
    PutRows(rows, shape, scale, head.stride, dq);
    Gemm(gemm_, tokens, d, tokens, {dp, tokens, Transpose::kYes}, {head.q, head.stride},
         /*accumulate=*/false, rows);
    PutRows(rows, shape, scale, head.stride, dk);
  });
}

}  // namespace penstock
