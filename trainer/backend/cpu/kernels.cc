#include "trainer/backend/cpu/kernels.h"

#include <algorithm>
#include <vector>

#include "kernels/reference/attention.h"
#include "kernels/reference/layer_norm.h"
#include "trainer/backend/cpu/attention_body.h"
#include "trainer/backend/cpu/elementwise_body.h"

namespace penstock {
namespace {

void SlowAttention(const float* qkv, const float* bias, size_t samples, size_t heads,
                   size_t head_dim, float* out) {
  reference::Attention(qkv, {samples, cpu::kTokens, heads, head_dim}, out,
                       {.bias = bias, .dropout = {}});
}

void SlowAttentionBackward(const float* qkv, const float* bias, const float* dout, size_t samples,
                           size_t heads, size_t head_dim, float* dqkv, float* dbias) {
  reference::AttentionBackward(qkv, dout, {samples, cpu::kTokens, heads, head_dim}, dqkv,
                               {.bias = bias, .dropout = {}}, dbias);
}

void SlowLayerNormBackward(const float* dy, const float* x, const float* gain, const float* mean,
                           const float* rstd, size_t rows, size_t dim, bool add, float* dx,
                           float* dgain, float* doffset) {
  if (!add) std::fill_n(dx, rows * dim, 0.0f);
  reference::LayerNormBackward(dy, x, gain, mean, rstd, rows, dim, dx, dgain, doffset);
}

struct Avx512 {
  using Vec = cpu::Vec16;
  static constexpr int kSums = 16, kWidest = 4;
};
struct Avx2 {
  using Vec = cpu::Pair<cpu::Vec8>;
  static constexpr int kSums = 4, kWidest = 2;
};
struct Baseline {
  using Vec = cpu::Pair<cpu::Pair<cpu::Vec4>>;
  static constexpr int kSums = 2, kWidest = 1;
};

// One namespace per target.
#define PENSTOCK_CPU_KERNELS(isa, Target, target)                                                 \
  namespace isa {                                                                                 \
  target void Attention(const float* qkv, const float* bias, size_t samples, size_t heads,        \
                        size_t head_dim, float* out) {                                            \
    if (head_dim == 16) return cpu::AttendAll<Target, 16>(qkv, bias, samples, heads, out);        \
    if (head_dim == 32) return cpu::AttendAll<Target, 32>(qkv, bias, samples, heads, out);        \
    if (head_dim == 64) return cpu::AttendAll<Target, 64>(qkv, bias, samples, heads, out);        \
    SlowAttention(qkv, bias, samples, heads, head_dim, out);                                      \
  }                                                                                               \
  target void AttentionBackward(const float* qkv, const float* bias, const float* dout,           \
                                size_t samples, size_t heads, size_t head_dim, float* dqkv,       \
                                float* dbias) {                                                   \
    if (head_dim == 16)                                                                           \
      return cpu::AttendAllBackward<Target, 16>(qkv, bias, dout, samples, heads, dqkv, dbias);    \
    if (head_dim == 32)                                                                           \
      return cpu::AttendAllBackward<Target, 32>(qkv, bias, dout, samples, heads, dqkv, dbias);    \
    if (head_dim == 64)                                                                           \
      return cpu::AttendAllBackward<Target, 64>(qkv, bias, dout, samples, heads, dqkv, dbias);    \
    SlowAttentionBackward(qkv, bias, dout, samples, heads, head_dim, dqkv, dbias);                \
  }                                                                                               \
  target void LayerNorm(const float* x, const float* gain, const float* offset, float epsilon,    \
                        size_t rows, size_t dim, float* y, float* mean, float* rstd) {            \
    if (dim % cpu::kLanes != 0)                                                                   \
      return reference::LayerNorm(x, gain, offset, epsilon, rows, dim, y, mean, rstd);            \
    for (size_t r = 0; r < rows; ++r) {                                                           \
      cpu::LayerNormRow<Target::Vec>(x + r * dim, gain, offset, epsilon, dim, y + r * dim,        \
                                     mean[r], rstd[r]);                                           \
    }                                                                                             \
  }                                                                                               \
  target void LayerNormBackward(const float* dy, const float* x, const float* gain,               \
                                const float* mean, const float* rstd, size_t rows, size_t dim,    \
                                bool add, float* dx, float* dgain, float* doffset) {              \
    if (dim % cpu::kLanes != 0)                                                                   \
      return SlowLayerNormBackward(dy, x, gain, mean, rstd, rows, dim, add, dx, dgain, doffset);  \
    for (size_t r = 0; r < rows; ++r) {                                                           \
      cpu::LayerNormBackwardRow<Target::Vec>(dy + r * dim, x + r * dim, gain, mean[r], rstd[r],   \
                                             dim, add, dx + r * dim, dgain, doffset);             \
    }                                                                                             \
  }                                                                                               \
  target void Gelu(const float* x, size_t count, float* y) {                                      \
    cpu::GeluAll<Target::Vec, cpu::TanhGelu>(x, count, y);                                        \
  }                                                                                               \
  target void GeluBackward(const float* x, size_t count, float* dy) {                             \
    cpu::GeluBackwardAll<Target::Vec, cpu::TanhGelu>(x, count, dy);                               \
  }                                                                                               \
  target void GeluErf(const float* x, size_t count, float* y) {                                   \
    cpu::GeluAll<Target::Vec, cpu::ErfGelu>(x, count, y);                                         \
  }                                                                                               \
  target void GeluErfBackward(const float* x, size_t count, float* dy) {                          \
    cpu::GeluBackwardAll<Target::Vec, cpu::ErfGelu>(x, count, dy);                                \
  }                                                                                               \
  target void Softmax(float* s, const float* bias, float scale, size_t rows, size_t columns) {    \
    for (size_t r = 0; r < rows; ++r) {                                                           \
      cpu::SoftmaxRow<Target::Vec>(                                                               \
          s + r * columns, bias == nullptr ? nullptr : bias + r * columns, scale, columns);       \
    }                                                                                             \
  }                                                                                               \
  target void SoftmaxBackward(const float* p, size_t rows, size_t columns, float* dp) {           \
    for (size_t r = 0; r < rows; ++r) {                                                           \
      cpu::SoftmaxBackwardRow<Target::Vec>(p + r * columns, columns, dp + r * columns);           \
    }                                                                                             \
  }                                                                                               \
  target void DropOut(const float* x, const Dropout& dropout, uint64_t key, uint64_t first_index, \
                      size_t count, float* y) {                                                   \
    cpu::DropoutAll(x, dropout, key, first_index, count, y);                                      \
  }                                                                                               \
  target void FillRows(const float* bias, const float* residual, size_t rows, size_t columns,     \
                       float* y) {                                                                \
    cpu::FillRowsAll(bias, residual, rows, columns, y);                                           \
  }                                                                                               \
  target void AddColumnSums(const float* x, size_t rows, size_t columns, float* sums) {           \
    cpu::AddColumnSumsAll<Target::Vec>(x, rows, columns, sums);                                   \
  }                                                                                               \
  target void Add(const float* addend, size_t count, float* sum) {                                \
    cpu::AddAll(addend, count, sum);                                                              \
  }                                                                                               \
  target double SumSquares(const float* x, size_t count) { return cpu::SumSquaresAll(x, count); } \
  target void Adamw(const reference::AdamwScalars<float>& scalars, const float* gradient,         \
                    size_t count, float* parameter, float* m, float* v) {                         \
    cpu::AdamwAll(scalars, gradient, count, parameter, m, v);                                     \
  }                                                                                               \
  constexpr CpuKernels kKernels = {#isa,                                                          \
                                   Attention,                                                     \
                                   AttentionBackward,                                             \
                                   LayerNorm,                                                     \
                                   LayerNormBackward,                                             \
                                   Gelu,                                                          \
                                   GeluBackward,                                                  \
                                   GeluErf,                                                       \
                                   GeluErfBackward,                                               \
                                   Softmax,                                                       \
                                   SoftmaxBackward,                                               \
                                   DropOut,                                                       \
                                   FillRows,                                                      \
                                   AddColumnSums,                                                 \
                                   Add,                                                           \
                                   SumSquares,                                                    \
                                   Adamw};                                                        \
  }

#ifdef __clang__
#define PENSTOCK_TARGET_AVX512 \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma"), min_vector_width(512)))
#else
#define PENSTOCK_TARGET_AVX512 \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")))
#endif

PENSTOCK_CPU_KERNELS(avx512, Avx512, PENSTOCK_TARGET_AVX512)
PENSTOCK_CPU_KERNELS(avx2, Avx2, __attribute__((target("avx2,fma"))))
PENSTOCK_CPU_KERNELS(baseline, Baseline, )

std::vector<const CpuKernels*> FindSupported() {
  std::vector<const CpuKernels*> found;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    found.push_back(&avx512::kKernels);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.push_back(&avx2::kKernels);
  }
  found.push_back(&baseline::kKernels);
  return found;
}

}  // namespace

std::span<const CpuKernels* const> SupportedCpuKernels() {
  static const std::vector<const CpuKernels*> supported = FindSupported();
  return supported;
}

}  // namespace penstock
