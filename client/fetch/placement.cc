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

std::vector<uint32_t> LaneCaps(uint32_t lanes, const std::vector<PlacementServer>& servers) {
  uint64_t sum = 0;
  for (const PlacementServer& server : servers) sum += std::max(server.share, 1u);
  std::vector<uint32_t> caps;
  for (const PlacementServer& server : servers) {
    const uint64_t share = std::max(server.share, 1u);
    caps.push_back(static_cast<uint32_t>((lanes * share + sum - 1) / sum));
  }
  return caps;
}

}  // namespace

std::vector<uint32_t> PlaceLanes(uint32_t lanes, const std::vector<PlacementServer>& servers,
                                 uint64_t salt) {
  if (servers.empty()) return {};
  // Ties are broken by address, not by place in the list.
  std::vector<uint32_t> order(servers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return servers[a].address < servers[b].address; });
  std::vector<uint64_t> hashes;
  for (const PlacementServer& server : servers) hashes.push_back(HashAddress(server.address, salt));

  std::vector<uint32_t> room = LaneCaps(lanes, servers);
  std::vector<uint32_t> placed(lanes);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    double best = -1;
    for (uint32_t s : order) {
      const double score = Score(hashes[s], lane, std::max(servers[s].share, 1u));
      if (room[s] == 0 || score <= best) continue;
      best = score;
      placed[lane] = s;
    }
    --room[placed[lane]];
  }
  return placed;
}

}  // namespace penstock
