// Walks the plan as far ahead as there are slots, so that every row has its destination before it
// is requested.
#ifndef PENSTOCK_CLIENT_FETCH_PLAN_WALKER_H_
#define PENSTOCK_CLIENT_FETCH_PLAN_WALKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "client/fetch/fetch_actions.h"
#include "client/fetch/fetcher.h"
#include "client/fetch/slot_queue.h"
#include "client/fetch/window_table.h"
#include "client/plan/epoch_order.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"

namespace penstock {

// Takes free slots for the next steps and tells the fetcher which rows they want, window by window.
// It owns the orders of the epochs in use, and knows the current window of each lane. It requests
// nothing from a server. Not thread-safe.
class PlanWalker {
 public:
  // All of these must outlive it.
  PlanWalker(const Plan& plan, const Steps& steps, uint64_t num_steps, SlotQueue& slots,
             Fetcher& fetcher, FetchActions& actions);

  // Walks on while a slot is free. Delivers steps that want no row.
  void Walk();

 private:
  bool EpochsAreMany();
  void WalkStep();
  void WalkRange(const RowRange& range, const ReadyStep& step, uint32_t& slot_row);
  void Want(const WindowRun& run, const ReadyStep& step, uint32_t slot_row);
  std::shared_ptr<const EpochOrder> OrderOf(uint64_t epoch);
  WindowEntry& WindowOf(const WindowRun& run);
  WindowEntry& NewWindow(WindowId id, uint64_t start);
  void OpenAhead(LaneEntry& lane, const WindowRun& run);
  void WalkedPast(WindowEntry*& window);

  const Plan& plan_;
  const Steps& steps_;
  const uint64_t num_steps_;
  SlotQueue& slots_;
  Fetcher& fetcher_;
  FetchActions& actions_;
  // Orders of the epochs in use, keyed by epoch. Some may have expired.
  std::map<uint64_t, std::weak_ptr<const EpochOrder>> orders_;
  std::shared_ptr<const EpochOrder> walked_order_;
  std::optional<EpochOrder::Walker> walker_;
  std::vector<LaneEntry> lanes_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_PLAN_WALKER_H_
