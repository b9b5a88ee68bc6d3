// The command lines that start ranks on several hosts.
#ifndef PENSTOCK_CLI_LAUNCH_REMOTE_LAUNCH_H_
#define PENSTOCK_CLI_LAUNCH_REMOTE_LAUNCH_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/launch/launch_line.h"

namespace penstock {

struct RemoteLaunch {
  std::vector<LaunchHost> hosts;  // As PlaceRanks() returns them.
  uint16_t port = 0;              // Where rank 0 listens, on the first host.
  uint16_t ssh_port = 0;          // 0: the usual one.
  std::string ssh_key = {};       // A file; empty: the usual ones.
  std::string interface = {};     // For the launcher's own messages; empty: it chooses.
  bool as_root = false;
  std::map<std::string, std::string> environment = {};  // Of the caller; part of it is passed on.
  std::set<std::string> passed_on = {};                 // Names of more of them.
  std::string output_folder =
      {};  // For files of what each rank prints; empty: none. mpirun's only.
  std::vector<std::string> mpirun = {};  // More options of it.
  std::vector<std::string> program;

  uint32_t ranks() const;
};

// mpirun (Open MPI), with every line of output marked by its rank. A program other than ours runs
// behind a shell that sets torchrun's RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE.
std::vector<std::string> MpirunLine(const RemoteLaunch& launch);

// srun, inside an allocation; the program runs as by MpirunLine(). kInvalidArgument: hosts with
// different numbers of ranks.
absl::StatusOr<std::vector<std::string>> SrunLine(const RemoteLaunch& launch);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_REMOTE_LAUNCH_H_
