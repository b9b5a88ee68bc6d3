// Norms, GELU, sums and AdamW, for any target. Only kernels.cc includes this.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_ELEMENTWISE_BODY_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_ELEMENTWISE_BODY_H_

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "kernels/numeric/counter_random.h"
#include "kernels/reference/adamw.h"
#include "trainer/backend/cpu/vector.h"

namespace penstock::cpu {

// REQUIRES: dim % 16 == 0.
template <typename Vec>
PENSTOCK_INLINE void LayerNormRow(const float* x, const float* gain, const float* offset,
                                  float epsilon, size_t dim, float* y, float& mean, float& rstd) {
  Vec sum{}, squares{};
  for (size_t i = 0; i < dim; i += kLanes) {
    Vec v;
    Load(x + i, v);
    sum += v;
  }
  mean = Sum(sum) / static_cast<float>(dim);
  for (size_t i = 0; i < dim; i += kLanes) {
    Vec v;
    Load(x + i, v);
    v -= mean;
    squares += v * v;
  }
  rstd = 1.0f / std::sqrt(Sum(squares) / static_cast<float>(dim) + epsilon);
  for (size_t i = 0; i < dim; i += kLanes) {
    Vec v, g, o;
    Load(x + i, v);
    Load(gain + i, g);
    Load(offset + i, o);
    Store((v - mean) * rstd * g + o, y + i);
  }
}

// REQUIRES: dim % 16 == 0.
template <typename Vec>
PENSTOCK_INLINE void LayerNormBackwardRow(const float* dy, const float* x, const float* gain,
                                          float mean, float rstd, size_t dim, bool add, float* dx,
                                          float* dgain, float* doffset) {
  Vec sum{}, dot{};
  for (size_t i = 0; i < dim; i += kLanes) {
    Vec v, d, g, dg, doff;
    Load(x + i, v);
    Load(dy + i, d);
    Load(gain + i, g);
    Load(dgain + i, dg);
    Load(doffset + i, doff);
    v = (v - mean) * rstd;
    Store(dg + d * v, dgain + i);
    Store(doff + d, doffset + i);
    d *= g;
    sum += d;
    dot += d * v;
  }
  const float mean_g = Sum(sum) / static_cast<float>(dim);
  const float mean_dot = Sum(dot) / static_cast<float>(dim);
  for (size_t i = 0; i < dim; i += kLanes) {
    Vec v, d, g, before{};
    Load(x + i, v);
    Load(dy + i, d);
    Load(gain + i, g);
    if (add) Load(dx + i, before);
    v = (v - mean) * rstd;
    Store(before + rstd * (d * g - mean_g - v * mean_dot), dx + i);
  }
}

// The gate 0.5 (1 + tanh(u)) equals 1 / (1 + e^(-2u)).
template <typename Vec>
PENSTOCK_INLINE void GeluGate(const Vec& x, Vec& gate) {
  constexpr float kC = 0.7978845608028654f;  // sqrt(2 / pi)
  gate = x * (-2.0f * kC) * (x * x * 0.044715f + 1.0f);
  Exp(gate);
  gate = 1.0f / (gate + 1.0f);
}

template <typename Vec>
PENSTOCK_INLINE void GeluVec(const float* x, float* y) {
  Vec v, gate;
  Load(x, v);
  GeluGate(v, gate);
  Store(v * gate, y);
}

template <typename Vec>
PENSTOCK_INLINE void GeluBackwardVec(const float* x, float* dy) {
  constexpr float kC = 0.7978845608028654f;
  Vec v, d, gate;
  Load(x, v);
  Load(dy, d);
  GeluGate(v, gate);
  const Vec inner = (v * v * (3.0f * 0.044715f) + 1.0f) * (2.0f * kC);
  Store(d * gate * (v * (1.0f - gate) * inner + 1.0f), dy);
}

// y = x < 0 ? tail : 1 - tail.
template <typename V>
PENSTOCK_INLINE void BelowOf(const V& x, const V& tail, V& y) {
  y = x < V{} ? tail : 1.0f - tail;
}
template <typename H>
PENSTOCK_INLINE void BelowOf(const Pair<H>& x, const Pair<H>& tail, Pair<H>& y) {
  BelowOf(x.low, tail.low, y.low);
  BelowOf(x.high, tail.high, y.high);
}

// The cumulative normal distribution at x, within 1e-7 (Abramowitz, Stegun, 7.1.26), and e^(-x^2 /
// 2).
template <typename Vec>
PENSTOCK_INLINE void NormalShare(const Vec& x, Vec& share, Vec& density) {
  constexpr float kP = 0.3275911f * 0.70710678118654752f;
  Vec size = x;
  Raise(size, 0.0f - x);
  density = x * x * -0.5f;
  Exp(density);
  const Vec t = 1.0f / (size * kP + 1.0f);
  Vec p = t * 1.061405429f - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const Vec tail = p * t * density * 0.5f;
  BelowOf(x, tail, share);
}

struct TanhGelu {
  template <typename Vec>
  static PENSTOCK_INLINE void Forward(const float* x, float* y) {
    GeluVec<Vec>(x, y);
  }
  template <typename Vec>
  static PENSTOCK_INLINE void Backward(const float* x, float* dy) {
    GeluBackwardVec<Vec>(x, dy);
  }
};

struct ErfGelu {
  template <typename Vec>
  static PENSTOCK_INLINE void Forward(const float* x, float* y) {
    Vec v, share, density;
    Load(x, v);
    NormalShare(v, share, density);
    Store(v * share, y);
  }
  template <typename Vec>
  static PENSTOCK_INLINE void Backward(const float* x, float* dy) {
    constexpr float kC = 0.3989422804014327f;  // 1 / sqrt(2 pi)
    Vec v, d, share, density;
    Load(x, v);
    Load(dy, d);
    NormalShare(v, share, density);
    Store(d * (share + v * density * kC), dy);
  }
};

template <typename Vec, typename Form>
PENSTOCK_INLINE void GeluAll(const float* x, size_t count, float* y) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Form::template Forward<Vec>(x + i, y + i);
  if (i == count) return;
  alignas(64) float tail[kLanes] = {};
  for (size_t j = i; j < count; ++j) tail[j - i] = x[j];
  Form::template Forward<Vec>(tail, tail);
  for (size_t j = i; j < count; ++j) y[j] = tail[j - i];
}

