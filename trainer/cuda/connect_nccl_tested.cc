#include "trainer/cuda/connect_nccl_tested.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

std::string KeyOf(const NcclMode& mode, size_t rank) {
  return absl::StrCat("nccl/graph/", mode.blocking ? "blocking/" : "", rank);
}

// Returns the error of the first rank that has one. `own` is this rank's.
absl::Status Agree(const RankInfo& info, StoreClient& store, const NcclMode& mode,
                   const absl::Status& own, absl::Duration timeout) {
  PENSTOCK_RETURN_IF_ERROR(store.Put(KeyOf(mode, info.rank), std::string(own.message())));
  absl::Status agreed;
  for (size_t rank = 0; rank < info.world_size; ++rank) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string reason, store.Get(KeyOf(mode, rank), timeout));
    if (agreed.ok() && !reason.empty()) {
      agreed = absl::UnavailableError(absl::StrCat("rank ", rank, ": ", reason));
    }
  }
  return agreed;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> ConnectNcclTested(
    const RankInfo& info, StoreClient& store, const NcclLibrary& nccl, DeviceStream& stream,
    const WaitOptions& options, const NcclCallbacks& callbacks) {
  absl::Status failed;
  for (const bool blocking : {false, true}) {
    const NcclMode mode{.blocking = blocking, .on_stuck = callbacks.on_stuck};
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<CapturingCommunicator> ranks,
                              ConnectNccl(info, store, nccl, stream, options, mode));
    const absl::Status tried = ranks->TryGraph(options.connect_timeout);
    // Another rank may begin later, and needs time to find its error.
    failed = Agree(info, store, mode, tried, 3 * options.connect_timeout);
    if (failed.ok()) return ranks;
    PENSTOCK_RETURN_IF_ERROR(store.lost());
    ranks->Abandon(failed);
    if (blocking || !callbacks.on_blocking) continue;
    callbacks.on_blocking(absl::StrCat("NCCL ", nccl.version,
                                       " cannot exchange within a graph without blocking (",
                                       failed.message(), "): its calls block from now on"));
  }
  return Annotate(failed,
                  "NCCL cannot exchange within a graph, whether its calls block or not; --no-graph "
                  "trains without graphs");
}

}  // namespace penstock
