// How well an order mixes: the variance of a batch's mean, against that of a full permutation.
#ifndef PENSTOCK_CLIENT_PLAN_TESTING_MIXING_H_
#define PENSTOCK_CLIENT_PLAN_TESTING_MIXING_H_

#include <cstdint>
#include <vector>

#include "client/plan/plan_options.h"

namespace penstock {

// Records whose neighbours in the file resemble each other: `group_rows` in a row have one value,
// and groups are independent.
struct GroupedData {
  uint32_t chunks = 0;
  uint32_t chunk_rows = 0;
  uint32_t group_rows = 0;

  uint64_t rows() const { return uint64_t{chunks} * chunk_rows; }
  // Record i of the file has the value of group i / group_rows.
  std::vector<float> Values(uint64_t seed) const;
};

// The values of one epoch in the plan's order. Values are those of `data`.
std::vector<float> PlanOrder(const GroupedData& data, const std::vector<float>& values,
                             const PlanOptions& options, uint64_t epoch);
// In the order of a buffer of `buffer_rows` records, filled from the file: each output is a random
// one of them, replaced by the next record of the file.
std::vector<float> ShuffleBufferOrder(const std::vector<float>& values, uint64_t buffer_rows,
                                      uint64_t seed);
std::vector<float> PermutedOrder(std::vector<float> values, uint64_t seed);

// The mean of (batch mean - mean)^2 over all full batches, divided by what a full permutation is
// expected to have: variance / B * (N - B) / (N - 1), sampling without replacement.
double RelativeVariance(const std::vector<float>& order, uint64_t batch_rows);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_TESTING_MIXING_H_
