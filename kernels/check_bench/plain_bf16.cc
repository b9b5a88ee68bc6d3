#include "kernels/check_bench/plain_bf16.h"

#include <algorithm>
#include <cmath>

namespace penstock::check_bench {
namespace {

using reference::AttentionOptions;
using reference::AttentionShape;

float Round(float x) { return ToFloat(FromFloat<Bf16>(x)); }

std::vector<float> ToFloats(const std::vector<Bf16>& values) {
  std::vector<float> floats(values.size());
  std::transform(values.begin(), values.end(), floats.begin(), [](Bf16 x) { return ToFloat(x); });
  return floats;
}

// Returns the matrix c (n, m) in row order: c(i, j) is the sum over k of a(i, k) b(j, k), rounded.
// The functions `a` and `b` return elements.
template <typename A, typename B>
std::vector<float> Product(size_t n, size_t m, size_t depth, A a, B b) {
  std::vector<float> c(n * m);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < m; ++j) {
      float sum = 0;
      for (size_t k = 0; k < depth; ++k) sum += a(i, k) * b(j, k);
      c[i * m + j] = Round(sum);
    }
  }
  return c;
}

void Softmax(std::vector<float>& rows, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    float* row = rows.data() + i * n;
    const float largest = *std::max_element(row, row + n);
    float sum = 0;
    for (size_t j = 0; j < n; ++j) sum += row[j] = std::exp(row[j] - largest);
    for (size_t j = 0; j < n; ++j) row[j] = Round(row[j] / sum);
  }
}

// One sample and head.
struct Head {
  const AttentionShape& shape;
  const reference::AttentionHead<double> place;  // Has the offsets, bias and dropout.
  const float *q, *k, *v, *g;

  float At(const float* x, size_t token, size_t d) const {
    return x[token * 3 * shape.width() + d];
  }
  float Gradient(size_t token, size_t d) const { return g[token * shape.width() + d]; }
  size_t n() const { return shape.tokens; }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(shape.head_dim)); }

  std::vector<float> Probabilities() const {
    auto p = Product(
        n(), n(), shape.head_dim, [&](size_t i, size_t d) { return At(q, i, d); },
        [&](size_t j, size_t d) { return At(k, j, d); });
    for (size_t i = 0; i < n() * n(); ++i) {
      p[i] = Round(p[i] * scale());
      if (place.bias != nullptr) p[i] = Round(p[i] + static_cast<float>(place.bias[i]));
    }
    Softmax(p, n());
    return p;
  }
  std::vector<float> Dropped(std::vector<float> p) const {
    for (size_t i = 0; i < p.size(); ++i) {
      p[i] = Round(p[i] * static_cast<float>(place.Factor(i / n(), i % n())));
    }
    return p;
  }
};

std::vector<float> ScoreGradients(const Head& head, const std::vector<float>& p) {
  const size_t n = head.n();
  auto ds = Product(
      n, n, head.shape.head_dim, [&](size_t i, size_t d) { return head.Gradient(i, d); },
      [&](size_t j, size_t d) { return head.At(head.v, j, d); });
  ds = head.Dropped(std::move(ds));
  for (size_t i = 0; i < n; ++i) {
    float mean = 0;
    for (size_t j = 0; j < n; ++j) mean += p[i * n + j] * ds[i * n + j];
    for (size_t j = 0; j < n; ++j) ds[i * n + j] = Round(p[i * n + j] * (ds[i * n + j] - mean));
  }
  return ds;
}

// Writes rows of a product to the place of a head's rows in `to`.
void Store(const std::vector<float>& rows, size_t dim, double* to, size_t stride) {
  for (size_t i = 0; i < rows.size(); ++i) to[i / dim * stride + i % dim] = rows[i];
}

void Backward(const Head& head, const std::vector<float>& p, double* dqkv, double* dbias) {
  const size_t n = head.n(), dim = head.shape.head_dim, stride = 3 * head.shape.width();
  const auto dropped = head.Dropped(p);
  auto ds = ScoreGradients(head, p);
  for (size_t i = 0; dbias != nullptr && i < n * n; ++i) dbias[i] += ds[i];
  for (float& x : ds) x = Round(x * head.scale());
  const auto dq = Product(
      n, dim, n, [&](size_t i, size_t j) { return ds[i * n + j]; },
      [&](size_t d, size_t j) { return head.At(head.k, j, d); });
  const auto dk = Product(
      n, dim, n, [&](size_t j, size_t i) { return ds[i * n + j]; },
      [&](size_t d, size_t i) { return head.At(head.q, i, d); });
  const auto dv = Product(
      n, dim, n, [&](size_t j, size_t i) { return dropped[i * n + j]; },
      [&](size_t d, size_t i) { return head.Gradient(i, d); });
  Store(dq, dim, dqkv, stride);
  Store(dk, dim, dqkv + head.shape.width(), stride);
  Store(dv, dim, dqkv + 2 * head.shape.width(), stride);
}

}  // namespace

PlainAttention AttendPlainly(const std::vector<Bf16>& qkv, const std::vector<Bf16>& dout,
                             const AttentionShape& shape, const AttentionOptions<double>& options) {
  const size_t n = shape.tokens, width = shape.width();
  PlainAttention plain{std::vector<double>(dout.size()), std::vector<double>(qkv.size()),
                       std::vector<double>(shape.heads * n * n)};
  const auto x = ToFloats(qkv), g = ToFloats(dout);
  const std::vector<double> unread(qkv.size());  // AttentionHead does not read it here.
  for (size_t b = 0; b < shape.samples; ++b) {
    for (size_t h = 0; h < shape.heads; ++h) {
      const size_t at = b * n * 3 * width + h * shape.head_dim;
      const size_t out_at = b * n * width + h * shape.head_dim;
      const Head head{shape,
                      reference::AttentionHead<double>(unread.data(), shape, options, b, h),
                      x.data() + at,
                      x.data() + at + width,
                      x.data() + at + 2 * width,
                      g.data() + out_at};
      const auto p = head.Probabilities(), dropped = head.Dropped(p);
      const auto out = Product(
          n, shape.head_dim, n, [&](size_t i, size_t j) { return dropped[i * n + j]; },
          [&](size_t d, size_t j) { return head.At(head.v, j, d); });
      Store(out, shape.head_dim, plain.out.data() + out_at, width);
      Backward(head, p, plain.dqkv.data() + at, plain.dbias.data() + h * n * n);
    }
  }
  return plain;
}

}  // namespace penstock::check_bench
