#include "client/plan/step_rows.h"

#include <map>
#include <numeric>

#include "base/permutation.h"
#include "client/plan/epoch_order.h"

namespace penstock {

std::vector<RowRef> WindowOrder(const Plan& plan, const EpochOrder& order, WindowId id) {
  std::vector<RowRef> in_chunk_order;
  for (uint32_t chunk : order.WindowChunks(id)) {
    for (uint32_t row = 0; row < plan.chunk_rows(chunk); ++row) {
      in_chunk_order.push_back({chunk, row});
    }
  }
  std::vector<uint32_t> permutation(in_chunk_order.size());
  std::iota(permutation.begin(), permutation.end(), 0u);
  if (plan.shuffle()) Shuffle(permutation, order.WindowKey(id));
  std::vector<RowRef> rows;
  rows.reserve(permutation.size());
  for (uint32_t i : permutation) rows.push_back(in_chunk_order[i]);
  return rows;
}

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
