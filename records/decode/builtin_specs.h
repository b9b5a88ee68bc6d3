// The textprotos of records/decode/specs, embedded by the build.
#ifndef PENSTOCK_RECORDS_DECODE_BUILTIN_SPECS_H_
#define PENSTOCK_RECORDS_DECODE_BUILTIN_SPECS_H_

#include "absl/strings/string_view.h"

namespace penstock {

extern const absl::string_view kChessSpec;

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_BUILTIN_SPECS_H_
