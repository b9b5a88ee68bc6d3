// What a client may define and ask for.
#ifndef PENSTOCK_RECORDS_ENGINE_WINDOW_CHECK_H_
#define PENSTOCK_RECORDS_ENGINE_WINDOW_CHECK_H_

#include "absl/status/status.h"
#include "records/engine/engine_options.h"
#include "records/engine/messages.h"

namespace penstock {

// Everything about `window` that can be known without its shards. kInvalidArgument names the
// chunk; kResourceExhausted a limit.
absl::Status CheckWindow(const OpenWindow& window, bool has_holdout, const EngineLimits& limits);

// Whether the rows lie in a window of `window_rows`. Afterwards rows * count is at most that.
absl::Status CheckFetch(const Fetch& fetch, uint32_t window_rows);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_WINDOW_CHECK_H_
