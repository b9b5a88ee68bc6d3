// Maps lanes to servers: says which server is asked for which window.
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
// servers come, go or change; it answers which server a window belongs to. It never moves a window
// and never changes a server. Not thread-safe.
class LaneMap {
 public:
  // `servers` must outlive it.
  LaneMap(const Plan& plan, const ServerTable& servers);

  // Lanes are to be placed again, at `time` at the latest.
  void PlaceBy(absl::Time time) { place_at_ = std::min(place_at_, time); }
  // A server said Hello. Several often join together, so the map waits a moment for others.
  void PlaceAfterHello(absl::Time now);
  // Infinite: nothing has changed.
  absl::Time place_at() const { return place_at_; }
  // Places lanes if it is time. True: they are placed anew, so windows have to follow.
  bool Place(absl::Time now);
  // No lane has a server until the next Place(): one that had lanes is gone.
  void Clear() { lane_server_.clear(); }

  bool placed() const { return !lane_server_.empty(); }
  bool placed_once() const { return placed_once_; }

  uint32_t num_places() const { return placement_.lanes(); }
  // The number below num_places() by which a window is placed.
  uint32_t PlaceOf(const WindowId& id) const {
    return shuffle_ ? id.lane : id.index % placement_.lanes();
  }
  // The server that the window would belong to if all were up. REQUIRES: placed().
  uint32_t FirstServerOf(const WindowId& id) const {
    return placed_servers_[placement_.First(PlaceOf(id))];
  }
  // The server of a window that has to avoid the servers in `avoid`: one of these only if there is
  // no other. All addresses of a process that could not give it are avoided while there is another
  // process. None: not placed.
  std::optional<uint32_t> ServerOf(const WindowId& id, std::span<const uint32_t> avoid) const;
  // Whether the window would be asked of this server again, though it is to be avoided.
  bool NoOtherThan(const ServerEntry& server, const WindowId& id,
                   std::span<const uint32_t> avoid) const;

 private:
  bool Avoids(std::span<const uint32_t> avoid, uint32_t server, bool all_addresses) const;

  const bool shuffle_;
  const ServerTable& servers_;
  LanePlacement placement_;
  std::vector<uint32_t> placed_servers_;  // By index in the placement.
  std::vector<uint32_t> lane_server_;     // Empty: not placed yet, or no server is up.
  absl::Time place_at_ = absl::InfiniteFuture();
  std::optional<absl::Time> settle_by_;  // Set by the first Hello.
  bool placed_once_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_LANE_MAP_H_
