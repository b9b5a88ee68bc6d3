// Moves windows from server to server, because lanes are placed anew, because servers are late,
// silent, slow or lost, or because a window is suspect and requested alone.
#include <algorithm>
#include <map>
#include <utility>

#include "client/fetch/fetcher.h"
#include "client/fetch/window_choice.h"

namespace penstock {

// Moves windows whose rows were never requested to where they belong. Open windows among them move
// only as far as extra loads allow. So a server that joins has work before its lanes' current
// windows end.
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

// If the consumer is slow, it takes long to reach windows that were not requested yet. So a server
// that joins gets one window that is being read. It is a window of the server's lowest lane, so
// that all ranks choose alike.
void Fetcher::OccupyNew() {
  std::map<uint32_t, WindowEntry*> chosen;  // Keyed by server index.
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

// Moves the window to the server that it belongs to, and counts the move. Returns false if the
// window is already there, or if `charge` is set and no more than `reserve` extra loads are left.
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
    CancelOn(server, window);  // The server drains, and the window is open elsewhere.
  }
}

// Treats a silent server as lost, but keeps its stream, because it may only have been stopped.
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

// Makes rows in flight wanted again, at once and from another server.
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

// Handles one suspect after the other, before anything else is opened. When a server is emptied for
// the next suspect, the windows that it is loading are taken away. If one of those killed the
// server, nobody would know which.
void Fetcher::PumpSuspects() {
  if (suspects_.IsAccusing()) return;
  while (suspects_.Next() != nullptr) {
    PumpSuspect(*suspects_.window());
    if (suspects_.window() != nullptr) return;  // The window in quarantine waits for something.
  }
}

// Moves the suspect on: empties a server for it, opens it there, and requests its rows range by
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

// Keeps the server free: nothing is opened or requested there. What it is loading is taken away,
// because that might kill it too.
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
