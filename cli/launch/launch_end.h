// How `penstock launch` tells that ranks failed, and its exit code.
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
  std::optional<int> code = std::nullopt;  // As of RanksEnd; absent: the launcher's own.

  friend bool operator==(const Blame&, const Blame&) = default;
};

// The first rank that mpirun or srun says has failed; absent: they name none in these lines.
std::optional<Blame> FindBlame(const std::vector<std::string>& lines);

// OK if none failed. `launcher` is "local" where end.failure->rank is a rank; else "mpirun" or
// "srun", which is the only process here.
absl::Status ToStatus(const RanksEnd& end, absl::string_view launcher);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_LAUNCH_END_H_
