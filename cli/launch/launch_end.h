// The report of `penstock launch` on failed ranks, and its exit code.
#ifndef PENSTOCK_CLI_LAUNCH_LAUNCH_END_H_
#define PENSTOCK_CLI_LAUNCH_LAUNCH_END_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cli/launch/rank_processes.h"

namespace penstock {

struct Blame {
  size_t rank;
  // The code, as in RanksEnd; absent if the launcher's own code is to be used.
  std::optional<int> code = std::nullopt;

  friend bool operator==(const Blame&, const Blame&) = default;
};

// Returns the first rank that mpirun or srun reports as failed, or nullopt if these lines name
// none.
std::optional<Blame> FindBlame(const std::vector<std::string>& lines);

// Returns OK if no rank failed. If `launcher` is "local", end.failure->rank is a rank. If it is
// "mpirun" or "srun", the launcher is the only process here.
absl::Status ToStatus(const RanksEnd& end, absl::string_view launcher);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_LAUNCH_END_H_
