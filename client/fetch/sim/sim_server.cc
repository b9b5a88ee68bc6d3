#include "client/fetch/sim/sim_server.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock::sim {

bool Manners::good() const {
  return !mute && !hello_only && !no_rows && slow <= 4 && forget == 0 && repeat == 0 &&
         stray == 0 && excess == 0 && overlap == 0 && empty == 0 && refuse_window == 0 &&
         refuse_fetch == 0;
}

// Walks over the epoch's chunks by itself, window by window.
std::optional<uint32_t> BadData::StandIn(const EpochOrder& order, WindowId id) const {
  std::optional<uint32_t> before;
  bool passed = false;
  for (uint32_t lane = 0; lane < order.num_lanes(); ++lane) {
    for (uint32_t i = 0; i < order.num_windows(lane); ++i) {
      const WindowId other{id.epoch, lane, i};
      if (other == id) {
        passed = true;
        continue;
      }
      for (const uint32_t chunk : order.WindowChunks(other)) {
        if (empty_chunks.contains(chunk)) continue;
        if (passed) return chunk;
        if (!before) before = chunk;
      }
    }
  }
  return before;
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

// A stopped process handles what arrives when it continues.
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
  if (RefusesWindow(session, number, id)) return;
  if (Draw(manners_.babble)) {
    world_.Tell(session, SaysReady{number ^ (uint64_t{1} << 40)});
    Refuse(session, uint64_t{1} << 50, std::nullopt, manners_.refusal);
  }
  store_->Open(id, at->second.rows, at->second.needed_at,
               [this, session, number] { WindowLoaded(session, number); });
}

void SimServer::WindowLoaded(const SessionPtr& session, uint64_t number) {
  const auto at = session->windows.find(number);
  // The window was released while it was read.
  if (!Serves(session) || at == session->windows.end()) return;
  at->second.ready = true;
  world_.Tell(session, SaysReady{number});
  for (const FetchRequest& fetch : std::exchange(at->second.waiting, {})) {
    Queue(session, fetch, at->second);
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
  if (bad_data_ && bad_data_->deadly && bad_data_->concerns(window.id)) return Die();
  if (manners_.hello_only || manners_.no_rows || Draw(manners_.forget)) return;
  if (RefusesFetch(session, fetch, window)) return;
  session->requests[fetch.request] = fetch.window;
  if (!window.ready) return window.waiting.push_back(fetch);
  Queue(session, fetch, window);
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

bool SimServer::RefusesWindow(const SessionPtr& session, uint64_t number, WindowId id) {
  absl::Status status;
  if (bad_data_ && bad_data_->concerns(id)) status = bad_data_->unreadable;
  if (status.ok() && Draw(manners_.refuse_window)) status = manners_.refusal;
  if (status.ok()) return false;
  Refuse(session, std::nullopt, number, status);
  return true;
}

bool SimServer::RefusesFetch(const SessionPtr& session, const FetchRequest& fetch,
                             const OpenedWindow& window) {
  if (bad_data_ && bad_data_->concerns(window.id)) {
    if (!bad_data_->unreadable.ok()) {
      Refuse(session, fetch.request, std::nullopt, bad_data_->unreadable);
      return true;
    }
    if (std::optional<StreamError> error = FindDamage(window)) {
      if (error->needs_spare) {
        error->window = fetch.window;
        world_.Tell(session, *error);
        error->window.reset();
      }
      error->request = fetch.request;
      world_.Tell(session, *std::move(error));
      return true;
    }
  }
  if (!Draw(manners_.refuse_fetch)) return false;
  Refuse(session, fetch.request, std::nullopt, manners_.refusal);
  return true;
}

bool SimServer::IsEmpty(const OpenedWindow& window) const {
  return bad_data_ && bad_data_->empty && bad_data_->concerns(window.id);
}

std::optional<StreamError> SimServer::FindDamage(const OpenedWindow& window) const {
  if (!bad_data_->damage) return std::nullopt;
  StreamError error;
  error.status = absl::DataLossError("payload CRC is wrong");
  const auto is_new = [&](const Damage& damage) {
    error.damage = damage;
    return std::none_of(window.damaged.begin(), window.damaged.end(), [&](const Damage& listed) {
      return listed.shard == damage.shard && listed.chunk_offset == damage.chunk_offset;
    });
  };
  if (is_new(*bad_data_->damage)) return error;
  if (!bad_data_->empty) return std::nullopt;
  if (window.spare) {
    if (!bad_data_->empty_chunks.contains(*window.spare)) return std::nullopt;
    if (is_new({"spare.tfrecord", *window.spare, 0, true})) return error;
  }
  error.damage.reset();
  error.needs_spare = true;
  return error;
}

void SimServer::Die() {
  ++deaths_;
  Kill(absl::UnavailableError("connection reset"));
  queue_.After(absl::Seconds(1), [this] {
    if (!alive_) Start();
  });
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
