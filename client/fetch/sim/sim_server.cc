#include "client/fetch/sim/sim_server.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock::sim {

bool Manners::good() const {
  return !mute && !hello_only && !no_rows && slow <= 4 && forget == 0 && excess == 0 &&
         overlap == 0 && empty == 0 && refuse_window == 0 && refuse_fetch == 0;
}

SimServer::SimServer(uint32_t index, const ServerModel& model, EventQueue& queue,
                     Surroundings& world, uint64_t seed)
    : index_(index), model_(model), queue_(queue), world_(world), rng_(DeriveKey(seed, index)) {}

void SimServer::Later(absl::Duration delay, std::function<void()> action) {
  queue_.After(delay, [this, start = starts_, action = std::move(action)]() mutable {
    if (start != starts_ || !alive_) return;
    if (stalled_) return deferred_.push_back(std::move(action));
    action();
  });
}

// A stopped process takes what arrives when it goes on.
#define PENSTOCK_SIM_DEFER_IF_STALLED(call) \
  if (stalled_) return deferred_.push_back([=, this] { call; })

void SimServer::Accept(const SessionPtr& session) {
  if (!alive_) {
    if (silent_) return;
    return world_.Tell(session, absl::UnavailableError("connection refused"));
  }
  PENSTOCK_SIM_DEFER_IF_STALLED(Accept(session));
  if (draining_) return world_.Tell(session, absl::UnavailableError("the server is draining"));
  session->server_open = true;
  sessions_.push_back(session);
  if (manners_.mute) return;
  ServerInfo info;
  info.instance = DeriveKey(index_, starts_);
  info.cores = model_.cores;
  world_.Tell(session, info);
  world_.Tell(session, SaysCredit{model_.credit_bytes});
}

void SimServer::OpenWindow(const SessionPtr& session, uint64_t number, OpenedWindow window) {
  if (!Serves(session)) return;
  PENSTOCK_SIM_DEFER_IF_STALLED(OpenWindow(session, number, window));
  const WindowId id = window.id;
  const auto [at, added] = session->windows.emplace(number, std::move(window));
  if (!added) return world_.Violate(absl::StrCat("window number ", number, " used twice"));
  if (session->windows.size() > model_.max_windows) {
    return world_.Violate(absl::StrCat("more than ", model_.max_windows, " windows on a stream"));
  }
  if (manners_.hello_only) return;
  const auto broken = manners_.broken_windows.find({id.lane, id.index});
  if (broken != manners_.broken_windows.end()) {
    return Refuse(session, std::nullopt, number, broken->second);
  }
  if (Draw(manners_.refuse_window)) {
    return Refuse(session, std::nullopt, number, manners_.refusal);
  }
  if (Draw(manners_.babble)) {
    world_.Tell(session, SaysReady{number ^ (uint64_t{1} << 40)});
    Refuse(session, uint64_t{1} << 50, std::nullopt, manners_.refusal);
  }
  const uint64_t loads = store_->loads();
  store_->Open(id, at->second.rows, at->second.needed_at,
               [this, session, number] { WindowLoaded(session, number); });
  if (ledger_ != nullptr && store_->loads() > loads) ++(*ledger_)[id];
}

void SimServer::WindowLoaded(const SessionPtr& session, uint64_t number) {
  const auto at = session->windows.find(number);
  if (!Serves(session) || at == session->windows.end()) return;  // Released while it was read.
  at->second.ready = true;
  world_.Tell(session, SaysReady{number});
  for (const FetchRequest& fetch : std::exchange(at->second.waiting, {})) {
    Queue(session, fetch, at->second.id);
  }
}

void SimServer::Fetch(const SessionPtr& session, const FetchRequest& fetch) {
  if (!Serves(session)) return;
  PENSTOCK_SIM_DEFER_IF_STALLED(Fetch(session, fetch));
  const auto at = session->windows.find(fetch.window);
  if (at == session->windows.end()) {
    return world_.Violate(absl::StrCat("fetch of window ", fetch.window, ", which is not open"));
  }
  OpenedWindow& window = at->second;
  if (!Allows(*session, window, fetch)) return;
  if (manners_.dies_of == std::pair(window.id.lane, window.id.index)) {
    return Kill(absl::UnavailableError("connection reset"));
  }
  if (manners_.hello_only || manners_.no_rows || Draw(manners_.forget)) return;
  if (RefusesFetch(session, fetch, window.id)) return;
  session->requests[fetch.request] = fetch.window;
  if (!window.ready) return window.waiting.push_back(fetch);
  Queue(session, fetch, window.id);
}

bool SimServer::Allows(const Session& session, const OpenedWindow& window,
                       const FetchRequest& fetch) {
  const uint64_t last = fetch.first_row + uint64_t{fetch.stride} * (fetch.count - 1) + fetch.rows;
  if (fetch.rows == 0 || fetch.count == 0 || last > window.rows ||
      (fetch.count > 1 && fetch.stride < fetch.rows)) {
    world_.Violate(absl::StrCat("request ", fetch.request, " asks for rows up to ", last, " of ",
                                window.rows));
    return false;
  }
  if (session.requests.contains(fetch.request)) {
    world_.Violate(absl::StrCat("request number ", fetch.request, " used twice"));
    return false;
  }
  if (session.requests.size() >= model_.max_requests) {
    world_.Violate(absl::StrCat("more than ", model_.max_requests, " requests on a stream"));
    return false;
  }
  return true;
}

bool SimServer::RefusesFetch(const SessionPtr& session, const FetchRequest& fetch, WindowId id) {
  const auto broken = manners_.broken_windows.find({id.lane, id.index});
  if (broken != manners_.broken_windows.end()) {
    Refuse(session, fetch.request, std::nullopt, broken->second);
    return true;
  }
  if (!Draw(manners_.refuse_fetch)) return false;
  Refuse(session, fetch.request, std::nullopt, manners_.refusal);
  return true;
}

void SimServer::Refuse(const SessionPtr& session, std::optional<uint64_t> request,
                       std::optional<uint64_t> window, const absl::Status& status) {
  StreamError error;
  error.request = request;
  error.window = window;
  error.status = status;
  world_.Tell(session, std::move(error));
}

void SimServer::Cancel(const SessionPtr& session, uint64_t request) {
  if (!Serves(session)) return;
  PENSTOCK_SIM_DEFER_IF_STALLED(Cancel(session, request));
  session->requests.erase(request);
}

void SimServer::Release(const SessionPtr& session, uint64_t number) {
  if (!Serves(session)) return;
  PENSTOCK_SIM_DEFER_IF_STALLED(Release(session, number));
  const auto at = session->windows.find(number);
  if (at == session->windows.end()) {
    return world_.Violate(absl::StrCat("window ", number, " released but not open"));
  }
  store_->Close(at->second.id);
  session->windows.erase(at);
  std::erase_if(session->requests, [number](const auto& entry) { return entry.second == number; });
}

void SimServer::Close(const SessionPtr& session) {
  if (!Serves(session)) return;
  PENSTOCK_SIM_DEFER_IF_STALLED(Close(session));
  Forget(session);
  EndIfDrained();
}

#undef PENSTOCK_SIM_DEFER_IF_STALLED

void SimServer::Forget(const SessionPtr& session) {
  session->server_open = false;
  for (const auto& [number, window] : session->windows) store_->Close(window.id);
  session->windows.clear();
  session->requests.clear();
  std::erase(sessions_, session);
}

}  // namespace penstock::sim
