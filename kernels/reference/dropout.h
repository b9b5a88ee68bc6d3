// Dropout of any values (Srivastava et al., 2014). attention.h has the dropout of attention.
#ifndef PENSTOCK_KERNELS_REFERENCE_DROPOUT_H_
#define PENSTOCK_KERNELS_REFERENCE_DROPOUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/numeric/counter_random.h"

namespace penstock::reference {

// y = x times the factors of the `count` indices from `first_index` on. The same call turns the
// gradient of y into that of x. If dropout is not active, y is a copy of x. x and y (count); y may
// be x.
template <typename T>
void DropOut(const T* x, const Dropout& dropout, uint64_t key, uint64_t first_index, size_t count,
             T* y) {
  if (!dropout.active()) {
    std::copy_n(x, count, y);
    return;
  }
  for (size_t i = 0; i < count; ++i) y[i] = x[i] * T(dropout.Factor(key, first_index + i));
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_DROPOUT_H_
