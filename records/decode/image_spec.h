// The operation `image` of a decode spec, for code that applies it to files.
#ifndef PENSTOCK_RECORDS_DECODE_IMAGE_SPEC_H_
#define PENSTOCK_RECORDS_DECODE_IMAGE_SPEC_H_

#include "absl/status/statusor.h"
#include "proto/decode_spec.pb.h"
#include "records/image/image_ops.h"

namespace penstock {

// The limits that the operation states, or the defaults of those that it leaves out.
ImageLimits LimitsOf(const v1::Image& image);

// Converts the operation. kInvalidArgument: a field is out of range or contradicts another.
absl::StatusOr<ImageOps> ImageOpsOf(const v1::Image& image);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_IMAGE_SPEC_H_
