#include "client/plan/step_rows.h"

#include <map>

#include "client/plan/epoch_order.h"

namespace penstock {

std::vector<StepRow> RowsOfStep(const Plan& plan, const Step& step) {
  std::vector<StepRow> rows;
  rows.reserve(step.rank_rows);
  std::map<WindowId, std::vector<RowRef>> windows;
  for (const RowRange& range : step.ranges()) {
    const EpochOrder order = plan.Epoch(range.epoch);
    EpochOrder::Walker walker(order, range.position);
    WindowRun run;
    for (uint64_t left = range.rows; left > 0 && walker.Next(left, run); left -= run.rows) {
      auto [window, is_new] = windows.try_emplace(run.window);
      if (is_new) window->second = WindowOrder(plan, order, run.window);
      for (uint32_t i = 0; i < run.rows; ++i) {
        rows.push_back({.row = step.first_row + rows.size(),
                        .position = run.position + i,
                        .window = run.window,
                        .record = window->second[run.first_row + i]});
      }
    }
  }
  return rows;
}

}  // namespace penstock
