// Parses the command line of `penstock launch`, which ends with a program's own command line; and
// hosts.
#ifndef PENSTOCK_CLI_LAUNCH_LAUNCH_LINE_H_
#define PENSTOCK_CLI_LAUNCH_LAUNCH_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

struct LaunchLine {
  // The arguments for CLI11. "-np" and similar options are written with two dashes.
  std::vector<std::string> arguments;
  // Words after "--", or from the first word that is not an option.
  std::vector<std::string> program;
  std::vector<std::string> mpirun = {};  // Options that only mpirun has.
  // Reports to the user, about options that have no effect here.
  std::vector<std::string> notes = {};
  absl::Status status = {};  // kInvalidArgument if an option cannot be honoured.
};

// Accepts options of horovodrun, perseusrun and mpirun too (see foreign_options.h). `arguments`
// lacks the program's name. Command lines of other commands stay as they are.
LaunchLine SplitLaunchLine(const std::vector<std::string>& arguments);

struct LaunchHost {
  std::string name;
  uint32_t slots = 1;

  friend bool operator==(const LaunchHost&, const LaunchHost&) = default;
};

// Parses "host1:2,host2:2"; a host without a number has one slot. kInvalidArgument: the message
// names the wrong part.
absl::StatusOr<std::vector<LaunchHost>> ParseHosts(absl::string_view text);

// Parses one host per line: "name", "name slots=2" (mpirun, horovodrun) or "name:2"; # begins a
// comment.
absl::StatusOr<std::vector<LaunchHost>> ParseHostfile(absl::string_view text);

// Fills the hosts' slots in order until there are `ranks` of them, and returns these hosts. If
// `ranks` is 0, returns all slots. kInvalidArgument: there are fewer slots than ranks.
absl::StatusOr<std::vector<LaunchHost>> PlaceRanks(std::vector<LaunchHost> hosts, uint32_t ranks);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_LAUNCH_LINE_H_
