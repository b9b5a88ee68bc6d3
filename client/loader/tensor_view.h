// The rows of one tensor of a batch.
#ifndef PENSTOCK_CLIENT_LOADER_TENSOR_VIEW_H_
#define PENSTOCK_CLIENT_LOADER_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "base/dtype.h"

namespace penstock {

// The type of tensors whose elements are T in memory; uint16_t are the bits of bf16.
template <typename T>
constexpr Dtype ElementDtype() {
  if constexpr (std::is_same_v<T, uint8_t>) return Dtype::kU8;
  if constexpr (std::is_same_v<T, int8_t>) return Dtype::kI8;
  if constexpr (std::is_same_v<T, uint16_t>) return Dtype::kBf16;
  if constexpr (std::is_same_v<T, float>) return Dtype::kF32;
  if constexpr (std::is_same_v<T, double>) return Dtype::kF64;
  if constexpr (std::is_same_v<T, int64_t>) return Dtype::kI64;
  if constexpr (std::is_same_v<T, int32_t>) return Dtype::kI32;
}

// Row-major [rows, shape...]. Valid as long as the batch.
struct TensorView {
  // The elements of all rows. REQUIRES: `dtype` is that of T. Otherwise the program aborts with a
  // message; Batch::Values() returns an error instead.
  template <typename T>
  std::span<const T> as() const {
    if (dtype != ElementDtype<T>()) AbortForDtype(ElementDtype<T>());
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  [[noreturn]] void AbortForDtype(Dtype wanted) const;

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
