// Jobs on the same plan that read from one penstock-server over gRPC.
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
  uint64_t steps = 400;   // Steps that are counted, after a quarter as many to warm up.
  std::string strip_cache = "64MiB";
};

struct SharedServiceCost {
  double server_cpu_ns_per_row = 0;  // Server's CPU time for all jobs, per row of the plan.
  double decoded = 0;                // Rows decoded per row of the plan.
  double bytes_per_part = 0;
};

absl::StatusOr<SharedServiceCost> MeasureSharedService(const std::string& folder,
                                                       std::shared_ptr<const Manifest> manifest,
                                                       const SharedServiceOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_BENCH_SHARED_SERVICE_H_
