// Determines this process's rank from the environment that its launcher set up.
#ifndef PENSTOCK_TRAINER_COMM_RANK_INFO_H_
#define PENSTOCK_TRAINER_COMM_RANK_INFO_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/process/environment.h"

namespace penstock {

struct RankInfo {
  std::string source = "alone";  // Source of the rank: "--rank", "torchrun", "Open MPI", ...
  uint32_t rank = 0;
  uint32_t world_size = 1;
  uint32_t local_rank = 0;  // Rank among the ranks of this host.
  uint32_t local_size = 1;
  // Address at which rank 0 serves the store: HOST:PORT, or "unix-abstract:NAME" if all ranks share
  // a host. Empty if there is only one rank.
  std::string rendezvous = {};
  std::string job = {};     // Name of the job; ranks of other jobs are refused.
  uint64_t generation = 0;  // Number of times the launcher has restarted this job.

  bool one_host() const { return local_size == world_size; }
};

// Command-line options; absent if not given.
struct RankOptions {
  std::optional<uint32_t> rank = {};
  std::optional<uint32_t> world_size = {};
  std::optional<uint32_t> local_rank = {};
  std::optional<uint32_t> local_size = {};
  std::string rendezvous = {};
};

// Takes the command line's ranks if it names any; else the first complete set of variables of
// torchrun, Open MPI, Slurm, PMI, Horovod and TF_CONFIG; else a single rank. --rendezvous, or else
// PENSTOCK_RENDEZVOUS, replaces the address of any set. PENSTOCK_JOB and PENSTOCK_GENERATION
// replace the job and the generation of any set.
//
// kInvalidArgument: no set is complete but one is incomplete (the message names what is missing),
// an invalid number, or a rank outside the world.
absl::StatusOr<RankInfo> FindRank(const RankOptions& options, const Environment& environment);

// The first host of a Slurm node list: "node03" for "node[03-05,9],other".
std::string FirstHost(absl::string_view node_list);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_RANK_INFO_H_
