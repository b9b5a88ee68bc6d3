// Makes plans for tests, small and random or uniform, and lists their order.
#ifndef PENSTOCK_CLIENT_PLAN_TESTING_PLANS_H_
#define PENSTOCK_CLIENT_PLAN_TESTING_PLANS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "client/plan/plan.h"
#include "client/plan/step_rows.h"

namespace penstock {

// A table of any shape: uniform or not, with or without chunks without rows, often tiny. It has at
// least one row.
ChunkTable RandomTable(std::mt19937_64& random);
PlanOptions RandomOptions(std::mt19937_64& random);

// Fails the test and ends it if there is no such plan.
Plan MakePlan(ChunkTable table, const PlanOptions& options);
Plan RandomPlan(std::mt19937_64& random);
// Every chunk has 1,000 bytes.
Plan UniformPlan(size_t chunks, uint32_t rows, PlanOptions options = {});

// Returns the positions from `position` on, as runs of at most a random length.
std::vector<WindowRun> Runs(const EpochOrder& order, std::mt19937_64& random,
                            uint64_t position = 0);
// Returns one entry for each row.
std::vector<Location> Rows(const std::vector<WindowRun>& runs);
std::vector<Location> Rows(const EpochOrder& order);
// Returns the records of an epoch in the plan's order.
std::vector<RowRef> Records(const Plan& plan, uint64_t epoch);
std::vector<RowRef> FileOrder(const Plan& plan);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_TESTING_PLANS_H_
