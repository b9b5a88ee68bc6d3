// Straightforward attention in bf16, operation by operation: every result is rounded to bf16, and
// sums are in float. The fused kernels' errors are measured against the errors of this one.
#ifndef PENSTOCK_KERNELS_CHECK_BENCH_PLAIN_BF16_H_
#define PENSTOCK_KERNELS_CHECK_BENCH_PLAIN_BF16_H_

#include <vector>

#include "kernels/numeric/bf16.h"
#include "kernels/reference/attention.h"

namespace penstock::check_bench {

// The results of a straightforward forward and backward, as doubles.
struct PlainAttention {
  std::vector<double> out, dqkv, dbias;
};

// Layouts as in reference/attention.h; dbias begins as zeros and is summed in float.
PlainAttention AttendPlainly(const std::vector<Bf16>& qkv, const std::vector<Bf16>& dout,
                             const reference::AttentionShape& shape,
                             const reference::AttentionOptions<double>& options);

}  // namespace penstock::check_bench

#endif  // PENSTOCK_KERNELS_CHECK_BENCH_PLAIN_BF16_H_
