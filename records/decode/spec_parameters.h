// Applies the parameters of built-in specs, such as images-train:72,label-1.
#ifndef PENSTOCK_RECORDS_DECODE_SPEC_PARAMETERS_H_
#define PENSTOCK_RECORDS_DECODE_SPEC_PARAMETERS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/decode_spec.pb.h"

namespace penstock {

// Changes `spec` according to `parameters`, which are separated by commas:
//   72       every image operation outputs 72 x 72 pixels; resize_shorter becomes 72 * 8 / 7,
//            rounded to nearest
//   label-1  subtracts 1 from every label; label+1 adds 1
// kInvalidArgument: unknown parameters, or parameters for which `spec` has no operation.
absl::Status ApplyParameters(absl::string_view parameters, v1::DecodeSpec& spec);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_SPEC_PARAMETERS_H_
