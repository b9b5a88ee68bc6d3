// The shipped controller in a simulated fleet of any size: how fast, how steady, at what price.
#ifndef PENSTOCK_BENCH_FLEET_EXPERIMENT_H_
#define PENSTOCK_BENCH_FLEET_EXPERIMENT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace penstock {

enum class Trouble : uint8_t {
  kNone,
  kStragglers,  // One server in eight is ten times slower.
  kDeaths,      // One percent of the servers die every minute, and are back after 15 s.
  kJoin,        // One server more from the middle on.
  kLeave,       // One server less.
};

// The fleet is one of like servers: 2 cores, 1 ms of one for each row of 4 KiB; windows of 1,024
// rows are read in 15 ms, four at a time; 100 us from end to end. So a server gives 2,000 rows/s.
// Ranks look 32 batches ahead.
struct ExperimentOptions {
  uint32_t servers = 1;
  uint32_t ranks = 1;
  uint32_t lanes_per_server = 4;
  uint64_t rank_batch = 512;  // Rows of a step, for each rank.
  // What the consumers take, as a share of what the servers can give; 0: all they get.
  double demand = 0;
  Trouble trouble = Trouble::kNone;
  absl::Duration warm_up = absl::Seconds(2);
  absl::Duration length = absl::Seconds(4);  // After it, measured.
  uint64_t seed = 1;
};

// All times are virtual but the last three.
struct ExperimentResult {
  double rows_per_second = 0;
  double efficiency = 0;  // Of what the servers could give.
  double wait_p50_ms = 0, wait_p99_ms = 0, wait_max_ms = 0;
  uint64_t batches = 0;         // That the waits are of.
  double loads_per_window = 0;  // 1: no window was read by two servers, or twice.
  double balance = 0;           // Rows of the mean server / of the busiest.
  double rows_per_request = 0;
  double lanes_moved = 0;       // Share of the lanes that another server reads after the middle.
  uint64_t reloaded_bytes = 0;  // Read again, since the middle.
  uint64_t handed_over = 0;     // Windows, from late servers, by all ranks; from the start on.
  uint64_t deaths = 0;
  uint64_t events = 0;
  // Processor time of one rank's controller: until the warm-up has ended, and after that.
  double scheduler_start_ms = 0;
  double scheduler_us_per_request = 0;
  double wall_seconds = 0;  // Of the simulation.
};

// kInternal: the controller broke a rule.
absl::StatusOr<ExperimentResult> RunExperiment(const ExperimentOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_BENCH_FLEET_EXPERIMENT_H_
