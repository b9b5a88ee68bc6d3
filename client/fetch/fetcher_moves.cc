// Windows that move from server to server: lanes are placed anew, servers are late, silent, slow or
// lost, or a window is suspect and asked for alone.
#include <algorithm>
#include <map>
#include <utility>

#include "client/fetch/fetcher.h"
#include "client/fetch/window_choice.h"

namespace penstock {

// Windows that no server was asked for go where they now belong, and so do those of which no rows
// were, as far as extra loads allow: so a server that joins has work before its lanes' windows end.
void Fetcher::FollowPlacement() {
  requests_.ShareAmong(servers_.NumUp());
  windows_.ForEach([&](WindowEntry& window) {
    if (!window.opened_on) return Requeue(window);
    if (!window.asked && window.wanted.empty() && !window.suspect) {
      HandOver(window, /*charge=*/true, /*reserve=*/extra_loads_.capacity() / 2);
    }
  });
  OccupyNew();
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].state == ServerState::kUp) MarkForPump(servers_[i]);
  }
}

// A consumer that takes little would take long to come to windows that were not asked for: a server
// that joins is given one that is read now, of its lowest lane, so that all ranks choose alike.
void Fetcher::OccupyNew() {
  std::map<uint32_t, WindowEntry*> chosen;  // By server.
  windows_.ForEach([&](WindowEntry& window) {
    if (!window.opened_on || window.requests > 0 || window.suspect || window.walked_past) return;
    const std::optional<uint32_t> server = placement_.ServerOf(window.id, window.avoid);
    if (!server || !servers_[*server].newcomer || servers_[*server].open_windows > 0) return;
    WindowEntry*& its = chosen[*server];
    const auto order = [this](const WindowEntry& w) {
      return std::pair(placement_.PlaceOf(w.id), w.start);
    };
    if (its == nullptr || order(window) < order(*its)) its = &window;
  });
  for (const auto& [server, window] : chosen) {
    HandOver(*window, /*charge=*/true, /*reserve=*/extra_loads_.capacity() / 2);
  }
}

// False: there is no other server for it, or, where that is charged, extra loads are used up but
// for `reserve`. Counted in any case.
bool Fetcher::HandOver(WindowEntry& window, bool charge, double reserve) {
  ServerEntry& from = servers_[window.opened_on->server];
  const std::optional<uint32_t> to = placement_.ServerOf(window.id, window.avoid);
  if (!to || *to == from.index) return false;
  if (charge && !extra_loads_.Take(reserve)) return false;
  TakeAway(window);
  ++from.counted.handed_over;
  ++servers_[*to].counted.extra_loads;
  Requeue(window);
  return true;
}

void Fetcher::TakeLate(ServerEntry& server, WindowEntry& window) {
  if (window.opened_on == servers_.stream(server.index)) {
    window.Avoid(server.index);
    HandOver(window, /*charge=*/true);
  } else {
    CancelOn(server, window);  // It drains, and the window is open elsewhere.
  }
}

// A server that says nothing is as good as lost; but its stream stays, for it may only have been
// stopped.
void Fetcher::TakeAll(ServerEntry& server) {
  server.silent_from = server.heard_at;
  CancelProbe(server);
  const StreamId stream = servers_.stream(server.index);
  windows_.ForEach([&](WindowEntry& window) {
    if (window.suspect) return;
    if (window.opened_on == stream) {
      HandOver(window, /*charge=*/false);
    } else if (window.requests > 0) {
      CancelOn(server, window);
    }
  });
}

// Rows in flight are wanted again, at once and from another server.
void Fetcher::LoseWindowsOf(ServerEntry& server, bool broken) {
  if (server.probe != nullptr) {
    server.probe->window->opened_on.reset();
    EndRequest(*server.probe);
    server.probe_at = clock_.now();
  }
  const StreamId stream = servers_.stream(server.index);
  windows_.ForEach([&](WindowEntry& window) {
    const bool in_flight = window.requests > 0 || !window.ready();
    window.breaks += broken && in_flight && window.opened_on == stream;
  });
  while (server.first_request != nullptr) {
    ++server.counted.lost_requests;
    RequestEntry& request = *server.first_request;
    ReturnClaims(request, broken);
    EndRequest(request);
  }
  windows_.ForEach([&](WindowEntry& window) {
    if (!(window.opened_on == stream)) return;
    window.load_breaks += broken && !window.ready();
    window.opened_on.reset();
    window.suspect |= Suspects::IsStillSuspect(window);
    Requeue(window);
  });
  server.open_windows = 0;
  if (suspects_.server() == &server) EndQuarantine();
}

