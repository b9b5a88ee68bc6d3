// Checks what a rank's slots hold: every row once, in the order of the plan.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_STEP_CHECKER_H_
#define PENSTOCK_CLIENT_FETCH_SIM_STEP_CHECKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/fetch/fetch_actions.h"
#include "client/plan/epoch_order.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"

namespace penstock::sim {

// A rank's slots, whose rows are RowContent() or StandInContent(). It checks them against the plan
// with its own walk. Every method returns what is wrong, or the empty string. Not thread-safe.
class StepChecker {
 public:
  // Returns the chunk that replaces all rows of a window, or nullopt if the rows are the window's
  // own.
  using StandIn = std::function<std::optional<uint32_t>(const EpochOrder&, WindowId)>;

  // `plan` must outlive it. `stand_in` may be null.
  StepChecker(const Plan& plan, const Steps& steps, uint32_t slots, StandIn stand_in = nullptr);

  // Puts rows of a part into a slot. Each row must have been empty, and the slot must not be the
  // consumer's.
  std::string Copy(const RowCopy& copy, const std::vector<uint64_t>& content);
  // Gives the slot to the consumer.
  std::string Deliver(const ReadyStep& step);
  // Gives the slot back to the controller, and empties it.
  void Release(uint32_t slot);

 private:
  struct Slot {
    bool delivered = false;
    std::vector<uint64_t> rows;  // The content of each row; 0 if it is empty.
  };

  std::string CheckRange(const RowRange& range, const Slot& slot, uint64_t& at);

  const Plan& plan_;
  const Steps steps_;
  const StandIn stand_in_;
  std::vector<Slot> slots_;
  uint64_t next_step_ = 0;
  std::unique_ptr<const EpochOrder> order_;
  std::optional<EpochOrder::Walker> walker_;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_STEP_CHECKER_H_
