// The fields that Bits and Bytes share: how elements are stored, and which tensor they become.
#ifndef PENSTOCK_RECORDS_DECODE_STORED_AXES_H_
#define PENSTOCK_RECORDS_DECODE_STORED_AXES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_field.h"

namespace penstock {

// A view of an operation, which must outlive this object.
struct StoredAxes {
  using Sizes = google::protobuf::RepeatedField<uint32_t>;

  template <typename Operation>
  explicit StoredAxes(const Operation& operation)
      : dims(operation.dims()), transpose(operation.transpose()), shape(operation.shape()) {}

  const Sizes& dims;
  const Sizes& transpose;
  const Sizes& shape;
};

// Returns the permutation in which output axis i is stored axis transpose[i]; without the field, it
// is the identity. kInvalidArgument: the field is no permutation.
absl::StatusOr<std::vector<uint32_t>> TransposeOf(const StoredAxes& axes);

// Returns the tensor's shape: `shape`, or else the dims in the order of `transpose`, which comes
// from TransposeOf(). `limit` and `unit` are as for Product(). kInvalidArgument: `shape` does not
// have `size` elements, the product of dims.
absl::StatusOr<std::vector<uint32_t>> ShapeOf(const StoredAxes& axes, size_t size,
                                              std::span<const uint32_t> transpose, size_t limit,
                                              absl::string_view unit);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_STORED_AXES_H_
