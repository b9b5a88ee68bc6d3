// Parses time limits as people write them.
#ifndef PENSTOCK_BASE_TIMEOUT_H_
#define PENSTOCK_BASE_TIMEOUT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace penstock {

// Parses "500ms", "30s" or "1h30m". kInvalidArgument: not above 0, or not a duration. The message
// gives an example.
absl::StatusOr<absl::Duration> ParseTimeout(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_BASE_TIMEOUT_H_
