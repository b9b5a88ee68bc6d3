// The plan, walked as far ahead as there are slots: every row gets its destination before anyone
// is asked for it.
#include <utility>

#include "client/fetch/scheduler.h"

namespace penstock {

// Entries that a client keeps, whatever its slots: so far the walk goes, and a step further.
constexpr size_t kMaxWindows = size_t{1} << 20;

void FetchScheduler::Walk() {
  while (!free_slots_.empty() && next_step_ < num_steps_) {
    if (windows_.live() >= kMaxWindows && next_delivery_ < next_step_) return;
    const uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    WalkStep(slot);
  }
}

void FetchScheduler::WalkStep(uint32_t slot) {
  SlotEntry& entry = slots_[slot];
  entry.ready = {next_step_, slot, steps_.At(next_step_)};
  entry.rows_missing = entry.ready.step.rank_rows;
  slot_of_step_[next_step_ % slots_.size()] = slot;
  ++next_step_;
  uint32_t slot_row = 0;
  for (const RowRange& range : entry.ready.step.ranges()) WalkRange(range, entry, slot_row);
  if (next_step_ == num_steps_) {
    for (LaneEntry& lane : lanes_) {
      WalkedPast(lane.current);
      WalkedPast(lane.ahead);
    }
  }
  if (entry.rows_missing == 0) DeliverReady();
}

void FetchScheduler::WalkRange(const RowRange& range, SlotEntry& slot, uint32_t& slot_row) {
  if (walked_order_ == nullptr || walked_order_->epoch() != range.epoch) {
    walked_order_ = OrderOf(range.epoch);
    walker_.emplace(*walked_order_, range.position);
  }
  if (walker_->position() < range.position) walker_->Skip(range.position - walker_->position());
  WindowRun run;
  for (uint64_t left = range.rows; left > 0 && walker_->Next(left, run); left -= run.rows) {
    Want(run, slot, slot_row);
    slot_row += run.rows;
  }
}

void FetchScheduler::Want(const WindowRun& run, const SlotEntry& slot, uint32_t slot_row) {
  WindowEntry& window = WindowOf(run);
  Range range;
  range.first_row = run.first_row;
  range.rows = run.rows;
  range.slot = slot.ready.slot;
  range.slot_row = slot_row;
  range.step = slot.ready.index;
  range.needed_at = run.window.epoch * plan_.rows() + run.position;
  const bool first = window.wanted.empty();
  window.wanted.PushBack(range);
  window.wanted_rows += run.rows;
  const bool was_waiting = window.queued.heap == &waiting_;
  if (first || (was_waiting && window.wanted_rows >= fetch_rows_)) Requeue(window);
  LaneEntry& lane = lanes_[run.window.lane];
  if (run.first_row + run.rows > window.rows / 4 * 3) OpenAhead(lane, run);
}

std::shared_ptr<const EpochOrder> FetchScheduler::OrderOf(uint64_t epoch) {
  std::shared_ptr<const EpochOrder> order = orders_[epoch].lock();
  if (order == nullptr) {
    order = std::make_shared<const EpochOrder>(plan_.Epoch(epoch));
    std::erase_if(orders_, [](const auto& entry) { return entry.second.expired(); });
    orders_[epoch] = order;
  }
  return order;
}

WindowEntry& FetchScheduler::WindowOf(const WindowRun& run) {
  LaneEntry& lane = lanes_[run.window.lane];
  if (lane.current != nullptr && lane.current->id == run.window) return *lane.current;
  WalkedPast(lane.current);
  if (lane.ahead != nullptr && lane.ahead->id == run.window) {
    return *(lane.current = std::exchange(lane.ahead, nullptr));
  }
  WalkedPast(lane.ahead);
  return *(lane.current = &NewWindow(run.window, run.window.epoch * plan_.rows() + run.position));
}

WindowEntry& FetchScheduler::NewWindow(WindowId id, uint64_t start) {
  WindowEntry& window = windows_.New();
  window.id = id;
  window.order = OrderOf(id.epoch);
  window.rows = window.order->WindowRows(id);
  window.start = start;
  Requeue(window);
  return window;
}

// The lane's next window, so that it is loaded when the walk gets there.
void FetchScheduler::OpenAhead(LaneEntry& lane, const WindowRun& run) {
  if (lane.ahead != nullptr || next_step_ == num_steps_) return;
  if (windows_.live() >= kMaxWindows) return;
  const EpochOrder& order = *lane.current->order;
  WindowId next = run.window;
  if (++next.index == order.num_windows(next.lane)) {
    next = {run.window.epoch + 1, run.window.lane, 0};
    if (steps_.At(num_steps_ - 1).begin.epoch < next.epoch) return;
    if (OrderOf(next.epoch)->num_windows(next.lane) == 0) return;
  }
  // Every lane gives a strip before this one gives the next: exact but for lanes that end.
  const uint64_t left = lane.current->rows - run.first_row;
  const uint64_t position = run.window.epoch * plan_.rows() + run.position;
  lane.ahead = &NewWindow(next, position + left * plan_.lanes());
}

void FetchScheduler::WalkedPast(WindowEntry*& window) {
  if (window == nullptr) return;
  WindowEntry& past = *std::exchange(window, nullptr);
  past.walked_past = true;
  if (past.queued.heap == &waiting_) Requeue(past);
  ReleaseIfDone(past);
}

}  // namespace penstock
