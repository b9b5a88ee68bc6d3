// Runs all ranks once, from their environment to their end.
#ifndef PENSTOCK_CLI_LAUNCH_RUN_RANKS_H_
#define PENSTOCK_CLI_LAUNCH_RUN_RANKS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/process/environment.h"
#include "cli/launch/launch_line.h"
#include "cli/launch/rank_files.h"
#include "cli/launch/rank_processes.h"

namespace penstock {

// The options of `penstock launch`.
struct LaunchFlags {
  uint32_t ranks = 0;
  std::string hosts;
  std::string hostfile;
  std::string gpus;
  uint32_t restarts = 0;
  std::string launcher = "auto";
  uint16_t port = 0;
  uint16_t ssh_port = 0;
  std::string interface;
  bool check_build = false;
  bool verbose = false;
  bool gloo = false;
  bool mpi = false;
  uint32_t start_timeout_s = 0;
  std::vector<std::string> variables;  // Each is NAME or NAME=VALUE.
  std::string output_folder;
  bool timestamps = false;
  std::string ssh_key;
  LaunchLine line;
};

// Returns the name under which other hosts know this host.
std::string OwnHost();

// Returns the variables that every rank gets, whichever launcher starts it. `generation`
// distinguishes the ranks of this start from those of an earlier one; mpirun and srun have no
// variable for that.
Environment CommonEnvironment(const LaunchFlags& flags, uint32_t generation);

// Returns the names of the variables of -x.
std::set<std::string> NamesPassedOn(const LaunchFlags& flags);

// Starts `ranks` ranks on this host, prints their output and writes it to `files`.
// kInvalidArgument: --gpus names too few GPUs.
absl::StatusOr<RanksEnd> RunLocal(const LaunchFlags& flags, uint32_t ranks, uint32_t generation,
                                  RankFiles& files);

// Starts the ranks of all hosts with `launcher`, "mpirun" or "srun", which marks the lines, passes
// signals on and ends all ranks when one fails. kInvalidArgument: as for RunLocal(), or --gpus
// names a GPU twice, or srun cannot place the ranks in this way.
absl::StatusOr<RanksEnd> RunRemote(const LaunchFlags& flags, const std::string& launcher,
                                   const std::vector<LaunchHost>& hosts, uint32_t generation,
                                   RankFiles& files);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_RUN_RANKS_H_
