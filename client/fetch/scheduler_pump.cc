// Requests: made of what is wanted, returned when their server is lost, ended when answered.
#include <algorithm>
#include <utility>

#include "client/fetch/fetch_shape.h"
#include "client/fetch/scheduler.h"

namespace penstock {
namespace {

// A server allows 4,096 of a stream; small rows would reach that before the credit.
constexpr uint32_t kMaxRequests = 2048;

}  // namespace

void FetchScheduler::MarkForPump(ServerEntry& server) {
  if (!std::exchange(server.pump, true)) to_pump_.push_back(&server);
}

void FetchScheduler::Pump() {
  while (!delayed_.empty() && delayed_.front().retry_at <= now_) Requeue(delayed_.front());
  const uint64_t soon = Soon();
  while (!waiting_.empty() && waiting_.front().wanted.front().step < soon) {
    Requeue(waiting_.front());
  }
  PumpSuspects();
  // It grows while windows move on from server to server.
  for (size_t i = 0; i < to_pump_.size() && !ended_; ++i) {
    to_pump_[i]->pump = false;
    PumpServer(*to_pump_[i]);
  }
  to_pump_.clear();
  PumpSuspects();
}

// What is needed first is opened and asked for first: so a server's credit goes to it.
void FetchScheduler::PumpServer(ServerEntry& server) {
  if (server.state != ServerState::kUp || server.isolated) return;
  while (!server.to_open.empty() && MakeRoomFor(server, server.to_open.front())) {
    OpenOn(server, server.to_open.front());
  }
  while (!server.eligible.empty()) {
    WindowEntry& window = server.eligible.front();
    if (server.slow && HandOver(window, /*charge=*/true)) continue;
    if (!HasRoom(server, window)) return;
    FetchFrom(server, window, fetch_rows_);
  }
}

bool FetchScheduler::HasRoom(const ServerEntry& server, const WindowEntry& window) const {
  if (server.outstanding_requests == 0) return true;
  const uint64_t bytes = std::min<uint64_t>(window.wanted_rows, fetch_rows_) * options_.row_bytes;
  const uint64_t limit = std::min(server.credit_bytes, outstanding_limit_);
  return server.outstanding_requests < kMaxRequests && server.outstanding_bytes + bytes <= limit &&
         outstanding_bytes_ + bytes <= options_.max_outstanding_bytes;
}

void FetchScheduler::FetchFrom(ServerEntry& server, WindowEntry& window, uint32_t max_rows) {
  const FetchShape shape = TakeShape(window.wanted, max_rows);
  RequestEntry& request = NewRequest(window, shape.total_rows());
  const uint64_t needed_at = window.wanted.front().needed_at;
  request.Claim(window.wanted.span().first(shape.num_ranges));
  window.wanted.PopFront(shape.num_ranges);
  window.wanted_rows -= request.rows;
  Link(server, request);
  actions_.Fetch(request.stream, {request.number, window.number, shape.first_row, shape.rows,
                                  shape.stride, shape.count, needed_at});
  Requeue(window);
}

// Of an open window, to be linked once it has its ranges.
RequestEntry& FetchScheduler::NewRequest(WindowEntry& window, uint32_t rows) {
  RequestEntry& request = requests_.New();
  request.stream = *window.opened_on;
  request.window = &window;
  request.rows = request.rows_missing = rows;
  request.bytes = rows * options_.row_bytes;
  request.sent_at = request.active_at = now_;
  window.asked = true;
  ++window.requests;
  return request;
}

void FetchScheduler::Link(ServerEntry& server, RequestEntry& request) {
  // Where all was taken away because it said nothing, that silence goes on.
  if (server.outstanding_requests++ == 0 && server.heard_at != server.silent_from) {
    server.heard_at = now_;
  }
  // Its batch may be waited for by then.
  const absl::Time look_at = now_ + (DueBy(request) - now_) / 2;
  Arm(server, std::min(look_at, server.heard_at + options_.silence_timeout));
  server.outstanding_bytes += request.bytes;
  outstanding_bytes_ += request.bytes;
  request.earlier = server.last_request;
  (request.earlier == nullptr ? server.first_request : request.earlier->later) = &request;
  server.last_request = &request;
}

// Rows that have not arrived are wanted again.
void FetchScheduler::ReturnClaims(RequestEntry& request, bool broken) {
  WindowEntry& window = *request.window;
  for (const Range& range : request.ranges) {
    request.received.ForEachGap(range.at, range.rows, [&](uint32_t at, uint32_t rows) {
      const uint32_t skipped = at - range.at;
      Range wanted = range;
      wanted.first_row += skipped;
      wanted.slot_row += skipped;
      wanted.needed_at += skipped;
      wanted.rows = rows;
      wanted.breaks += broken;
      window.wanted_rows += rows;
      window.wanted.InsertByNeed(wanted);
    });
  }
  request.ranges.clear();
  Requeue(window);
}

void FetchScheduler::EndRequest(RequestEntry& request) {
  WindowEntry& window = *request.window;
  ServerEntry& server = servers_[request.stream.server];
  if (server.probe == &request) server.probe = nullptr;
  --server.outstanding_requests;
  server.outstanding_bytes -= request.bytes;
  outstanding_bytes_ -= request.bytes;
  (request.earlier == nullptr ? server.first_request : request.earlier->later) = request.later;
  (request.later == nullptr ? server.last_request : request.later->earlier) = request.earlier;
  MarkForPump(server);
  requests_.Free(request);
  --window.requests;
  if (window.requests == 0 && window.opened_on && !window.done()) NoteIdle(window);
  ReleaseIfDone(window);
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
