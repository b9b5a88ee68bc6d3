// Which lane goes where, and what follows when that changes.
#include <algorithm>
#include <map>
#include <utility>

#include "client/fetch/scheduler.h"

namespace penstock {

void FetchScheduler::PlaceBy(absl::Time time) { place_at_ = std::min(place_at_, time); }

void FetchScheduler::Place() {
  if (now_ < place_at_) return;
  place_at_ = absl::InfiniteFuture();
  lane_server_.clear();
  if (!servers_.AnyUp()) return;
  bool any_fast = false;
  for (uint32_t i = 0; i < servers_.size() && !any_fast; ++i) {
    any_fast = servers_[i].state == ServerState::kUp && !servers_[i].slow;
  }
  std::vector<PlacementServer> known;
  placed_servers_.clear();
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    const ServerEntry& server = servers_[i];
    if (!server.known || server.removed || server.state == ServerState::kRefused) continue;
    const bool alive = server.state == ServerState::kUp && !(any_fast && server.slow);
    known.push_back({server.address, server.info.cores, alive});
    placed_servers_.push_back(i);
  }
  placed_once_ = true;
  lane_server_ = placement_.Place(std::move(known));
  for (uint32_t& server : lane_server_) server = placed_servers_[server];
  outstanding_limit_ = options_.max_outstanding_bytes / servers_.NumUp();
  FollowPlacement();
}

// Windows that no server was asked for go where they now belong, and so do those of which no rows
// were, as far as extra loads allow: so a server that joins has work before its lanes' windows end.
void FetchScheduler::FollowPlacement() {
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
void FetchScheduler::OccupyNew() {
  std::map<uint32_t, WindowEntry*> chosen;  // By server.
  windows_.ForEach([&](WindowEntry& window) {
    if (!window.opened_on || window.requests > 0 || window.suspect || window.walked_past) return;
    const std::optional<uint32_t> server = ServerOf(window);
    if (!server || !servers_[*server].newcomer || servers_[*server].open_windows > 0) return;
    WindowEntry*& its = chosen[*server];
    const auto order = [this](const WindowEntry& w) { return std::pair(PlaceOf(w), w.start); };
    if (its == nullptr || order(window) < order(*its)) its = &window;
  });
  for (const auto& [server, window] : chosen) {
    HandOver(*window, /*charge=*/true, /*reserve=*/extra_loads_.capacity() / 2);
  }
}

// Which lane is placed for it.
uint32_t FetchScheduler::PlaceOf(const WindowEntry& window) const {
  return plan_.shuffle() ? window.id.lane : window.id.index % placement_.lanes();
}

// All addresses of a process that could not give it are avoided while there is another process.
std::optional<uint32_t> FetchScheduler::ServerOf(const WindowEntry& window) const {
  if (lane_server_.empty()) return std::nullopt;
  const uint32_t lane = PlaceOf(window);
  const uint32_t placed = lane_server_[lane];
  for (const bool all_addresses : {true, false}) {
    if (!Avoids(window, placed, all_addresses)) return placed;
    std::vector<uint32_t> avoided;  // By index in the placement.
    for (uint32_t i = 0; i < placed_servers_.size(); ++i) {
      if (Avoids(window, placed_servers_[i], all_addresses)) avoided.push_back(i);
    }
    if (const auto next = placement_.Best(lane, avoided)) return placed_servers_[*next];
  }
  return placed;
}

bool FetchScheduler::Avoids(const WindowEntry& window, uint32_t server, bool all_addresses) const {
  return std::any_of(window.avoid.begin(), window.avoid.end(), [&](uint32_t avoided) {
    return all_addresses ? servers_.AreOne(avoided, server) : avoided == server;
  });
}

}  // namespace penstock
