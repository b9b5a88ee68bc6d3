// --shard-by local-rank: data that is already split, each host training on its own.
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

// Which host this rank is on, as the launcher has it: the k-th rank of a local rank is on host k.
struct HostPlace {
  size_t host = 0;
  size_t hosts = 1;
};

// All ranks call it. kInvalidArgument unless every host has as many ranks.
absl::StatusOr<HostPlace> FindHost(Communicator& ranks, const RankInfo& info);

// What a rank's part of the data is. All ranks make one, alike. Thread-compatible.
class HostShards {
 public:
  // Everything is one host's unless --shard-by local-rank is given.
  static absl::StatusOr<HostShards> Find(Communicator& ranks, const TrainerOptions& options);

  // Whether there are several hosts, each with its own data.
  bool apart() const { return place_.hosts > 1; }
  // The rows of a step that this rank's host reads, and this rank's part of them.
  void Divide(LoaderOptions& loader) const;
  // A batch of `host` as part of one of all hosts; positions count the rows of all hosts since the
  // training began, of which `step` steps are done. Null where the hosts are one. Borrows `host`.
  std::unique_ptr<Input> Join(Input& host, const TrainerOptions& options, uint64_t step) const;

  // All ranks call these. kInvalidArgument: ranks of one host differ, naming them.
  absl::Status CompareOrders(Communicator& ranks, uint64_t order_fingerprint) const;
  // kInvalidArgument: hosts differ.
  absl::Status CompareCounts(Communicator& ranks, uint64_t steps, bool has_holdout) const;
  // Every host's cursor, in their order: what a checkpoint holds.
  absl::StatusOr<std::string> GatherCursors(Communicator& ranks, const std::string& own) const;
  // This host's. kInvalidArgument: they are of another number of hosts.
  absl::StatusOr<Cursor> OwnCursor(absl::string_view cursors) const;

 private:
  bool by_local_rank_ = false;
  HostPlace place_;
  RankInfo rank_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_HOST_SHARDS_H_
