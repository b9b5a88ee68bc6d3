// Makes the command lines that start ranks on several hosts.
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
  std::vector<LaunchHost> hosts;  // The hosts that PlaceRanks() returned.
  uint16_t port = 0;              // Rank 0 listens at this port, on the first host.
  uint16_t ssh_port = 0;          // 0 means the default.
  std::string ssh_key = {};       // A file with the key. If it is empty, ssh uses the default keys.
  // Carries the launcher's own messages. If it is empty, the launcher chooses.
  std::string interface = {};
  bool as_root = false;
  // The caller's environment. Part of it is passed on.
  std::map<std::string, std::string> environment = {};
  std::set<std::string> passed_on = {};  // Names of more variables to pass on.
  std::string output_folder =
      {};  // Folder for the output of each rank, only with mpirun; may be empty.
  std::vector<std::string> mpirun = {};  // More options of mpirun.
  std::vector<std::string> program;

  uint32_t ranks() const;
};

// Returns the command line of mpirun (Open MPI), which marks every line of output with its rank. A
// program other than ours runs behind a shell that sets torchrun's RANK, WORLD_SIZE, LOCAL_RANK and
// LOCAL_WORLD_SIZE.
std::vector<std::string> MpirunLine(const RemoteLaunch& launch);

// Returns the command line of srun, for use in an allocation. The program runs as with
// MpirunLine(). kInvalidArgument: hosts have different numbers of ranks.
absl::StatusOr<std::vector<std::string>> SrunLine(const RemoteLaunch& launch);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_REMOTE_LAUNCH_H_
