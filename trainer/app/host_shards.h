// --shard-by local-rank: the data is already split, and each host trains on its own part.
#ifndef PENSTOCK_TRAINER_APP_HOST_SHARDS_H_
#define PENSTOCK_TRAINER_APP_HOST_SHARDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/loader/loader.h"
#include "trainer/app/options.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_info.h"
#include "trainer/input/input.h"

namespace penstock {

// The host that this rank is on. The launcher's numbering decides: the k-th rank with the same
// local rank is on host k.
struct HostPlace {
  size_t host = 0;
  size_t hosts = 1;
};

// All ranks must call this. kInvalidArgument: the hosts do not all have the same number of ranks.
absl::StatusOr<HostPlace> FindHost(Communicator& ranks, const RankInfo& info);

// Divides the data among hosts and ranks. Every rank makes one, with equal options.
// Thread-compatible.
class HostShards {
 public:
  // Treats all ranks as ranks of one host unless --shard-by local-rank is given.
  static absl::StatusOr<HostShards> Find(Communicator& ranks, const TrainerOptions& options);

  // Whether there are several hosts, each with data of its own.
  bool apart() const { return place_.hosts > 1; }
  // Sets the rows of a step that this rank's host reads, and this rank's part of them.
  void Divide(LoaderOptions& loader) const;
  // Wraps `host` so that its batches count as parts of batches of all hosts. Positions count the
  // rows of all hosts since the training began. The training has done `step` steps. Returns null if
  // there is one host. Borrows `host`.
  std::unique_ptr<Input> Join(Input& host, const TrainerOptions& options, uint64_t step) const;

  // All ranks must call these. kInvalidArgument: ranks of one host differ; the message names them.
  absl::Status CompareOrders(Communicator& ranks, uint64_t order_fingerprint) const;
  // kInvalidArgument: hosts differ.
  absl::Status CompareCounts(Communicator& ranks, uint64_t steps, bool has_holdout) const;
  // Returns the cursors of all hosts, in host order, as a checkpoint stores them.
  absl::StatusOr<std::string> GatherCursors(Communicator& ranks, const std::string& own) const;
  // Returns this host's cursor. kInvalidArgument: the cursors are from another number of hosts.
  absl::StatusOr<Cursor> OwnCursor(absl::string_view cursors) const;

 private:
  bool by_local_rank_ = false;
  HostPlace place_;
  RankInfo rank_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_HOST_SHARDS_H_
