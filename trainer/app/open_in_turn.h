// Opens the data of all ranks in turn. Data may have to be indexed first, which can take any length
// of time.
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
  // Polled while waiting; true stops the wait. If empty, nothing stops it.
  std::function<bool()> should_stop = {};
  // Called each time this rank has waited another `late_after`, with a line that names the ranks
  // whose data is not open yet.
  absl::Duration late_after = absl::Seconds(60);
  std::function<void(absl::string_view)> report = {};
};

// Calls `open` on rank 0, then on all other ranks, which find its manifest if they share the
// folder. Returns once every rank has opened its data. There is no time limit: ranks wait through
// the store, not through the communicator, and report late ranks. `store` is null if there is only
// one rank. kCancelled: should_stop() returned true while waiting, here or on another rank.
// kUnavailable: a rank was lost meanwhile.
absl::Status OpenInTurn(const RankInfo& info, StoreClient* store, const OpenInTurnOptions& options,
                        absl::FunctionRef<absl::Status()> open);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_OPEN_IN_TURN_H_
