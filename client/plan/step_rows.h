// Computes which records form a step.
#ifndef PENSTOCK_CLIENT_PLAN_STEP_ROWS_H_
#define PENSTOCK_CLIENT_PLAN_STEP_ROWS_H_

#include <cstdint>
#include <vector>

#include "client/plan/plan.h"
#include "client/plan/steps.h"

namespace penstock {

// Record `row` among the chunk's records of the split.
struct RowRef {
  uint32_t chunk = 0;
  uint32_t row = 0;

  friend auto operator<=>(const RowRef&, const RowRef&) = default;
};

// Returns the rows of the window in order: element i is row i. The rows of its chunks, one chunk
// after the other, are numbered from 0 and, if the plan shuffles, permuted by Shuffle() with the
// window's key. `order` comes from plan.Epoch().
std::vector<RowRef> WindowOrder(const Plan& plan, const EpochOrder& order, WindowId id);

struct StepRow {
  uint64_t row = 0;       // Index of the row in the global batch.
  uint64_t position = 0;  // Position of the row in epoch window.epoch.
  WindowId window;
  RowRef record;
};

// Returns one entry for each of the rank's rows of the step, in order. Does no I/O. O(chunks) for
// each epoch that the step touches, and O(window rows) for each window.
std::vector<StepRow> RowsOfStep(const Plan& plan, const Step& step);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_STEP_ROWS_H_
