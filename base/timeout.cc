#include "base/timeout.h"

#include "absl/strings/str_cat.h"

namespace penstock {

absl::StatusOr<absl::Duration> ParseTimeout(absl::string_view text) {
  absl::Duration timeout;
  if (absl::ParseDuration(text, &timeout) && timeout > absl::ZeroDuration()) return timeout;
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a time such as 500ms, 30s or 5m"));
}

}  // namespace penstock
