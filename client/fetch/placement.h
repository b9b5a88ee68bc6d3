// Which server reads which lane: a pure function of the server set, so ranks and jobs agree.
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
  uint32_t share = 1;   // Capacity: the cores it announced.
  bool alive = true;    // May be given lanes.
};

// For each lane the index of its server. Rendezvous hashing (Thaler, Ravishankar, 1998) of lanes
// over servers, weighted by share, with a hard cap of ceil(lanes * share / sum of shares) lanes a
// server: lanes are placed in order, each on its highest-ranked server that is not full, over all
// servers; then those whose server is not alive again among those that are, with the caps of
// those. So when a server is lost or returns, its own lanes move and no others. Neither the order
// of `servers` nor anything but address, share, alive and `salt` matters.
// No server alive: an empty result. O(lanes * servers).
std::vector<uint32_t> PlaceLanes(uint32_t lanes, const std::vector<PlacementServer>& servers,
                                 uint64_t salt);

// PlaceLanes() again and again: a call in which no address and no share differs from the one
// before costs O(lanes that are not on their first server * servers). Not thread-safe.
class LanePlacement {
 public:
  LanePlacement(uint32_t lanes, uint64_t salt) : lanes_(lanes), salt_(salt) {}

  const std::vector<uint32_t>& Place(std::vector<PlacementServer> servers);
  // The highest-ranked server of `lane` that is alive and not in `avoid`, by index into what was
  // placed last; the caps do not count. O(servers).
  std::optional<uint32_t> Best(uint32_t lane, std::span<const uint32_t> avoid) const;

  // The server of `lane` were all alive, by index into what was placed last.
  uint32_t First(uint32_t lane) const { return first_[lane]; }

  uint32_t lanes() const { return lanes_; }

 private:
  const uint32_t lanes_;
  const uint64_t salt_;
  std::vector<PlacementServer> servers_;
  std::vector<uint32_t> first_;  // As if all were alive.
  std::vector<uint64_t> load_;   // Lanes of each in `first_`.
  std::vector<uint32_t> placed_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_PLACEMENT_H_
