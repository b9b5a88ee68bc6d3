// The textprotos of records/decode/specs, which the build embeds.
#ifndef PENSTOCK_RECORDS_DECODE_BUILTIN_SPECS_H_
#define PENSTOCK_RECORDS_DECODE_BUILTIN_SPECS_H_

#include <span>

#include "absl/strings/string_view.h"

namespace penstock {

struct BuiltinSpec {
  absl::string_view name;
  absl::string_view text;
};

std::span<const BuiltinSpec> BuiltinSpecs();

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_BUILTIN_SPECS_H_
