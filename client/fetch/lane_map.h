// Maps lanes to servers: says which server a window is requested from.
#ifndef PENSTOCK_CLIENT_FETCH_LANE_MAP_H_
#define PENSTOCK_CLIENT_FETCH_LANE_MAP_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "client/fetch/placement.h"
#include "client/fetch/server_table.h"
#include "client/plan/epoch_order.h"
#include "client/plan/plan.h"

namespace penstock {

// Places lanes on the servers that are up, and remembers when to do so again. It is told when
// servers come, go or change. It answers which server a window belongs to. It never moves a window
// and never changes a server. Not thread-safe.
class LaneMap {
 public:
  // `servers` must outlive it.
  LaneMap(const Plan& plan, const ServerTable& servers);

  // Places lanes again at `time` at the latest.
  void PlaceBy(absl::Time time) { place_at_ = std::min(place_at_, time); }
  // A server sent Hello. Several often join together, so the map waits a moment for others.
  void PlaceAfterHello(absl::Time now);
  // The time at which lanes are to be placed; infinite if nothing has changed.
  absl::Time place_at() const { return place_at_; }
  // Places lanes if it is time. Returns true if they are placed anew, so windows have to follow.
  bool Place(absl::Time now);
  // Call this when a server that had lanes is gone. No lane has a server until the next Place().
  void Clear() { lane_server_.clear(); }

  bool placed() const { return !lane_server_.empty(); }
  bool placed_once() const { return placed_once_; }

  uint32_t num_places() const { return placement_.lanes(); }
  // The number below num_places() that decides the window's server.
  uint32_t PlaceOf(const WindowId& id) const {
    return shuffle_ ? id.lane : id.index % placement_.lanes();
  }
  // The server that the window would belong to if all were up. REQUIRES: placed().
  uint32_t FirstServerOf(const WindowId& id) const {
    return placed_servers_[placement_.First(PlaceOf(id))];
  }
  // Returns the server of a window that has to avoid the servers in `avoid`. It is one of these
  // only if there is no other. If a process could not give the window, all its addresses are
  // avoided as long as there is another process. Returns nullopt if lanes are not placed.
  std::optional<uint32_t> ServerOf(const WindowId& id, std::span<const uint32_t> avoid) const;
  // Whether the window would be requested from this server again although it avoids it.
  bool NoOtherThan(const ServerEntry& server, const WindowId& id,
                   std::span<const uint32_t> avoid) const;

 private:
  bool Avoids(std::span<const uint32_t> avoid, uint32_t server, bool all_addresses) const;

  const bool shuffle_;
  const ServerTable& servers_;
  LanePlacement placement_;
  std::vector<uint32_t> placed_servers_;  // Server indexes, by index in the placement.
  // Server index of each place; empty if lanes are not placed yet, or if no server is up.
  std::vector<uint32_t> lane_server_;
  absl::Time place_at_ = absl::InfiniteFuture();
  std::optional<absl::Time> settle_by_;  // Set at the first Hello.
  bool placed_once_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_LANE_MAP_H_
