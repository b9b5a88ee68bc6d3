#include "client/fetch/lane_map.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

// Without shuffling there is one lane. Its windows take turns over this many places.
constexpr uint32_t kUnshuffledPlaces = 64;
// How long to wait for the other servers of a set once one has sent Hello.
constexpr absl::Duration kSettle = absl::Milliseconds(300);
constexpr absl::Duration kOthersJoin = absl::Milliseconds(100);

}  // namespace

LaneMap::LaneMap(const Plan& plan, const ServerTable& servers)
    : shuffle_(plan.shuffle()),
      servers_(servers),
      placement_(plan.shuffle() ? plan.lanes() : kUnshuffledPlaces, plan.fingerprint()) {}

void LaneMap::PlaceAfterHello(absl::Time now) {
  if (!settle_by_) settle_by_ = now + kSettle;
  if (!placed_once_) return PlaceBy(servers_.AllSettled() ? now : *settle_by_);
  PlaceBy(placed() ? now + kOthersJoin : now);
}

bool LaneMap::Place(absl::Time now) {
  if (now < place_at_) return false;
  place_at_ = absl::InfiniteFuture();
  lane_server_.clear();
  if (!servers_.AnyUp()) return false;
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
  return true;
}

std::optional<uint32_t> LaneMap::ServerOf(const WindowId& id,
                                          std::span<const uint32_t> avoid) const {
  if (!placed()) return std::nullopt;
  const uint32_t lane = PlaceOf(id);
  const uint32_t server = lane_server_[lane];
  for (const bool all_addresses : {true, false}) {
    if (!Avoids(avoid, server, all_addresses)) return server;
    std::vector<uint32_t> avoided;  // Indexes into the placement.
    for (uint32_t i = 0; i < placed_servers_.size(); ++i) {
      if (Avoids(avoid, placed_servers_[i], all_addresses)) avoided.push_back(i);
    }
    if (const auto next = placement_.Best(lane, avoided)) return placed_servers_[*next];
  }
  return server;
}

bool LaneMap::Avoids(std::span<const uint32_t> avoid, uint32_t server, bool all_addresses) const {
  return std::any_of(avoid.begin(), avoid.end(), [&](uint32_t avoided) {
    return all_addresses ? servers_.AreOne(avoided, server) : avoided == server;
  });
}

bool LaneMap::NoOtherThan(const ServerEntry& server, const WindowId& id,
                          std::span<const uint32_t> avoid) const {
  const std::optional<uint32_t> next = ServerOf(id, avoid);
  return next && servers_.AreOne(*next, server.index);
}

}  // namespace penstock
