// The rows of one tensor of a batch.
#ifndef PENSTOCK_CLIENT_LOADER_TENSOR_VIEW_H_
#define PENSTOCK_CLIENT_LOADER_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/strings/string_view.h"
#include "base/dtype.h"

namespace penstock {

// Row-major [rows, shape...]. Valid as long as the batch.
struct TensorView {
  absl::string_view name;
  Dtype dtype;
  std::span<const uint32_t> shape;  // Shape of one row.
  size_t row_bytes = 0;             // product(shape) * DtypeSize(dtype).
  std::span<const uint8_t> bytes;   // rows * row_bytes.
  // Index, in Batch::tensors(), of the tensor that says how many items of each row are real; absent
  // if there is none.
  std::optional<size_t> lengths = std::nullopt;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_TENSOR_VIEW_H_
