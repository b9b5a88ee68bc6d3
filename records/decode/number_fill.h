// Numbers that a spec gives, as a tensor holds them.
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

// kInvalidArgument, naming the field: the value has a fraction, or its magnitude is 2^53 or more.
// The double is then the nearest one to what the spec says, and nobody knows whether it is equal.
absl::StatusOr<int64_t> WholeNumber(absl::string_view field, double value);

// Each value as a feature of `type` would hold it, then as the dtype. kInvalidArgument, naming the
// field: one of the two does not hold it. REQUIRES: as ConvertFloats() and HoldsExactly().
absl::StatusOr<std::vector<uint8_t>> EncodeFill(absl::string_view field,
                                                std::span<const double> values, FeatureType type,
                                                Dtype dtype);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_NUMBER_FILL_H_