void Fetcher::LeaveWindowsOf(ServerEntry& server) {
  const StreamId stream = servers_.stream(server.index);
  windows_.ForEach([&](WindowEntry& window) {
    if (!(window.opened_on == stream)) return;
    window.opened_on.reset();
    Requeue(window);
  });
  server.open_windows = 0;
  if (suspects_.server() == &server) EndQuarantine();
}

const RequestEntry* Fetcher::Probe(ServerEntry& server) {
  const WindowEntry* like = WindowToProbe(windows_, placement_, server);
  if (like == nullptr) return nullptr;
  WindowEntry& window = windows_.New();
  window.id = like->id;
  window.order = like->order;
  window.rows = like->rows;
  window.start = like->start;
  window.spares = like->spares;
  window.walked_past = window.counted = true;
  OpenOn(server, window);
  RequestEntry& request = requests_.New(clock_.now(), window, std::min(limits_.rows, window.rows));
  server.probe = &request;
  Link(server, request);
  actions_.Fetch(request.stream, {request.number, window.number, 0, request.rows, request.rows, 1,
                                  window.NeededAt()});
  return &request;
}

void Fetcher::CancelProbe(ServerEntry& server) {
  if (server.probe == nullptr) return;
  actions_.Cancel(server.probe->stream, server.probe->number);
  server.cancelled_rows += server.probe->rows_missing;
  EndRequest(*server.probe);
}

// One suspect after the other, before anything else is opened: what a server loads when it is
// emptied for the next one is taken away, and if that is what kills it nobody would know.
void Fetcher::PumpSuspects() {
  if (suspects_.IsAccusing()) return;
  while (suspects_.Next() != nullptr) {
    PumpSuspect(*suspects_.window());
    if (suspects_.window() != nullptr) return;  // It waits for something.
  }
}

// Moves it on: a server is emptied for it, it is opened there, and its rows are asked for range by
// range until none of them is suspect.
void Fetcher::PumpSuspect(WindowEntry& window) {
  if (window.retry_at > clock_.now()) return;
  const std::optional<uint32_t> index =
      window.opened_on ? window.opened_on->server : placement_.ServerOf(window.id, window.avoid);
  if (!index || servers_[*index].state != ServerState::kUp) return;
  ServerEntry& server = servers_[*index];
  if (suspects_.server() != &server) {
    if (suspects_.server() != nullptr) {
      suspects_.server()->isolated = false;
      MarkForPump(*suspects_.server());
    }
    suspects_.set_server(&server);
    Isolate(server);
  }
  if (server.outstanding_requests > 0) return;
  if (!window.opened_on) {
    OpenOn(server, window);
    servers_.Arm(server, clock_.now() + limits_.silence_timeout);
  }
  if (!window.ready()) return;
  if (!Suspects::IsStillSuspect(window)) return EndQuarantine();
  FetchFrom(server, window, window.wanted.front().rows);
}

// Nothing is opened there or asked for; what is being loaded is taken away, for it might kill too.
void Fetcher::Isolate(ServerEntry& server) {
  server.isolated = true;
  CancelProbe(server);
  const StreamId stream = servers_.stream(server.index);
  windows_.ForEach([&](WindowEntry& window) {
    if (&window == suspects_.window() || !(window.opened_on == stream) || window.ready()) return;
    TakeAway(window);
    Requeue(window);
  });
}

void Fetcher::EndQuarantine() {
  if (suspects_.server() != nullptr) {
    suspects_.server()->isolated = false;
    MarkForPump(*suspects_.server());
  }
  WindowEntry& window = *suspects_.window();
  suspects_.End();
  window.suspect = Suspects::IsStillSuspect(window);
  if (!window.done()) Requeue(window);
}

}  // namespace penstock
