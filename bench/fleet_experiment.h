// Measures the shipped fetch controller in a simulated fleet: rate, waits and cost.
#ifndef PENSTOCK_BENCH_FLEET_EXPERIMENT_H_
#define PENSTOCK_BENCH_FLEET_EXPERIMENT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace penstock {

enum class Trouble : uint8_t {
  kNone,
  kStragglers,  // One server in eight is ten times slower.
  kDeaths,      // One percent of the servers die every minute, and return after 15 s.
  kJoin,        // One server joins in the middle.
  kLeave,       // One server leaves in the middle.
};

// All servers are alike. A server has 2 cores and takes 1 ms of a core for each row of 4 KiB, so it
// gives 2,000 rows/s. It reads windows of 1,024 rows in 15 ms, four at a time. The network takes
// 100 us from end to end. Ranks look 32 batches ahead.
struct ExperimentOptions {
  uint32_t servers = 1;
  uint32_t ranks = 1;
  uint32_t lanes_per_server = 4;
  uint64_t rank_batch = 512;  // Rows of one rank in a step.
  // Rate of the consumers as a share of the servers' capacity. 0 means as fast as possible.
  double demand = 0;
  Trouble trouble = Trouble::kNone;
  absl::Duration warm_up = absl::Seconds(2);
  absl::Duration length = absl::Seconds(4);  // Measured time, after the warm-up.
  uint64_t seed = 1;
};

// Results of an experiment. All times are virtual, except the last three.
struct ExperimentResult {
  double rows_per_second = 0;
  double efficiency = 0;  // Rate as a share of the servers' capacity.
  double wait_p50_ms = 0, wait_p99_ms = 0, wait_max_ms = 0;
  uint64_t batches = 0;         // Number of waits.
  double loads_per_window = 0;  // 1 means that every window was read once, by one server.
  double balance = 0;           // Mean rows of a server, divided by the rows of the busiest server.
  double rows_per_request = 0;
  double lanes_moved = 0;       // Share of the lanes that change their server in the middle.
  uint64_t reloaded_bytes = 0;  // Bytes read again after the middle.
  // Windows taken from late servers, summed over all ranks since the start.
  uint64_t handed_over = 0;
  uint64_t deaths = 0;
  uint64_t events = 0;
  // CPU time of one rank's controller: first until the end of the warm-up, then after it.
  double scheduler_start_ms = 0;
  double scheduler_us_per_request = 0;
  double wall_seconds = 0;  // Duration of the simulation.
};

// kInternal: the controller broke a rule.
absl::StatusOr<ExperimentResult> RunExperiment(const ExperimentOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_BENCH_FLEET_EXPERIMENT_H_
