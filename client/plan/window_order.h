// The order of a window's records, written out: what an engine applies while it decodes.
#ifndef PENSTOCK_CLIENT_PLAN_WINDOW_ORDER_H_
#define PENSTOCK_CLIENT_PLAN_WINDOW_ORDER_H_

#include <cstdint>
#include <vector>

#include "client/plan/plan.h"

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

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_WINDOW_ORDER_H_
