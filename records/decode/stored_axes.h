// The fields that Bits and Bytes share: how elements are stored, and the tensor they become.
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

// A view of an operation, which must outlive it.
struct StoredAxes {
  using Sizes = google::protobuf::RepeatedField<uint32_t>;

  template <typename Operation>
  explicit StoredAxes(const Operation& operation)
      : dims(operation.dims()), transpose(operation.transpose()), shape(operation.shape()) {}

  const Sizes& dims;
  const Sizes& transpose;
  const Sizes& shape;
};

// Output axis i is stored axis transpose[i]; without the field the identity. kInvalidArgument: it
// is no permutation.
absl::StatusOr<std::vector<uint32_t>> TransposeOf(const StoredAxes& axes);

// The tensor's shape: `shape`, or else the dims in the order of `transpose`, of TransposeOf().
// kInvalidArgument: `shape` does not hold `size` elements, the product of dims. `limit` and `unit`
// are those of Product().
absl::StatusOr<std::vector<uint32_t>> ShapeOf(const StoredAxes& axes, size_t size,
                                              std::span<const uint32_t> transpose, size_t limit,
                                              absl::string_view unit);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_STORED_AXES_H_
