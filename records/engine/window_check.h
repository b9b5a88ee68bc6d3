// Checks what a client defines and requests.
#ifndef PENSTOCK_RECORDS_ENGINE_WINDOW_CHECK_H_
#define PENSTOCK_RECORDS_ENGINE_WINDOW_CHECK_H_

#include "absl/status/status.h"
#include "records/engine/engine_options.h"
#include "records/engine/messages.h"

namespace penstock {

// Checks everything about `window` that can be known without its shards. kInvalidArgument: the
// message names the chunk. kResourceExhausted: a limit is exceeded; the message names it.
absl::Status CheckWindow(const OpenWindow& window, bool has_holdout, const EngineLimits& limits);

// Checks that the rows lie in a window of `window_rows` rows; rows * count is then at most that.
// Returns kInvalidArgument if they do not.
absl::Status CheckFetch(const Fetch& fetch, uint32_t window_rows);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_WINDOW_CHECK_H_
