// How far the kernels' results of attention may be from the reference's, element by element
// (docs/internals/kernel_tolerances.md).
#ifndef PENSTOCK_KERNELS_CHECK_BENCH_ATTENTION_ERROR_H_
#define PENSTOCK_KERNELS_CHECK_BENCH_ATTENTION_ERROR_H_

#include <vector>

#include "kernels/reference/attention.h"

namespace penstock::check_bench {

// An error for each element of out, dqkv and dbias.
struct AttentionErrors {
  std::vector<double> out, dqkv, dbias;
};

// For kernels whose operands are T. The arrays are those of reference/attention.h; `dbias` has the
// values to which the kernel adds its gradient, or is empty.
template <typename T>
AttentionErrors ErrorsOfAttention(const std::vector<double>& qkv, const std::vector<double>& dout,
                                  const reference::AttentionShape& shape,
                                  const reference::AttentionOptions<double>& options,
                                  const std::vector<double>& dbias);

}  // namespace penstock::check_bench

#endif  // PENSTOCK_KERNELS_CHECK_BENCH_ATTENTION_ERROR_H_