template <typename Vec, typename Form>
PENSTOCK_INLINE void GeluBackwardAll(const float* x, size_t count, float* dy) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Form::template Backward<Vec>(x + i, dy + i);
  if (i == count) return;
  alignas(64) float tail[kLanes] = {}, gradient[kLanes] = {};
  for (size_t j = i; j < count; ++j) tail[j - i] = x[j], gradient[j - i] = dy[j];
  Form::template Backward<Vec>(tail, gradient);
  for (size_t j = i; j < count; ++j) dy[j] = gradient[j - i];
}

template <typename Vec>
PENSTOCK_INLINE void ExpBelow(float largest, const float* x, Vec& e) {
  Load(x, e);
  e -= largest;
  Exp(e);
}

// Softmax of one row of s * scale + bias, in place; `bias` may be null.
template <typename Vec>
PENSTOCK_INLINE void SoftmaxRow(float* s, const float* bias, float scale, size_t columns) {
  float largest = -__builtin_inff();
  for (size_t i = 0; i < columns; ++i) {
    s[i] = s[i] * scale + (bias == nullptr ? 0.0f : bias[i]);
    largest = s[i] > largest ? s[i] : largest;
  }
  Vec sums{};
  size_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) {
    Vec e;
    ExpBelow(largest, s + i, e);
    sums += e;
    Store(e, s + i);
  }
  float sum = Sum(sums);
  if (i < columns) {
    alignas(64) float tail[kLanes] = {};
    for (size_t j = i; j < columns; ++j) tail[j - i] = s[j];
    Vec e;
    ExpBelow(largest, tail, e);
    Store(e, tail);
    for (size_t j = i; j < columns; ++j) sum += s[j] = tail[j - i];
  }
  for (size_t j = 0; j < columns; ++j) s[j] *= 1.0f / sum;
}

