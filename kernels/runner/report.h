// What the runner found, as JSON.
#ifndef PENSTOCK_KERNELS_RUNNER_REPORT_H_
#define PENSTOCK_KERNELS_RUNNER_REPORT_H_

#include <string>
#include <vector>

#include "kernels/runner/bench.h"
#include "kernels/runner/check.h"

namespace penstock::runner {

// {"device": ..., "checks": [...], "benchmarks": [...]}; numbers with all their digits, NaN as
// null.
std::string Report(const std::string& device, const std::vector<Outcome>& checks,
                   const std::vector<Measurement>& measurements);

}  // namespace penstock::runner

#endif  // PENSTOCK_KERNELS_RUNNER_REPORT_H_
