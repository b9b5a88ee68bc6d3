// The fields that Number and Bytes share: how many values a record may have, and what the tensor
// is.
#ifndef PENSTOCK_RECORDS_DECODE_VALUE_FIELDS_H_
#define PENSTOCK_RECORDS_DECODE_VALUE_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/decode_spec.pb.h"
#include "records/decode/plan_builder.h"
#include "records/format/feature_use.h"

namespace penstock {

// A view of an operation, which must outlive this object.
struct ValueFields {
  template <typename Operation>
  ValueFields(const Operation& operation, absl::string_view field, uint32_t size,
              bool default_given)
      : size_field(field),
        count(size),
        has_default(default_given),
        feature(operation.feature()),
        feature_list(operation.feature_list()),
        shape(operation.shape()),
        pad(operation.has_pad() ? &operation.pad() : nullptr),
        ragged(operation.has_ragged() ? &operation.ragged() : nullptr),
        truncate(operation.truncate()),
        optional(operation.optional()),
        length_tensor(operation.length_tensor()),
        presence_tensor(operation.presence_tensor()) {}

  bool any_length() const { return pad != nullptr || ragged != nullptr; }
  // REQUIRES: any_length().
  uint32_t length() const { return pad != nullptr ? pad->length() : ragged->max_length(); }
  double pad_value() const { return pad != nullptr ? pad->value() : 0; }

  absl::string_view size_field;  // "count" or "length".
  uint32_t count;                // The value of that field.
  bool has_default;
  const std::string& feature;
  const std::string& feature_list;
  const google::protobuf::RepeatedField<uint32_t>& shape;
  const v1::Pad* pad;
  const v1::Ragged* ragged;
  bool truncate;
  bool optional;
  const std::string& length_tensor;
  const std::string& presence_tensor;
};

// kInvalidArgument: fields contradict each other. kFailedPrecondition: pad or ragged has unknown
// fields.
absl::Status CheckFields(const ValueFields& fields);

// The shape and size of a tensor.
struct Extent {
  std::vector<uint32_t> shape;
  size_t item = 1;      // Elements of one item. With any_length(), all axes but the first.
  size_t capacity = 0;  // Elements of the whole tensor.
};

// kInvalidArgument: a size is missing, or sizes contradict each other. kResourceExhausted: a limit
// of a spec is exceeded. REQUIRES: CheckFields() is OK.
absl::StatusOr<Extent> ExtentOf(const ValueFields& fields);

// How a tensor of this extent uses its feature.
FeatureUse UseOf(const ValueFields& fields, FeatureType type, const Extent& extent);

// Returns the name of the tensor with the lengths; empty if there is none.
std::string LengthTensorName(const std::string& name, const ValueFields& fields);
// Adds the tensor that presence_tensor names. Does nothing if the name is empty.
absl::Status AddPresence(const std::string& presence_tensor, size_t column, PlanBuilder& plan);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_VALUE_FIELDS_H_
