// The operations of a step besides GEMM, vectorised for the processor that runs them.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_KERNELS_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/numeric/counter_random.h"
#include "kernels/reference/adamw.h"

namespace penstock {

// The functions for one instruction set. Contracts are those of kernels/reference, within rounding.
// A comment on a function adds to its contract. Functions run in the calling thread.
struct CpuKernels {
  const char* name;

  // For 64 tokens and any head_dim; 16, 32 and 64 are fast. `bias` (heads, 64, 64) and its gradient
  // may be null. Adds to the bias gradient.
  void (*attention)(const float* qkv, const float* bias, size_t samples, size_t heads,
                    size_t head_dim, float* out);
  void (*attention_backward)(const float* qkv, const float* bias, const float* dout, size_t samples,
                             size_t heads, size_t head_dim, float* dqkv, float* dbias);
  // Dimensions that are multiples of 16 are fast.
  void (*layer_norm)(const float* x, const float* gain, const float* offset, float epsilon,
                     size_t rows, size_t dim, float* y, float* mean, float* rstd);
  // If `add`, dx += the gradient; otherwise dx = the gradient.
  void (*layer_norm_backward)(const float* dy, const float* x, const float* gain, const float* mean,
                              const float* rstd, size_t rows, size_t dim, bool add, float* dx,
                              float* dgain, float* doffset);
  // The tanh form, then the erf form.
  void (*gelu)(const float* x, size_t count, float* y);
  void (*gelu_backward)(const float* x, size_t count, float* dy);
  void (*gelu_erf)(const float* x, size_t count, float* y);
  void (*gelu_erf_backward)(const float* x, size_t count, float* dy);
  // Turns each row of s (rows, columns) into the softmax of s * scale + bias. `bias` (rows,
  // columns) may be null.
  void (*softmax)(float* s, const float* bias, float scale, size_t rows, size_t columns);
  // Turns dp (rows, columns), the gradient of the probabilities p, into the gradient of the scores.
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
  // The order of the sum depends on `count` alone.
  double (*sum_squares)(const float* x, size_t count);
  void (*adamw)(const reference::AdamwScalars<float>& scalars, const float* gradient, size_t count,
                float* parameter, float* m, float* v);
};

// The instruction sets that this processor can run, the fastest first.
std::span<const CpuKernels* const> SupportedCpuKernels();

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_KERNELS_H_
