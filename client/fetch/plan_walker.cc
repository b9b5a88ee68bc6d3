#include "client/fetch/plan_walker.h"

#include <utility>

namespace penstock {
namespace {

// Maximum number of windows that a client keeps, however many slots it has. The walk stops after
// the step that reaches it.
constexpr size_t kMaxWindows = size_t{1} << 20;
// Maximum number of epochs in use at once. It limits data of few rows, which would otherwise need
// one epoch for each slot.
constexpr size_t kMaxEpochs = 64;

}  // namespace

PlanWalker::PlanWalker(const Plan& plan, const Steps& steps, uint64_t num_steps, SlotQueue& slots,
                       Fetcher& fetcher, FetchActions& actions)
    : plan_(plan),
      steps_(steps),
      num_steps_(num_steps),
      slots_(slots),
      fetcher_(fetcher),
      actions_(actions),
      lanes_(plan.lanes()) {}

void PlanWalker::Walk() {
  while (slots_.CanTake()) {
    if (slots_.HasUndelivered() && (fetcher_.num_windows() >= kMaxWindows || EpochsAreMany())) {
      return;
    }
    WalkStep();
  }
}

bool PlanWalker::EpochsAreMany() {
  if (orders_.size() < kMaxEpochs) return false;
  std::erase_if(orders_, [](const auto& entry) { return entry.second.expired(); });
  return orders_.size() >= kMaxEpochs;
}

void PlanWalker::WalkStep() {
  const ReadyStep& ready = slots_.Take(steps_.At(slots_.next_step()));
  uint32_t slot_row = 0;
  for (const RowRange& range : ready.step.ranges()) WalkRange(range, ready, slot_row);
  if (slots_.AllTaken()) {
    for (LaneEntry& lane : lanes_) {
      WalkedPast(lane.current);
      WalkedPast(lane.ahead);
    }
  }
  if (ready.step.rank_rows == 0) slots_.DeliverReady(actions_);
}

void PlanWalker::WalkRange(const RowRange& range, const ReadyStep& step, uint32_t& slot_row) {
  if (walked_order_ == nullptr || walked_order_->epoch() != range.epoch) {
    walked_order_ = OrderOf(range.epoch);
    walker_.emplace(*walked_order_, range.position);
  }
  if (walker_->position() < range.position) walker_->Skip(range.position - walker_->position());
  WindowRun run;
  for (uint64_t left = range.rows; left > 0 && walker_->Next(left, run); left -= run.rows) {
    Want(run, step, slot_row);
    slot_row += run.rows;
  }
}

void PlanWalker::Want(const WindowRun& run, const ReadyStep& step, uint32_t slot_row) {
  WindowEntry& window = WindowOf(run);
  Range range;
  range.first_row = run.first_row;
  range.rows = run.rows;
  range.slot = step.slot;
  range.slot_row = slot_row;
  range.step = step.index;
  range.needed_at = run.window.epoch * plan_.rows() + run.position;
  fetcher_.Want(window, range);
  LaneEntry& lane = lanes_[run.window.lane];
  if (run.first_row + run.rows > window.rows / 4 * 3) OpenAhead(lane, run);
}

std::shared_ptr<const EpochOrder> PlanWalker::OrderOf(uint64_t epoch) {
  std::shared_ptr<const EpochOrder> order = orders_[epoch].lock();
  if (order == nullptr) {
    order = std::make_shared<const EpochOrder>(plan_.Epoch(epoch));
    orders_[epoch] = order;
  }
  return order;
}

WindowEntry& PlanWalker::WindowOf(const WindowRun& run) {
  LaneEntry& lane = lanes_[run.window.lane];
  if (lane.current != nullptr && lane.current->id == run.window) return *lane.current;
  WalkedPast(lane.current);
  if (lane.ahead != nullptr && lane.ahead->id == run.window) {
    return *(lane.current = std::exchange(lane.ahead, nullptr));
  }
  WalkedPast(lane.ahead);
  return *(lane.current = &NewWindow(run.window, run.window.epoch * plan_.rows() + run.position));
}

// Opens the lane's next window, so that it is loaded when the walk gets there.
void PlanWalker::OpenAhead(LaneEntry& lane, const WindowRun& run) {
  if (lane.ahead != nullptr || slots_.AllTaken()) return;
  if (fetcher_.num_windows() >= kMaxWindows) return;
  const EpochOrder& order = *lane.current->order;
  WindowId next = run.window;
  if (++next.index == order.num_windows(next.lane)) {
    next = {run.window.epoch + 1, run.window.lane, 0};
    if (steps_.At(num_steps_ - 1).begin.epoch < next.epoch) return;
    if (OrderOf(next.epoch)->num_windows(next.lane) == 0) return;
  }
  // Every lane gives a strip before this one gives its next. This is exact except for lanes that
  // end.
  const uint64_t left = lane.current->rows - run.first_row;
  const uint64_t position = run.window.epoch * plan_.rows() + run.position;
  lane.ahead = &NewWindow(next, position + left * plan_.lanes());
}

WindowEntry& PlanWalker::NewWindow(WindowId id, uint64_t start) {
  std::shared_ptr<const EpochOrder> order = OrderOf(id.epoch);
  uint64_t bytes = 0;
  for (const uint32_t chunk : order->WindowChunks(id)) bytes += plan_.chunk_bytes(chunk);
  return fetcher_.NewWindow(id, std::move(order), bytes, start);
}

void PlanWalker::WalkedPast(WindowEntry*& window) {
  if (window != nullptr) fetcher_.WalkedPast(*std::exchange(window, nullptr));
}

}  // namespace penstock
