// Decides which server reads which lane: a pure function of the server set, so ranks and jobs
// agree.
#ifndef PENSTOCK_CLIENT_FETCH_PLACEMENT_H_
#define PENSTOCK_CLIENT_FETCH_PLACEMENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock {

struct PlacementServer {
  std::string address;  // Unique in the set.
  uint32_t share = 1;   // Capacity: the number of cores that the server announced.
  bool alive = true;    // Whether it may be given lanes.
};

// Returns the index of the server for each lane. Uses rendezvous hashing (Thaler, Ravishankar,
// 1998) of lanes over servers, weighted by share, with a hard cap of ceil(lanes * share / sum of
// shares) lanes for each server.
//
// First, lanes are placed over all servers, in order: each on its highest-ranked server that is not
// full. Then the lanes of servers that are not alive are placed again among those that are, with
// the caps of the latter. So when a server is lost or returns, only its own lanes move. Only
// address, share, alive and `salt` matter, not the order of `servers`.
//
// Returns an empty vector if no server is alive. O(lanes * servers).
std::vector<uint32_t> PlaceLanes(uint32_t lanes, const std::vector<PlacementServer>& servers,
                                 uint64_t salt);

// Calls PlaceLanes() repeatedly. If no address and no share changed since the last call, a call
// costs O(lanes that are not on their first server * servers). Not thread-safe.
class LanePlacement {
 public:
  LanePlacement(uint32_t lanes, uint64_t salt) : lanes_(lanes), salt_(salt) {}

  const std::vector<uint32_t>& Place(std::vector<PlacementServer> servers);
  // Returns the highest-ranked server of `lane` that is alive and not in `avoid`, as an index into
  // the last `servers`. Ignores the caps. O(servers).
  std::optional<uint32_t> Best(uint32_t lane, std::span<const uint32_t> avoid) const;

  // The server that `lane` would have if all were alive, as an index into the last `servers`.
  uint32_t First(uint32_t lane) const { return first_[lane]; }

  uint32_t lanes() const { return lanes_; }

 private:
  const uint32_t lanes_;
  const uint64_t salt_;
  std::vector<PlacementServer> servers_;
  std::vector<uint32_t> first_;  // The server of each lane if all servers were alive.
  std::vector<uint64_t> load_;   // Number of lanes that each server has in `first_`.
  std::vector<uint32_t> placed_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_PLACEMENT_H_
