// Which records form a step.
#ifndef PENSTOCK_CLIENT_PLAN_STEP_ROWS_H_
#define PENSTOCK_CLIENT_PLAN_STEP_ROWS_H_

#include <cstdint>
#include <vector>

#include "client/plan/plan.h"
#include "client/plan/steps.h"
#include "client/plan/window_order.h"

namespace penstock {

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
