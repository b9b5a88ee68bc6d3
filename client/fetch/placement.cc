#include "client/fetch/placement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/string_view.h"
#include "records/base/counter_rng.h"

namespace penstock {
namespace {

uint64_t HashAddress(absl::string_view address, uint64_t salt) {
  uint64_t hash = DeriveKey(salt, address.size());
  for (char c : address) hash = DeriveKey(hash, static_cast<uint8_t>(c));
  return hash;
}

// Weighted rendezvous: the largest of -share / ln(u) wins with probability share / sum of shares.
double Score(uint64_t server_hash, uint32_t lane, uint32_t share) {
  const double u = (static_cast<double>(DeriveKey(server_hash, lane) >> 11) + 0.5) * 0x1p-53;
  return -static_cast<double>(share) / std::log(u);
}

// Places lanes one by one, never more on a server than its cap.
class Choice {
 public:
  Choice(const std::vector<PlacementServer>& servers, uint64_t salt)
      : servers_(servers), order_(servers.size()), load_(servers.size()) {
    // Ties are broken by address, not by place in the list.
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(),
              [&](uint32_t a, uint32_t b) { return servers[a].address < servers[b].address; });
    for (const PlacementServer& server : servers) {
      hashes_.push_back(HashAddress(server.address, salt));
    }
  }

  // ceil(lanes * share / sum of shares), of all servers or of those alive; the others: 0.
  void SetCaps(uint64_t lanes, bool only_alive) {
    uint64_t sum = 0;
    for (const PlacementServer& server : servers_) {
      if (server.alive || !only_alive) sum += Share(server);
    }
    caps_.clear();
    for (const PlacementServer& server : servers_) {
      const bool eligible = server.alive || !only_alive;
      caps_.push_back(eligible ? (lanes * Share(server) + sum - 1) / sum : 0);
    }
  }

  uint32_t Choose(uint32_t lane) {
    double best = -1;
    uint32_t chosen = 0;
    for (uint32_t s : order_) {
      if (load_[s] >= caps_[s]) continue;
      const double score = Score(hashes_[s], lane, Share(servers_[s]));
      if (score <= best) continue;
      best = score;
      chosen = s;
    }
    ++load_[chosen];
    return chosen;
  }

 private:
  static uint32_t Share(const PlacementServer& server) { return std::max(server.share, 1u); }

  const std::vector<PlacementServer>& servers_;
  std::vector<uint32_t> order_;
  std::vector<uint64_t> hashes_, caps_, load_;
};

}  // namespace

std::vector<uint32_t> PlaceLanes(uint32_t lanes, const std::vector<PlacementServer>& servers,
                                 uint64_t salt) {
  if (std::none_of(servers.begin(), servers.end(), [](const auto& s) { return s.alive; })) {
    return {};
  }
  Choice choice(servers, salt);
  choice.SetCaps(lanes, /*only_alive=*/false);
  std::vector<uint32_t> placed;
  for (uint32_t lane = 0; lane < lanes; ++lane) placed.push_back(choice.Choose(lane));
  choice.SetCaps(lanes, /*only_alive=*/true);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if (!servers[placed[lane]].alive) placed[lane] = choice.Choose(lane);
  }
  return placed;
}

}  // namespace penstock
