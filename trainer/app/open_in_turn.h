// How ranks open their data, which may have to be indexed first: however long that takes.
#ifndef PENSTOCK_TRAINER_APP_OPEN_IN_TURN_H_
#define PENSTOCK_TRAINER_APP_OPEN_IN_TURN_H_

#include <functional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "trainer/comm/rank_info.h"
#include "trainer/comm/store_client.h"

namespace penstock {

struct OpenInTurnOptions {
  std::function<bool()> should_stop = {};  // Asked while it waits. Empty: never.
  // Told after every `late_after` that this rank waits, in a line, whose data is not open yet.
  absl::Duration late_after = absl::Seconds(60);
  std::function<void(absl::string_view)> report = {};
};

// Calls `open` on rank 0, then on all others, which find its manifest if they share the folder;
// returns once all have opened theirs. Nothing here has a time limit: what is waited for goes
// through the store, not through the communicator, and is told of. Null `store`: one rank is alone.
// kCancelled: should_stop() said so while it waited, here or on another rank. kUnavailable: a rank
// was lost meanwhile.
absl::Status OpenInTurn(const RankInfo& info, StoreClient* store, const OpenInTurnOptions& options,
                        absl::FunctionRef<absl::Status()> open);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_OPEN_IN_TURN_H_
