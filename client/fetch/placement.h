// Which server reads which lane: a pure function of the server set, so ranks and jobs agree.
#ifndef PENSTOCK_CLIENT_FETCH_PLACEMENT_H_
#define PENSTOCK_CLIENT_FETCH_PLACEMENT_H_

#include <cstdint>
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
// No server alive: an empty result.
std::vector<uint32_t> PlaceLanes(uint32_t lanes, const std::vector<PlacementServer>& servers,
                                 uint64_t salt);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_PLACEMENT_H_
