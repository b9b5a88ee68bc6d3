// What the runner found, as JSON.
#ifndef PENSTOCK_KERNELS_RUNNER_REPORT_H_
#define PENSTOCK_KERNELS_RUNNER_REPORT_H_

#include <string>
#include <vector>

#include "kernels/runner/bench.h"
#include "kernels/runner/block_limit.h"
#include "kernels/runner/check.h"

namespace penstock::runner {

struct Findings {
  std::string device;
  std::vector<Outcome> checks;
  std::vector<Measurement> benchmarks;
  std::vector<LeftOut> left_out_checks, left_out_benchmarks;
};

// {"device": ..., "checks": [...], "benchmarks": [...], "left_out": {"checks": [...], "benchmarks":
// [...]}}; numbers with all their digits, NaN as null.
std::string Report(const Findings& found);

}  // namespace penstock::runner

#endif  // PENSTOCK_KERNELS_RUNNER_REPORT_H_
