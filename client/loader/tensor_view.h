// The rows of one tensor of a batch.
#ifndef PENSTOCK_CLIENT_LOADER_TENSOR_VIEW_H_
#define PENSTOCK_CLIENT_LOADER_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"
#include "base/dtype.h"

namespace penstock {

// Row-major [rows, shape...]. Valid while the batch is.
struct TensorView {
  absl::string_view name;
  Dtype dtype;
  std::span<const uint32_t> shape;  // Of one row.
  size_t row_bytes = 0;             // product(shape) * DtypeSize(dtype).
  std::span<const uint8_t> bytes;   // rows * row_bytes.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_TENSOR_VIEW_H_
