// Writes the results as JSON.
#ifndef PENSTOCK_KERNELS_CHECK_BENCH_REPORT_H_
#define PENSTOCK_KERNELS_CHECK_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "kernels/check_bench/bench.h"
#include "kernels/check_bench/block_limit.h"
#include "kernels/check_bench/check.h"

namespace penstock::check_bench {

struct Findings {
  std::string device;
  std::vector<Outcome> checks;
  std::vector<Measurement> benchmarks;
  std::vector<LeftOut> left_out_checks, left_out_benchmarks;
};

// {"device": ..., "checks": [...], "benchmarks": [...], "left_out": {"checks": [...], "benchmarks":
// [...]}}. Numbers keep nine digits, and null stands for NaN and infinity. A failed comparison of
// arrays has "index", "value" and "expected" of the first wrong element, with all their digits or
// as "nan", "inf" or "-inf".
std::string Report(const Findings& found);

}  // namespace penstock::check_bench

#endif  // PENSTOCK_KERNELS_CHECK_BENCH_REPORT_H_
