// The texts of `penstock feed`: JSON objects on one line.
#ifndef PENSTOCK_CLI_FEED_FEED_TEXT_H_
#define PENSTOCK_CLI_FEED_FEED_TEXT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/loader/loader.h"
#include "client/loader/loader_shape.h"

namespace penstock::feed {

// Returns the text of READY. `slots` is the number of slots that the consumer must make, and
// `metrics` the address at which metrics are served; empty if they are not.
std::string ReadyText(const LoaderOptions& options, const LoaderShape& shape, uint32_t slots,
                      const std::string& metrics);

// Returns the text of ERROR. "code" is the canonical name, such as "DATA_LOSS". If the error names
// a damaged record, there are also "shard", "offset" and "record".
std::string ErrorText(const absl::Status& status);

// `metrics` is their page; empty if nobody asked for it.
std::string StatsText(const LoaderStats& stats, const std::string& metrics);

struct StartText {
  std::optional<Cursor> cursor;  // If it is absent, the feed starts at the beginning.
  uint32_t slots = 0;
  uint64_t step = 0;  // The number of the first step. The steps of --steps count from 0.
};
// Parses the text of START. kInvalidArgument: it is not valid.
absl::StatusOr<StartText> ParseStartText(absl::string_view text);

}  // namespace penstock::feed

#endif  // PENSTOCK_CLI_FEED_FEED_TEXT_H_
