#include "client/fetch/placement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/counter_rng.h"

namespace penstock {
namespace {

uint64_t HashAddress(absl::string_view address, uint64_t salt) {
  uint64_t hash = DeriveKey(salt, address.size());
  for (char c : address) hash = DeriveKey(hash, static_cast<uint8_t>(c));
  return hash;
}

uint32_t ShareOf(const PlacementServer& server) { return std::max(server.share, 1u); }

// Ranks the servers for each lane.
class Ranking {
 public:
  Ranking(const std::vector<PlacementServer>& servers, uint64_t salt) : order_(servers.size()) {
    // Ties are broken by address, not by index in the list.
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(),
              [&](uint32_t a, uint32_t b) { return servers[a].address < servers[b].address; });
    for (const PlacementServer& server : servers) {
      hashes_.push_back(HashAddress(server.address, salt));
      shares_.push_back(ShareOf(server));
      equal_ &= shares_.back() == shares_.front();
    }
  }

  // Returns the best server for which may(index) is true.
  template <typename May>
  std::optional<uint32_t> Best(uint32_t lane, May may) const {
    double best = -1;
    std::optional<uint32_t> chosen;
    for (uint32_t s : order_) {
      if (!may(s)) continue;
      const double score = Score(s, lane);
      if (score <= best) continue;
      best = score;
      chosen = s;
    }
    return chosen;
  }

 private:
  // Weighted rendezvous hashing: the largest -share / ln(u) wins with probability share / sum of
  // shares. If all shares are equal, u itself gives the same order and is ten times cheaper.
  double Score(uint32_t server, uint32_t lane) const {
    const double u = (static_cast<double>(DeriveKey(hashes_[server], lane) >> 11) + 0.5) * 0x1p-53;
    return equal_ ? u : -static_cast<double>(shares_[server]) / std::log(u);
  }

  std::vector<uint32_t> order_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> shares_;
  bool equal_ = true;
};

// Returns ceil(lanes * share / sum of shares) for each server, over all servers or only over those
// alive; 0 for the others.
std::vector<uint64_t> Caps(const std::vector<PlacementServer>& servers, uint64_t lanes,
                           bool only_alive) {
  uint64_t sum = 0;
  for (const PlacementServer& server : servers) {
    if (server.alive || !only_alive) sum += ShareOf(server);
  }
  std::vector<uint64_t> caps;
  for (const PlacementServer& server : servers) {
    const bool eligible = server.alive || !only_alive;
    caps.push_back(eligible ? (lanes * ShareOf(server) + sum - 1) / sum : 0);
  }
  return caps;
}

uint32_t Choose(const Ranking& ranking, uint32_t lane, const std::vector<uint64_t>& caps,
                std::vector<uint64_t>& load) {
  const auto chosen = ranking.Best(lane, [&](uint32_t s) { return load[s] < caps[s]; });
  ++load[*chosen];
  return *chosen;
}

bool SameServers(const std::vector<PlacementServer>& a, const std::vector<PlacementServer>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.address == y.address && x.share == y.share;
  });
}

}  // namespace

const std::vector<uint32_t>& LanePlacement::Place(std::vector<PlacementServer> servers) {
  const bool same = !first_.empty() && SameServers(servers, servers_);
  servers_ = std::move(servers);
  placed_.clear();
  if (std::none_of(servers_.begin(), servers_.end(), [](const auto& s) { return s.alive; })) {
    if (!same) first_.clear();
    return placed_;
  }
  const Ranking ranking(servers_, salt_);
  if (!same) {
    first_.clear();
    load_.assign(servers_.size(), 0);
    const std::vector<uint64_t> caps = Caps(servers_, lanes_, /*only_alive=*/false);
    for (uint32_t lane = 0; lane < lanes_; ++lane) {
      first_.push_back(Choose(ranking, lane, caps, load_));
    }
  }
  placed_ = first_;
  std::vector<uint64_t> load = load_;
  const std::vector<uint64_t> caps = Caps(servers_, lanes_, /*only_alive=*/true);
  for (uint32_t lane = 0; lane < lanes_; ++lane) {
    if (!servers_[placed_[lane]].alive) placed_[lane] = Choose(ranking, lane, caps, load);
  }
  return placed_;
}

std::optional<uint32_t> LanePlacement::Best(uint32_t lane, std::span<const uint32_t> avoid) const {
  return Ranking(servers_, salt_).Best(lane, [&](uint32_t s) {
    return servers_[s].alive && std::find(avoid.begin(), avoid.end(), s) == avoid.end();
  });
}

std::vector<uint32_t> PlaceLanes(uint32_t lanes, const std::vector<PlacementServer>& servers,
                                 uint64_t salt) {
  return LanePlacement(lanes, salt).Place(servers);
}

}  // namespace penstock
