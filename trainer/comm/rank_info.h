// Which rank a process is, from what its launcher left in the environment.
#ifndef PENSTOCK_TRAINER_COMM_RANK_INFO_H_
#define PENSTOCK_TRAINER_COMM_RANK_INFO_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/process/environment.h"

namespace penstock {

struct RankInfo {
  std::string source = "alone";  // "--rank", "torchrun", "Open MPI", ... of whom it was learnt.
  uint32_t rank = 0;
  uint32_t world_size = 1;
  uint32_t local_rank = 0;  // Among those of this host.
  uint32_t local_size = 1;
  // Where rank 0 serves the store: HOST:PORT, or "unix-abstract:NAME" where all share a host.
  // Empty where one rank is alone.
  std::string rendezvous = {};
  std::string job = {};     // Ranks of other jobs are refused.
  uint64_t generation = 0;  // How often the launcher started this job again.

  bool one_host() const { return local_size == world_size; }
};

// What the command line says; absent: not given.
struct RankOptions {
  std::optional<uint32_t> rank = {};
  std::optional<uint32_t> world_size = {};
  std::optional<uint32_t> local_rank = {};
  std::optional<uint32_t> local_size = {};
  std::string rendezvous = {};
};

// The command line's ranks if it names any, else the first complete set of torchrun, Open MPI,
// Slurm, PMI, Horovod and TF_CONFIG, else one rank alone. --rendezvous, then PENSTOCK_RENDEZVOUS,
// replaces the address of any set; PENSTOCK_JOB and PENSTOCK_GENERATION replace those of any.
//
// kInvalidArgument: no set is complete but one is begun, naming what is missing; a number that is
// none, or a rank beyond the world.
absl::StatusOr<RankInfo> FindRank(const RankOptions& options, const Environment& environment);

// The first host of a Slurm node list: "node[03-05,9],other" is "node03".
std::string FirstHost(absl::string_view node_list);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_RANK_INFO_H_
