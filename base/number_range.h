// Numbers as people write them on a command line, checked before they are used.
#ifndef PENSTOCK_BASE_NUMBER_RANGE_H_
#define PENSTOCK_BASE_NUMBER_RANGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Checks that `text` is a whole number from `least` to `most`, in decimal, or in hexadecimal after
// "0x". "010" is refused, because some read it as 8. The kInvalidArgument error names the range:
// "'-1' is not a whole number from 0 to 16".
absl::Status CheckWholeNumber(absl::string_view text, uint64_t least, uint64_t most);

// Like CheckWholeNumber(), for a finite number that may have a fraction.
absl::Status CheckNumber(absl::string_view text, double least, double most);
// Like CheckNumber(), for any number above 0.
absl::Status CheckPositiveNumber(absl::string_view text);

// Whether `text` is a TCP port, 0 to 65535, in decimal digits.
bool IsPort(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_BASE_NUMBER_RANGE_H_
