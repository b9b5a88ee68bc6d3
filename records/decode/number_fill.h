// Converts numbers in a spec to the form in which a tensor holds them.
#ifndef PENSTOCK_RECORDS_DECODE_NUMBER_FILL_H_
#define PENSTOCK_RECORDS_DECODE_NUMBER_FILL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "records/format/example.h"

namespace penstock {

// Converts `value` to an integer. kInvalidArgument: it has a fraction, or its magnitude is 2^53 or
// more. A double that large is the nearest one to the number in the spec, but may not be equal to
// it. The message names the field.
absl::StatusOr<int64_t> WholeNumber(absl::string_view field, double value);

// Converts each value to the type of the feature, then to the dtype. kInvalidArgument: one of the
// two cannot hold it. The message names the field. REQUIRES: as ConvertFloats() and HoldsExactly().
absl::StatusOr<std::vector<uint8_t>> EncodeFill(absl::string_view field,
                                                std::span<const double> values, FeatureType type,
                                                Dtype dtype);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_NUMBER_FILL_H_
