// What a step needs besides GEMM, vectorised for the processor it runs on.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_KERNELS_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/numeric/counter_random.h"
#include "kernels/reference/adamw.h"

namespace penstock {

// One instruction set's functions. Contracts are those of kernels/reference, within rounding;
// what a function does beyond that stands beside it. Functions run in the calling thread.
struct CpuKernels {
  const char* name;

  // 64 tokens, any head_dim; 16, 32 and 64 are fast. `bias` (heads, 64, 64) and the gradient by it,
  // to which is added, may be null.
  void (*attention)(const float* qkv, const float* bias, size_t samples, size_t heads,
                    size_t head_dim, float* out);
  void (*attention_backward)(const float* qkv, const float* bias, const float* dout, size_t samples,
                             size_t heads, size_t head_dim, float* dqkv, float* dbias);
  // Multiples of 16 are fast.
  void (*layer_norm)(const float* x, const float* gain, const float* offset, float epsilon,
                     size_t rows, size_t dim, float* y, float* mean, float* rstd);
  // `add`: dx += the gradient, else dx = it.
  void (*layer_norm_backward)(const float* dy, const float* x, const float* gain, const float* mean,
                              const float* rstd, size_t rows, size_t dim, bool add, float* dx,
                              float* dgain, float* doffset);
  // The tanh form, and the erf form.
  void (*gelu)(const float* x, size_t count, float* y);
  void (*gelu_backward)(const float* x, size_t count, float* dy);
  void (*gelu_erf)(const float* x, size_t count, float* y);
  void (*gelu_erf_backward)(const float* x, size_t count, float* dy);
  // s (rows, columns) becomes the softmax of each row of s * scale + bias; `bias` (rows, columns)
  // may be null.
  void (*softmax)(float* s, const float* bias, float scale, size_t rows, size_t columns);
  // dp (rows, columns) becomes the gradient by the scores, from that by the probabilities p.
  void (*softmax_backward)(const float* p, size_t rows, size_t columns, float* dp);
  // y may be x.
  void (*drop_out)(const float* x, const Dropout& dropout, uint64_t key, uint64_t first_index,
                   size_t count, float* y);
  // y (rows, columns) = bias (columns) + residual (rows, columns; may be null).
  void (*fill_rows)(const float* bias, const float* residual, size_t rows, size_t columns,
                    float* y);
  // sums (columns) += each column of x (rows, columns).
  void (*add_column_sums)(const float* x, size_t rows, size_t columns, float* sums);
  void (*add)(const float* addend, size_t count, float* sum);
  // In an order fixed by `count`.
  double (*sum_squares)(const float* x, size_t count);
  void (*adamw)(const reference::AdamwScalars<float>& scalars, const float* gradient, size_t count,
                float* parameter, float* m, float* v);
};

// Those that this processor can run, the fastest first.
std::span<const CpuKernels* const> SupportedCpuKernels();

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_KERNELS_H_
