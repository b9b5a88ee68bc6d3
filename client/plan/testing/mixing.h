// How well an order mixes, by what its batches and neighbours have in common.
#ifndef PENSTOCK_CLIENT_PLAN_TESTING_MIXING_H_
#define PENSTOCK_CLIENT_PLAN_TESTING_MIXING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "client/plan/plan.h"

namespace penstock {

// Records by their number in the file.
using RecordOrder = std::vector<uint32_t>;

// Records whose neighbours in the file resemble each other: `group_rows` in a row have one value,
// and groups are independent.
struct GroupedData {
  uint32_t chunks = 0;
  uint32_t chunk_rows = 0;
  uint32_t group_rows = 0;

  uint32_t rows() const { return chunks * chunk_rows; }
  // Record i of the file has the value of group i / group_rows.
  std::vector<float> Values(uint64_t seed) const;
  Plan MakePlan(const PlanOptions& options = {}) const;
};

RecordOrder FileRecords(uint32_t rows);
// One epoch of a plan. REQUIRES: fewer than 2^32 records.
RecordOrder PlanRecords(const Plan& plan, uint64_t epoch);
// Of a buffer of `buffer_rows` records, filled from the file: each output is a random one of them,
// replaced by the next record of the file.
RecordOrder ShuffleBufferRecords(uint32_t rows, uint32_t buffer_rows, uint64_t seed);
RecordOrder PermutedRecords(uint32_t rows, uint64_t seed);

// The mean of (batch mean - mean)^2 over all full batches, divided by what a full permutation is
// expected to have: variance / B * (N - B) / (N - 1), sampling without replacement.
// values[i]: of record i.
double RelativeVariance(const RecordOrder& order, std::span<const float> values,
                        uint32_t batch_rows);

// The median of |difference of record numbers| over rows that follow one another.
uint32_t MedianNeighbourDistance(const RecordOrder& order);
// The share of rows whose successor is at most `distance` records away in the file.
double ShareOfNeighboursWithin(const RecordOrder& order, uint32_t distance);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_TESTING_MIXING_H_
