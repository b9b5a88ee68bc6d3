// Numbers as people write them on a command line, checked before they are used.
#ifndef PENSTOCK_BASE_NUMBER_RANGE_H_
#define PENSTOCK_BASE_NUMBER_RANGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Whether `text` is a whole number, decimal or 0x..., from `least` to `most`; 010 is neither, for
// some take it for 8. kInvalidArgument says which it may be: "'-1' is not a whole number from 0 to
// 16".
absl::Status CheckWholeNumber(absl::string_view text, uint64_t least, uint64_t most);

// The same of a number that may have a fraction; neither infinite nor NaN.
absl::Status CheckNumber(absl::string_view text, double least, double most);
// The same of one above zero.
absl::Status CheckPositiveNumber(absl::string_view text);

// Whether it is a TCP port, 0 to 65535, in decimal digits.
bool IsPort(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_BASE_NUMBER_RANGE_H_
