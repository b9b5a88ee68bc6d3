// Checks that several operations share in Program::Compile(), and the limits of a spec.
#ifndef PENSTOCK_RECORDS_DECODE_COMPILE_CHECKS_H_
#define PENSTOCK_RECORDS_DECODE_COMPILE_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/decode_spec.pb.h"
#include "records/format/feature_use.h"

namespace penstock {

inline constexpr size_t kMaxTensors = 256;
inline constexpr size_t kMaxFeatureNameLength = 256;
inline constexpr int kMaxAxes = 8;
// Limit for all features of a record, and for all tensors of a row.
inline constexpr size_t kMaxRowBytes = size_t{64} << 20;
// Limit for all tensors of a spec. The tables take about 14 bytes for each element.
inline constexpr size_t kMaxBits = size_t{1} << 20;

// kFailedPrecondition: `message` itself, not a message in it, has a field that this version does
// not know.
absl::Status RefuseUnknownFields(const google::protobuf::Message& message);

// kInvalidArgument: the name is not safe. Names become file names (NAME.npy), so they must not
// contain anything that has a meaning in paths.
absl::Status CheckTensorName(absl::string_view name);

// Returns the product of the axes in `field`. kInvalidArgument: there is no such product.
// kResourceExhausted: it exceeds `limit`, which is counted in `unit`.
absl::StatusOr<size_t> Product(const google::protobuf::RepeatedField<uint32_t>& sizes,
                               absl::string_view field, size_t limit, absl::string_view unit);

// Returns "bytes[4]", "optional int64[3]" or "int64[0 to 64]", for error messages.
std::string Describe(const FeatureUse& feature);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_COMPILE_CHECKS_H_
