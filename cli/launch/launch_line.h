// The command line of `penstock launch`, which ends with a program's own; and the hosts it names.
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
  std::vector<std::string> arguments;    // For CLI11: "-np" and the like written with two dashes.
  std::vector<std::string> program;      // What follows "--", or the first word that is no option.
  std::vector<std::string> mpirun = {};  // Options that are mpirun's alone.
  std::vector<std::string> notes = {};   // To be told: options that have no effect here.
  absl::Status status = {};              // kInvalidArgument: an option that cannot be followed.
};

// Options of horovodrun, perseusrun and mpirun included (see foreign_options.h).
// `arguments` without the program's name; those of other commands are left as they are.
LaunchLine SplitLaunchLine(const std::vector<std::string>& arguments);

struct LaunchHost {
  std::string name;
  uint32_t slots = 1;

  friend bool operator==(const LaunchHost&, const LaunchHost&) = default;
};

// "host1:2,host2:2"; without a number a host has one slot.
// kInvalidArgument names the part that is wrong.
absl::StatusOr<std::vector<LaunchHost>> ParseHosts(absl::string_view text);

// A host a line: "name", "name slots=2" (mpirun, horovodrun) or "name:2"; # begins a comment.
absl::StatusOr<std::vector<LaunchHost>> ParseHostfile(absl::string_view text);

// The same hosts with `ranks` slots in all, filled in their order. `ranks` 0: all slots.
// kInvalidArgument: there are fewer slots than ranks.
absl::StatusOr<std::vector<LaunchHost>> PlaceRanks(std::vector<LaunchHost> hosts, uint32_t ranks);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_LAUNCH_LINE_H_
