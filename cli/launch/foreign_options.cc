#include "cli/launch/foreign_options.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"

namespace penstock {
namespace {

using enum ForeignOption::Kind;

constexpr char kBuckets[] =
    "penstock-train --bucket-size sets how many gradients are sent together";
constexpr char kNcclChooses[] = "NCCL chooses the algorithm on GPUs; set NCCL_ALGO to change it";
constexpr char kLateAfter[] = "penstock-train --late-after reports stragglers";
constexpr char kTimeout[] = "use penstock-train --collective-timeout";
constexpr char kTrace[] = "use penstock-train --profile-steps FIRST:LAST --profile-file FILE";
constexpr char kNoMpi[] = "ranks do not communicate by MPI";
constexpr char kLog[] = "there are no log levels: errors and warnings are always printed";
constexpr char kElastic[] =
    "elastic training is not supported; give -np, and --restarts N to restart all ranks from the "
    "last checkpoint";

constexpr ForeignOption kOptions[] = {
    // Options of horovodrun and perseusrun.
    {"--autotune", 0, kNoEffect, kBuckets},
    {"--no-autotune", 0, kNoEffect, ""},
    {"--autotune-log-file", 1, kNoEffect, kBuckets},
    {"--autotune-warmup-samples", 1, kNoEffect, kBuckets},
    {"--autotune-steps-per-sample", 1, kNoEffect, kBuckets},
    {"--autotune-bayes-opt-max-samples", 1, kNoEffect, kBuckets},
    {"--autotune-gaussian-process-noise", 1, kNoEffect, kBuckets},
    {"--fusion-threshold-mb", 1, kNoEffect, kBuckets},
    {"--cycle-time-ms", 1, kNoEffect,
     "there are no cycles: a bucket is sent as soon as it is full"},
    {"--cache-capacity", 1, kNoEffect,
     "there is nothing to cache: gradients are sent in a fixed order"},
    {"--disable-cache", 0, kNoEffect, ""},
    {"--hierarchical-allreduce", 0, kNoEffect, kNcclChooses},
    {"--no-hierarchical-allreduce", 0, kNoEffect, kNcclChooses},
    {"--hierarchical-allgather", 0, kNoEffect, kNcclChooses},
    {"--no-hierarchical-allgather", 0, kNoEffect, kNcclChooses},
    {"--num-nccl-streams", 1, kNoEffect, "gradients are sent on one stream"},
    {"--thread-affinity", 1, kNoEffect, "use taskset to restrict the cores of the ranks"},
    {"--gloo-timeout-seconds", 1, kNoEffect, kTimeout},
    {"--stall-check", 0, kNoEffect, ""},
    {"--no-stall-check", 0, kNoEffect, kLateAfter},
    {"--stall-check-warning-time-seconds", 1, kNoEffect, "use penstock-train --late-after"},
    {"--stall-check-shutdown-time-seconds", 1, kNoEffect, kTimeout},
    {"--timeline-filename", 1, kNoEffect, kTrace},
    {"--timeline-mark-cycles", 0, kNoEffect, kTrace},
    {"--no-timeline-mark-cycles", 0, kNoEffect, ""},
    {"--mpi-threads-disable", 0, kNoEffect, kNoMpi},
    {"--no-mpi-threads-disable", 0, kNoEffect, kNoMpi},
    {"--tcp", 0, kNoEffect, ""},
    {"--log-level", 1, kNoEffect, kLog},
    {"--log-with-timestamp", 0, kNoEffect, "use --prefix-output-with-timestamp"},
    {"--log-without-timestamp", 0, kNoEffect, ""},
    {"--log-hide-timestamp", 0, kNoEffect, ""},
    {"--no-log-hide-timestamp", 0, kNoEffect, "use --prefix-output-with-timestamp"},
    {"--mpi-args", 1, kMpirunText, ""},
    {"--binding-args", 1, kMpirunText, ""},
    {"--min-np", 1, kRefused, kElastic},
    {"--min-num-proc", 1, kRefused, kElastic},
    {"--max-np", 1, kRefused, kElastic},
    {"--max-num-proc", 1, kRefused, kElastic},
    {"--slots", 1, kRefused, kElastic},
    {"--slots-per-host", 1, kRefused, kElastic},
    {"--elastic-timeout", 1, kRefused, kElastic},
    {"--reset-limit", 1, kRefused, kElastic},
    {"--blacklist-cooldown-range", 2, kRefused, kElastic},
    {"--host-discovery-script", 1, kRefused, kElastic},
    {"--config-file", 1, kRefused, "not supported; give its options on the command line"},
    {"--jsrun", 0, kRefused, "not supported; give --launcher mpirun or srun"},
    // Options of mpirun.
    {"--allow-run-as-root", 0, kNoEffect, ""},
    {"--tag-output", 0, kNoEffect, ""},
    {"--bind-to", 1, kMpirun, ""},
    {"--map-by", 1, kMpirun, ""},
    {"--rank-by", 1, kMpirun, ""},
    {"--mca", 2, kMpirun, ""},
    {"--display-map", 0, kMpirun, ""},
    {"--report-bindings", 0, kMpirun, ""},
    {"--oversubscribe", 0, kMpirun, ""},
    {"--nooversubscribe", 0, kMpirun, ""},
};

}  // namespace

const ForeignOption* FindForeignOption(absl::string_view name) {
  const bool one_dash = !absl::StartsWith(name, "--");
  const auto* found = std::find_if(
      std::begin(kOptions), std::end(kOptions),
      [&](const auto& option) { return (one_dash ? option.name.substr(1) : option.name) == name; });
  return found == std::end(kOptions) ? nullptr : found;
}

}  // namespace penstock
