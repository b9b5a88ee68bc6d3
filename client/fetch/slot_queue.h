// Gives slots to steps, and delivers steps in order.
#ifndef PENSTOCK_CLIENT_FETCH_SLOT_QUEUE_H_
#define PENSTOCK_CLIENT_FETCH_SLOT_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "client/fetch/fetch_actions.h"
#include "client/plan/steps.h"

namespace penstock {

// A slot goes through these states: free, taken by the next step, filled row by row, delivered,
// released. The queue is told of each copied row and each released slot. It answers which step can
// be taken and which one is needed soon, and delivers steps in order. It knows nothing of windows
// and servers. Allocates only when it is made. Not thread-safe.
class SlotQueue {
 public:
  SlotQueue(uint32_t num_slots, uint64_t num_steps)
      : num_steps_(num_steps), missing_(num_slots), ready_(num_slots), slot_of_step_(num_slots) {
    for (uint32_t slot = num_slots; slot-- > 0;) free_.push_back(slot);
  }

  // Whether a slot is free and a step is left.
  bool CanTake() const { return !free_.empty() && next_step_ < num_steps_; }
  // The next step to be taken, counted from 0.
  uint64_t next_step() const { return next_step_; }
  bool AllTaken() const { return next_step_ == num_steps_; }
  // Whether some step is taken and not delivered.
  bool HasUndelivered() const { return next_delivery_ < next_step_; }
  bool AllDelivered() const { return next_delivery_ == num_steps_; }
  // Takes a slot for step next_step(). The result is valid until the slot is taken again. REQUIRES:
  // CanTake().
  const ReadyStep& Take(const Step& step) {
    const uint32_t slot = free_.back();
    free_.pop_back();
    ready_[slot] = {next_step_, slot, step};
    missing_[slot] = step.rank_rows;
    slot_of_step_[next_step_++ % ready_.size()] = slot;
    return ready_[slot];
  }
  void NoteCopied(const RowCopy& copy) { missing_[copy.slot] -= copy.rows; }
  // Delivers every step whose turn it is and whose rows have all arrived.
  void DeliverReady(FetchActions& actions) {
    while (HasUndelivered()) {
      const uint32_t slot = slot_of_step_[next_delivery_ % ready_.size()];
      if (missing_[slot] > 0) return;
      ++next_delivery_;
      actions.Deliver(ready_[slot]);
    }
  }
  // Frees a delivered slot that the consumer has released.
  void Release(uint32_t slot) {
    free_.push_back(slot);
    ++num_released_;
  }
  // Notes that the consumer waits for `step`.
  void NoteWaiting(uint64_t step) {
    if (step >= waited_for_ && step >= next_delivery_) waited_for_ = step + 1;
  }
  // The consumer waits for all steps before this one.
  uint64_t waited_for() const { return waited_for_; }
  // All steps before this one are needed soon, so their rows are worth a small request.
  uint64_t Soon() const {
    return std::max(num_released_ + std::max<uint64_t>(ready_.size() / 2, 1), waited_for_);
  }

 private:
  const uint64_t num_steps_;
  std::vector<uint64_t> missing_;  // Number of missing rows in each slot.
  std::vector<ReadyStep> ready_;   // Indexed by slot.
  // The slot of each step that is taken and not delivered, indexed by step % slots.
  std::vector<uint32_t> slot_of_step_;
  std::vector<uint32_t> free_;  // Free slots. The last one is taken next.
  uint64_t next_step_ = 0;
  uint64_t next_delivery_ = 0;
  uint64_t num_released_ = 0;
  uint64_t waited_for_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_SLOT_QUEUE_H_
