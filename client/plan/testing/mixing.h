// Measures how well an order mixes: how much its batches and its neighbouring rows have in common.
#ifndef PENSTOCK_CLIENT_PLAN_TESTING_MIXING_H_
#define PENSTOCK_CLIENT_PLAN_TESTING_MIXING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "client/plan/plan.h"

namespace penstock {

// Records in some order, each given by its number in the file.
using RecordOrder = std::vector<uint32_t>;

// Data in which records that are neighbours in the file resemble each other: `group_rows`
// consecutive records have one value, and groups are independent.
struct GroupedData {
  uint32_t chunks = 0;
  uint32_t chunk_rows = 0;
  uint32_t group_rows = 0;

  uint32_t rows() const { return chunks * chunk_rows; }
  // Element i is the value of record i of the file, that is, of group i / group_rows.
  std::vector<float> Values(uint64_t seed) const;
  Plan MakePlan(const PlanOptions& options = {}) const;
};

RecordOrder FileRecords(uint32_t rows);
// The order of one epoch of a plan. REQUIRES: fewer than 2^32 records.
RecordOrder PlanRecords(const Plan& plan, uint64_t epoch);
// The order of a shuffle buffer of `buffer_rows` records, filled from the file. Each output is a
// random record of the buffer; the next record of the file replaces it.
RecordOrder ShuffleBufferRecords(uint32_t rows, uint32_t buffer_rows, uint64_t seed);
RecordOrder PermutedRecords(uint32_t rows, uint64_t seed);

// The mean of (batch mean - mean)^2 over all full batches, divided by its expected value for a full
// permutation. That is variance / B * (N - B) / (N - 1), for sampling without replacement.
// values[i] is the value of record i.
double RelativeVariance(const RecordOrder& order, std::span<const float> values,
                        uint32_t batch_rows);

// The median of |difference of record numbers| over consecutive rows.
uint32_t MedianNeighbourDistance(const RecordOrder& order);
// The share of rows whose next row is at most `distance` records away in the file.
double ShareOfNeighboursWithin(const RecordOrder& order, uint32_t distance);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_TESTING_MIXING_H_
