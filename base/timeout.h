// Time limits as people write them.
#ifndef PENSTOCK_BASE_TIMEOUT_H_
#define PENSTOCK_BASE_TIMEOUT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace penstock {

// "500ms", "30s", "1h30m": more than 0. kInvalidArgument otherwise, with an example.
absl::StatusOr<absl::Duration> ParseTimeout(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_BASE_TIMEOUT_H_
