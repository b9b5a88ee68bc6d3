// Expands the tensors of batches that WireDtype::kPacked brought.
#ifndef PENSTOCK_CLIENT_LOADER_PACKED_BITS_H_
#define PENSTOCK_CLIENT_LOADER_PACKED_BITS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "client/loader/decode_spec.h"
#include "client/loader/packed_bit.h"
#include "client/loader/tensor_view.h"

namespace penstock {

struct BitTable;

// One tensor of a spec with the operation `bits`, such as the planes of chess. With kPacked a batch
// has the feature that holds these bits, instead of the tensor; several tensors may come from one
// feature.
//
// Immutable, cheap to copy; thread-safe.
class PackedBits {
 public:
  // kNotFound: `spec` has no such tensor. kInvalidArgument: the tensor does not have the operation
  // `bits`, or the spec is wrong.
  static absl::StatusOr<PackedBits> Create(const DecodeSpec& spec, absl::string_view tensor);

  // The name, in a packed batch, of the tensor with the bits.
  const std::string& feature() const { return feature_; }
  size_t packed_bytes() const { return packed_bytes_; }       // Of a row of that tensor.
  std::span<const uint32_t> shape() const { return shape_; }  // Of an expanded row.
  // One entry for each element of an expanded row, row-major. A kernel expands with these:
  // packed_bit.h.
  std::span<const PackedBit> elements() const { return *elements_; }

  // Expands all rows with the vector units of the CPU, to rows * elements().size() values of T:
  // int8_t, float, double, or uint16_t for the bits of bf16. They are those of WireDtype::kI8 and
  // so on. kInvalidArgument: `packed` does not have rows of packed_bytes(), or `out` another size.
  template <typename T>
  absl::Status Expand(const TensorView& packed, std::span<T> out) const {
    return ExpandTo(packed, ElementDtype<T>(), reinterpret_cast<uint8_t*>(out.data()), out.size());
  }

 private:
  PackedBits() = default;
  absl::Status ExpandTo(const TensorView& packed, Dtype dtype, uint8_t* out, size_t size) const;

  std::string feature_;
  size_t packed_bytes_ = 0;
  std::vector<uint32_t> shape_;
  std::shared_ptr<const std::vector<PackedBit>> elements_;  // Shared by copies, as the table.
  std::shared_ptr<const BitTable> table_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_PACKED_BITS_H_