// Turns dp, the gradient of the probabilities p, into the gradient of the scores.
template <typename Vec>
PENSTOCK_INLINE void SoftmaxBackwardRow(const float* p, size_t columns, float* dp) {
  Vec sums{};
  size_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) {
    Vec v, d;
    Load(p + i, v);
    Load(dp + i, d);
    sums += v * d;
  }
  float sum = Sum(sums);
  for (; i < columns; ++i) sum += p[i] * dp[i];
  for (size_t j = 0; j < columns; ++j) dp[j] = p[j] * (dp[j] - sum);
}

// Has two loops, because the compiler vectorises no loop that mixes 64-bit integers with floats.
PENSTOCK_INLINE void DropoutAll(const float* x, const Dropout& dropout, uint64_t key,
                                uint64_t first_index, size_t count, float* y) {
  const uint64_t keep_below = dropout.keep_below;
  const auto scale = std::bit_cast<uint32_t>(dropout.scale);
  alignas(64) uint64_t kept[4 * kLanes];
  for (size_t i = 0; i < count; i += std::size(kept)) {
    for (size_t j = 0; j < std::size(kept); ++j) {
      const uint64_t bits = RandomBits(key, first_index + i + j) >> 32;
      kept[j] = (bits - keep_below) >> 63;  // Both are far below 2^63.
    }
    const size_t n = count - i < std::size(kept) ? count - i : std::size(kept);
    for (size_t j = 0; j < n; ++j) {
      const uint32_t mask = 0u - static_cast<uint32_t>(kept[j]);
      y[i + j] = x[i + j] * std::bit_cast<float>(scale & mask);
    }
  }
}

PENSTOCK_INLINE void FillRowsAll(const float* bias, const float* residual, size_t rows,
                                 size_t columns, float* y) {
  for (size_t r = 0; r < rows; ++r) {
    float* row = y + r * columns;
    if (residual == nullptr) {
      for (size_t i = 0; i < columns; ++i) row[i] = bias[i];
    } else {
      for (size_t i = 0; i < columns; ++i) row[i] = bias[i] + residual[r * columns + i];
    }
  }
}

template <typename Vec>
PENSTOCK_INLINE void AddColumnSumsAll(const float* x, size_t rows, size_t columns, float* sums) {
  size_t i = 0;
  for (; i + 4 * kLanes <= columns; i += 4 * kLanes) {
    Vec sum[4];
    PENSTOCK_UNROLL for (int n = 0; n < 4; ++n) Load(sums + i + n * kLanes, sum[n]);
    for (size_t r = 0; r < rows; ++r) {
      PENSTOCK_UNROLL for (int n = 0; n < 4; ++n) {
        Vec v;
        Load(x + r * columns + i + n * kLanes, v);
        sum[n] += v;
      }
    }
    PENSTOCK_UNROLL for (int n = 0; n < 4; ++n) Store(sum[n], sums + i + n * kLanes);
  }
  for (; i < columns; ++i) {
    for (size_t r = 0; r < rows; ++r) sums[i] += x[r * columns + i];
  }
}

PENSTOCK_INLINE void AddAll(const float* addend, size_t count, float* sum) {
  for (size_t i = 0; i < count; ++i) sum[i] += addend[i];
}

PENSTOCK_INLINE double SumSquaresAll(const float* x, size_t count) {
  double lanes[8] = {};
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (size_t n = 0; n < 8; ++n) {
      const auto value = static_cast<double>(x[i + n]);
      lanes[n] += value * value;
    }
  }
  for (; i < count; ++i) lanes[i % 8] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

PENSTOCK_INLINE void AdamwAll(const reference::AdamwScalars<float>& s, const float* gradient,
                              size_t count, float* parameter, float* m, float* v) {
  const float rate = s.learning_rate * s.correction1;
  for (size_t i = 0; i < count; ++i) {
    const float g = gradient[i] * s.gradient_scale;
    m[i] = s.beta1 * m[i] + (1.0f - s.beta1) * g;
    v[i] = s.beta2 * v[i] + (1.0f - s.beta2) * g * g;
    const float denominator = std::sqrt(v[i]) * s.sqrt_correction2 + s.epsilon;
    parameter[i] -= s.decay * parameter[i] + rate * m[i] / denominator;
  }
}

}  // namespace penstock::cpu

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_ELEMENTWISE_BODY_H_
