// Measures jobs on the same plan that read from one penstock-server over gRPC.
#ifndef PENSTOCK_BENCH_SHARED_SERVICE_H_
#define PENSTOCK_BENCH_SHARED_SERVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "records/dataset/manifest.h"

namespace penstock {

// Job j has j % max_ranks + 1 ranks, each with a Loader. All ranks wait for one another every 8
// steps.
struct SharedServiceOptions {
  uint32_t jobs = 8;
  uint32_t max_ranks = 4;
  WireDtype dtype = WireDtype::kI8;
  uint64_t batch = 1536;  // Rows of a job's step.
  // Number of steps that are counted. A quarter as many come before, to warm up.
  uint64_t steps = 400;
  std::string strip_cache = "64MiB";
};

struct SharedServiceCost {
  // The server's CPU time for all jobs, for each row of the plan.
  double server_cpu_ns_per_row = 0;
  double decoded = 0;  // Rows decoded for each row of the plan.
  double bytes_per_part = 0;
};

absl::StatusOr<SharedServiceCost> MeasureSharedService(const std::string& folder,
                                                       std::shared_ptr<const Manifest> manifest,
                                                       const SharedServiceOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_BENCH_SHARED_SERVICE_H_
