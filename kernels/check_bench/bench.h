// Times kernels and compares them with the ceiling: a copy of device memory in the same run.
#ifndef PENSTOCK_KERNELS_CHECK_BENCH_BENCH_H_
#define PENSTOCK_KERNELS_CHECK_BENCH_BENCH_H_

#include <string>
#include <vector>

#include "kernels/check_bench/block_limit.h"

namespace penstock::check_bench {

struct Measurement {
  std::string name;
  int runs = 0;
  double median_us = 0, least_us = 0, most_us = 0;  // Time of one launch, in microseconds.
  // The fewest bytes that a launch must read and write.
  double bytes = 0;

  double gb_per_s() const { return bytes / median_us * 1e-3; }
};

// Runs all benchmarks. The first measurement is "copy", from device memory to device memory; it
// counts both the bytes read and the bytes written. Arrays are several times as large as a GPU's
// second-level cache.
std::vector<Measurement> RunBenchmarks(BlockLimit& limit);

}  // namespace penstock::check_bench

#endif  // PENSTOCK_KERNELS_CHECK_BENCH_BENCH_H_
