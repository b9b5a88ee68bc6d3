// Rows of different lengths, without their padding.
#ifndef PENSTOCK_CLIENT_LOADER_RAGGED_TENSOR_H_
#define PENSTOCK_CLIENT_LOADER_RAGGED_TENSOR_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "client/loader/tensor_view.h"

namespace penstock {

// Row i has the items [offsets[i], offsets[i + 1]). Arrow's lists, PyTorch's nested tensors and
// TensorFlow's row_splits have the same form. A list of bytes, u8 [count, length], has such a range
// for each of its values instead: value k of row i is range i * count + k.
struct RaggedTensor {
  Dtype dtype = Dtype::kU8;
  std::vector<uint32_t> item_shape;  // Empty if items are scalars.
  std::vector<uint8_t> values;       // Row-major [offsets.back(), item_shape...].
  std::vector<int64_t> offsets;      // One entry more than ranges; the first is 0.
};

// Copies the items that are real according to `lengths`, which has dtype i64. kInternal: a length
// is negative or larger than the padded row; only a broken server sends that.
absl::StatusOr<RaggedTensor> CompactRows(const TensorView& values, const TensorView& lengths);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_RAGGED_TENSOR_H_
