// Requests: made of what is wanted, returned when their server is lost, ended when answered.
#include <algorithm>
#include <utility>

#include "client/fetch/fetch_shape.h"
#include "client/fetch/scheduler.h"

namespace penstock {

void FetchScheduler::OpenWindows(absl::Time now) {
  if (!std::exchange(open_windows_, false)) return;
  windows_.ForEach([&](WindowEntry& window) {
    if (window.opened_on) return;
    const std::optional<uint32_t> server = ServerOf(window);
    if (!server || window.retry_at > now) {
      open_windows_ = true;
      return;
    }
    window.opened_on = servers_.stream(*server);
    const uint64_t needed_at =
        window.wanted.empty() ? window.start : ranges_[window.wanted.head].needed_at;
    actions_.OpenWindow(*window.opened_on,
                        {window.number, window.id, window.order.get(), needed_at});
    pump_ = true;
  });
}

// A request waits until it is worth its message, unless its rows are needed soon.
bool FetchScheduler::MayFetch(absl::Time now, const WindowEntry& window) const {
  if (window.wanted.empty() || !window.opened_on || window.retry_at > now) return false;
  const ServerEntry& server = servers_[window.opened_on->server];
  const uint64_t bytes = std::min<uint64_t>(window.wanted_rows, fetch_rows_) * options_.row_bytes;
  const uint64_t limit = std::min(server.credit_bytes, outstanding_limit_);
  if (server.outstanding_requests > 0 && server.outstanding_bytes + bytes > limit) return false;
  const uint64_t soon =
      std::max(num_released_ + std::max<uint64_t>(slots_.size() / 2, 1), waited_for_);
  return window.wanted_rows >= fetch_rows_ || window.walked_past || next_step_ == num_steps_ ||
         ranges_[window.wanted.head].step < soon;
}

void FetchScheduler::Pump(absl::Time now) {
  if (!pump_ && now < retry_wake_) return;
  pump_ = false;
  retry_wake_ = absl::InfiniteFuture();
  // One request a window and round, the one needed first before the others: a server's credit
  // goes to what is needed first.
  bool any = true;
  while (any) {
    any = false;
    candidates_.clear();
    windows_.ForEach([&](WindowEntry& window) {
      if (window.retry_at > now) {
        retry_wake_ = std::min(retry_wake_, window.retry_at);
      }
      if (MayFetch(now, window)) candidates_.push_back(&window);
    });
    std::sort(candidates_.begin(), candidates_.end(), [this](WindowEntry* a, WindowEntry* b) {
      return ranges_[a->wanted.head].needed_at < ranges_[b->wanted.head].needed_at;
    });
    for (WindowEntry* window : candidates_) any |= FetchFrom(now, *window);
  }
}

bool FetchScheduler::FetchFrom(absl::Time now, WindowEntry& window) {
  if (!MayFetch(now, window)) return false;  // The candidates before it took the credit.
  const FetchShape shape = TakeShape(ranges_, window.wanted, fetch_rows_);
  RequestEntry& request = requests_.New();
  request.stream = *window.opened_on;
  request.window = &window;
  request.rows = request.rows_missing = shape.total_rows();
  request.bytes = request.rows * options_.row_bytes;
  request.sent_at = now;
  const uint64_t needed_at = ranges_[window.wanted.head].needed_at;
  for (uint32_t i = 0; i < shape.num_ranges; ++i) {
    ranges_.PushBack(request.ranges, ranges_.PopFront(window.wanted));
  }
  window.wanted_rows -= request.rows;
  ++window.requests;

  ServerEntry& server = servers_[request.stream.server];
  if (server.outstanding_requests++ == 0) server.heard_at = now;
  server.outstanding_bytes += request.bytes;
  actions_.Fetch(request.stream, {request.number, window.number, shape.first_row, shape.rows,
                                  shape.stride, shape.count, needed_at});
  return true;
}

// The server could not give it now: it is defined anew, under a number that no late word about the
// old one can mean.
void FetchScheduler::GiveUpOn(WindowEntry& window, StreamId stream) {
  if (window.opened_on == stream) {
    actions_.ReleaseWindow(stream, window.number);
    window.opened_on.reset();
    windows_.Renumber(window);
  }
  requests_.ForEach([&](RequestEntry& request) {
    if (request.window != &window || !(request.stream == stream)) return;
    ReturnClaims(request);
    EndRequest(request);
  });
  open_windows_ = pump_ = true;
}

// Rows that have not arrived are wanted again.
void FetchScheduler::ReturnClaims(RequestEntry& request) {
  WindowEntry& window = *request.window;
  uint32_t at = 0;
  while (!request.ranges.empty()) {
    const uint32_t index = ranges_.PopFront(request.ranges);
    const Range range = ranges_[index];
    ranges_.Free(index);
    for (uint32_t row = 0; row < range.rows;) {
      const bool arrived = request.Overlaps(at + row, 1);
      uint32_t end = row + 1;
      while (end < range.rows && request.Overlaps(at + end, 1) == arrived) ++end;
      if (!arrived) {
        Range wanted = range;
        wanted.first_row += row;
        wanted.slot_row += row;
        wanted.needed_at += row;
        wanted.rows = end - row;
        window.wanted_rows += wanted.rows;
        ranges_.InsertByNeed(window.wanted, ranges_.New(wanted));
      }
      row = end;
    }
    at += range.rows;
  }
}

void FetchScheduler::EndRequest(RequestEntry& request) {
  WindowEntry& window = *request.window;
  if (servers_[request.stream.server].generation == request.stream.generation) {
    ServerEntry& server = servers_[request.stream.server];
    --server.outstanding_requests;
    server.outstanding_bytes -= request.bytes;
  }
  ranges_.FreeAll(request.ranges);
  requests_.Free(request);
  --window.requests;
  ReleaseIfDone(window);
  pump_ = true;
}

void FetchScheduler::DeliverReady() {
  while (next_delivery_ < next_step_) {
    const SlotEntry& slot = slots_[slot_of_step_[next_delivery_ % slots_.size()]];
    if (slot.rows_missing > 0) return;
    ++next_delivery_;
    actions_.Deliver(slot.ready);
  }
  if (next_delivery_ == num_steps_ && !ended_) {
    ended_ = true;
    actions_.Finish();
  }
}

}  // namespace penstock
