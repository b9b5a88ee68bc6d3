#include "trainer/app/open_in_turn.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "records/base/status.h"

namespace penstock {
namespace {

std::string Key(size_t rank) { return absl::StrCat("rank ", rank, " has opened its data"); }

// In slices, so that a signal is heard.
absl::Status WaitForRank(size_t rank, StoreClient& store,
                         const std::function<bool()>& should_stop) {
  while (true) {
    const absl::Status status = store.Get(Key(rank), absl::Milliseconds(100)).status();
    if (!absl::IsDeadlineExceeded(status)) return status;
    if (should_stop()) return absl::CancelledError("interrupted");
  }
}

}  // namespace

absl::Status OpenInTurn(const RankInfo& info, StoreClient* store,
                        const std::function<bool()>& should_stop,
                        absl::FunctionRef<absl::Status()> open) {
  if (store == nullptr) return open();
  if (info.rank != 0) PENSTOCK_RETURN_IF_ERROR(WaitForRank(0, *store, should_stop));
  PENSTOCK_RETURN_IF_ERROR(open());
  PENSTOCK_RETURN_IF_ERROR(store->Put(Key(info.rank), ""));
  for (size_t rank = 0; rank < info.world_size; ++rank) {
    PENSTOCK_RETURN_IF_ERROR(WaitForRank(rank, *store, should_stop));
  }
  return absl::OkStatus();
}

}  // namespace penstock
