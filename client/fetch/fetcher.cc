// Makes requests from wanted rows, returns their rows when a server is lost, and ends them when
// they are answered.
#include "client/fetch/fetcher.h"

#include <algorithm>
#include <utility>

#include "client/fetch/fetch_shape.h"

namespace penstock {

Fetcher::Fetcher(const FetchParts& parts, const FetchLimits& limits)
    : limits_(limits),
      clock_(parts.clock),
      slots_(parts.slots),
      servers_(parts.servers),
      placement_(parts.placement),
      lateness_(parts.lateness),
      suspects_(parts.suspects),
      damage_(parts.damage),
      actions_(parts.actions),
      extra_loads_(parts.placement.num_places()),
      requests_(parts.servers, limits.row_bytes, limits.max_outstanding_bytes) {}

void Fetcher::MarkForPump(ServerEntry& server) {
  if (!std::exchange(server.pump, true)) to_pump_.push_back(&server);
}

void Fetcher::Pump() {
  while (!delayed_.empty() && delayed_.front().retry_at <= clock_.now()) Requeue(delayed_.front());
  const uint64_t soon = slots_.Soon();
  while (!waiting_.empty() && waiting_.front().wanted.front().step < soon) {
    Requeue(waiting_.front());
  }
  PumpSuspects();
  // The list may grow in this loop, while windows move on from server to server.
  for (size_t i = 0; i < to_pump_.size(); ++i) {
    to_pump_[i]->pump = false;
    PumpServer(*to_pump_[i]);
  }
  to_pump_.clear();
  PumpSuspects();
}

absl::Time Fetcher::NextPump() const {
  return delayed_.empty() ? absl::InfiniteFuture() : delayed_.front().retry_at;
}

// Opens and requests the window that is needed first before the others, so that it gets the
// server's credit.
void Fetcher::PumpServer(ServerEntry& server) {
  if (server.state != ServerState::kUp || server.isolated) return;
  while (!server.to_open.empty() && MakeRoomFor(server, server.to_open.front())) {
    OpenOn(server, server.to_open.front());
  }
  while (!server.eligible.empty()) {
    WindowEntry& window = server.eligible.front();
    if (server.slow && HandOver(window, /*charge=*/true)) continue;
    if (!requests_.HasRoom(server, std::min(window.wanted_rows, limits_.rows))) return;
    FetchFrom(server, window, limits_.rows);
  }
}

void Fetcher::FetchFrom(ServerEntry& server, WindowEntry& window, uint32_t max_rows) {
  const FetchShape shape = TakeShape(window.wanted, max_rows);
  RequestEntry& request = requests_.New(clock_.now(), window, shape.total_rows());
  const uint64_t needed_at = window.wanted.front().needed_at;
  request.Claim(window.wanted.span().first(shape.num_ranges));
  window.wanted.PopFront(shape.num_ranges);
  window.wanted_rows -= request.rows;
  Link(server, request);
  actions_.Fetch(request.stream, {request.number, window.number, shape.first_row, shape.rows,
                                  shape.stride, shape.count, needed_at});
  Requeue(window);
}

void Fetcher::Link(ServerEntry& server, RequestEntry& request) {
  // If the server lost all windows because of its silence and has sent nothing since, the silence
  // goes on.
  if (server.outstanding_requests == 0 && server.heard_at != server.silent_from) {
    server.heard_at = clock_.now();
  }
  // By then the consumer may wait for its batch.
  const absl::Time look_at = clock_.now() + (lateness_.DueBy(request) - clock_.now()) / 2;
  servers_.Arm(server, std::min(look_at, server.heard_at + limits_.silence_timeout));
  requests_.Link(server, request);
}

// Makes the rows that have not arrived wanted again.
void Fetcher::ReturnClaims(RequestEntry& request, bool broken) {
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

void Fetcher::EndRequest(RequestEntry& request) {
  WindowEntry& window = *request.window;
  MarkForPump(servers_[request.stream.server]);
  requests_.End(request);
  if (window.requests == 0 && window.opened_on && !window.done()) {
    servers_[window.opened_on->server].NoteIdle(window.IdleOrder());
  }
  ReleaseIfDone(window);
}

}  // namespace penstock
