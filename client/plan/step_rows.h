// Which records form a step.
#ifndef PENSTOCK_CLIENT_PLAN_STEP_ROWS_H_
#define PENSTOCK_CLIENT_PLAN_STEP_ROWS_H_

#include <cstdint>
#include <vector>

#include "client/plan/plan.h"
#include "client/plan/steps.h"

namespace penstock {

// Record `row` of the chunk's records in the split.
struct RowRef {
  uint32_t chunk = 0;
  uint32_t row = 0;

  friend auto operator<=>(const RowRef&, const RowRef&) = default;
};

// Element i is row i of the window: the rows of its chunks, one chunk after the other, numbered
// from 0, then put through Shuffle() with the window's key if the plan shuffles.
// `order` comes from plan.Epoch().
std::vector<RowRef> WindowOrder(const Plan& plan, const EpochOrder& order, WindowId id);

struct StepRow {
  uint64_t row = 0;       // Of the global batch.
  uint64_t position = 0;  // In window.epoch.
  WindowId window;
  RowRef record;
};

// One entry for each row of the step that is the rank's, in order. Reads nothing: O(chunks) for
// each epoch that the step touches, O(window rows) for each window.
std::vector<StepRow> RowsOfStep(const Plan& plan, const Step& step);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_STEP_ROWS_H_
