// What each window waits for: a time, a server, room on its stream, or more rows.
#include <algorithm>
#include <utility>

#include "client/fetch/scheduler.h"

namespace penstock {
namespace {

constexpr double kExtraLoadsOfLane = 0.375;

}  // namespace

uint64_t FetchScheduler::NeededAt(const WindowEntry& window) const {
  return window.wanted.empty() ? window.start : window.wanted.front().needed_at;
}

// Steps before it are asked for though their requests be small.
uint64_t FetchScheduler::Soon() const {
  return std::max(num_released_ + std::max<uint64_t>(slots_.size() / 2, 1), waited_for_);
}

// A newcomer is asked for whatever there is.
bool FetchScheduler::WorthARequest(const WindowEntry& window) const {
  const ServerEntry& server = servers_[window.opened_on->server];
  return window.wanted_rows >= fetch_rows_ || window.walked_past ||
         window.wanted.front().step < Soon() ||
         (server.newcomer && server.outstanding_requests == 0);
}

void FetchScheduler::Requeue(WindowEntry& window) {
  IndexedHeap<WindowEntry>::Leave(window);
  if (window.retry_at > now_) {
    const int64_t key = absl::ToUnixNanos(window.retry_at);
    return delayed_.Push(static_cast<uint64_t>(std::max<int64_t>(key, 0)), window);
  }
  if (window.suspect) return suspects_.Push(NeededAt(window), window);
  if (!window.opened_on) {
    const std::optional<uint32_t> index = ServerOf(window);
    if (!index) return;  // Until lanes are placed.
    // Those of which rows are wanted come first: the others must not keep room from them.
    const uint64_t idle = window.wanted.empty() ? uint64_t{1} << 63 : 0;
    servers_[*index].to_open.Push(NeededAt(window) | idle, window);
    return MarkForPump(servers_[*index]);
  }
  if (window.wanted.empty()) return;
  ServerEntry& server = servers_[window.opened_on->server];
  if (!WorthARequest(window)) return waiting_.Push(NeededAt(window), window);
  server.eligible.Push(NeededAt(window), window);
  MarkForPump(server);
}

void FetchScheduler::OpenOn(ServerEntry& server, WindowEntry& window) {
  window.opened_on = servers_.stream(server.index);
  window.opened_at = now_;
  window.ready_at = absl::InfiniteFuture();
  window.asked = false;
  ++server.open_windows;
  if (!std::exchange(window.counted, true)) EarnExtraLoads(window);
  NoteIdle(window);
  actions_.OpenWindow(*window.opened_on, {window.number, window.id, window.order.get(),
                                          NeededAt(window), agreed_, window.spare()});
  Requeue(window);
}

// With each lane that this rank uses it may have so many windows loaded again at once that those of
// one server in four can go.
void FetchScheduler::EarnExtraLoads(const WindowEntry& window) {
  extra_loads_.Earn();
  if (lane_in_use_[PlaceOf(window)]) return;
  lane_in_use_[PlaceOf(window)] = true;
  extra_loads_.Grow(kExtraLoadsOfLane);
}

// Of windows that are asked for nothing: those to make room first are last.
std::pair<bool, uint64_t> FetchScheduler::IdleOrder(const WindowEntry& window) const {
  return {window.wanted.empty(), NeededAt(window)};
}

void FetchScheduler::NoteIdle(const WindowEntry& window) {
  ServerEntry& server = servers_[window.opened_on->server];
  server.last_idle = std::max(server.last_idle, IdleOrder(window));
}

// A window that is needed now takes the place of the one that is needed last: first of those of
// which no row is wanted, for of them the next row is still to be walked to.
bool FetchScheduler::MakeRoomFor(ServerEntry& server, const WindowEntry& window) {
  if (server.open_windows < options_.max_open_windows) return true;
  if (window.wanted.empty()) return false;
  if (server.last_idle <= IdleOrder(window)) return false;
  const StreamId stream = servers_.stream(server.index);
  WindowEntry* last = nullptr;
  windows_.ForEach([&](WindowEntry& other) {
    if (!(other.opened_on == stream) || other.requests > 0) return;
    if (last == nullptr || IdleOrder(other) > IdleOrder(*last)) last = &other;
  });
  server.last_idle = last == nullptr ? std::pair(false, uint64_t{0}) : IdleOrder(*last);
  if (server.last_idle <= IdleOrder(window)) return false;
  TakeAway(*last);
  Requeue(*last);
  return true;
}

// What it was asked of the window's rows is wanted again.
void FetchScheduler::CancelOn(ServerEntry& server, WindowEntry& window) {
  const StreamId stream = servers_.stream(server.index);
  for (RequestEntry* request = server.first_request; request != nullptr;) {
    RequestEntry& current = *std::exchange(request, request->later);
    if (current.window != &window) continue;
    actions_.Cancel(stream, current.number);
    ReturnClaims(current, /*broken=*/false);
    EndRequest(current);
  }
}

// Nothing of it is expected from its server any more. It is defined anew, under a number that no
// late word about the old one can mean.
void FetchScheduler::TakeAway(WindowEntry& window) {
  const StreamId stream = *window.opened_on;
  ServerEntry& server = servers_[stream.server];
  CancelOn(server, window);
  actions_.ReleaseWindow(stream, window.number);
  window.opened_on.reset();
  --server.open_windows;
  windows_.Renumber(window);
  MarkForPump(server);
}

void FetchScheduler::ReleaseIfDone(WindowEntry& window) {
  if (!window.done()) return;
  if (!window.doubts.empty()) ReportDoubts(window);
  if (window.opened_on) {
    actions_.ReleaseWindow(*window.opened_on, window.number);
    ServerEntry& server = servers_[window.opened_on->server];
    --server.open_windows;
    MarkForPump(server);
  }
  if (quarantined_ == &window) EndQuarantine();
  if (accusation_ && accusation_->window == &window) accusation_.reset();  // Nobody reads it.
  IndexedHeap<WindowEntry>::Leave(window);
  windows_.Free(window);
}

}  // namespace penstock
