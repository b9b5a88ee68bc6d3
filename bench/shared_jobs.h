// Measures jobs on the same plan that read from one engine, in step.
#ifndef PENSTOCK_BENCH_SHARED_JOBS_H_
#define PENSTOCK_BENCH_SHARED_JOBS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "records/engine/testing/chess_data.h"

namespace penstock {

// Job j has (first_job + j) % max_ranks + 1 ranks. Each rank has its own session and four to eight
// requests of 1,000 KiB outstanding. Windows of 16 chunks are read one after the other.
struct SharedJobsOptions {
  uint32_t jobs = 8;
  uint32_t first_job = 0;
  uint32_t max_ranks = 4;
  WireDtype dtype = WireDtype::kI8;
  // If it is true, the ranks of a job take turns with the strips of 16 rows of every window.
  // Otherwise a rank reads whole windows, as if each lane belonged to one rank in every step, and
  // requests of different jobs begin at different rows.
  bool strips = false;
  uint64_t strip_cache = uint64_t{64} << 20;
  uint32_t threads = 2;
  uint32_t epochs = 1;
};

struct SharedJobsCost {
  double cpu_ns_per_row = 0;  // CPU time of all jobs, for each row of the plan.
  double decoded = 0;         // Rows decoded for each row of the plan.
  double kept_bytes = 0;      // Mean size of the strip cache.
};

// Measures jobs on `data`, which lies in `folder`. It is larger than the memory for its chunks, so
// every epoch reads the files. The first epoch is not counted.
absl::StatusOr<SharedJobsCost> MeasureSharedJobs(const std::string& folder, const ChessData& data,
                                                 const SharedJobsOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_BENCH_SHARED_JOBS_H_
