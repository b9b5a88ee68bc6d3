#include "client/fetch/placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

std::vector<PlacementServer> Fleet(uint32_t n, uint32_t share = 2) {
  std::vector<PlacementServer> servers;
  for (uint32_t i = 0; i < n; ++i) servers.push_back({absl::StrCat("10.0.0.", i, ":7070"), share});
  return servers;
}

std::vector<uint32_t> LanesOfEach(const std::vector<uint32_t>& placed, size_t servers) {
  std::vector<uint32_t> count(servers);
  for (uint32_t server : placed) ++count[server];
  return count;
}

TEST(PlacementTest, BalancesEqualServers) {
  for (uint32_t n = 1; n <= 16; ++n) {
    for (uint32_t count : LanesOfEach(PlaceLanes(64, Fleet(n), 5), n)) {
      EXPECT_LE(count, (64 + n - 1) / n);
    }
  }
}

TEST(PlacementTest, KeepsToShares) {
  std::vector<PlacementServer> servers = Fleet(3);
  servers[0].share = 8;
  std::vector<uint32_t> count = LanesOfEach(PlaceLanes(120, servers, 1), 3);
  EXPECT_LE(count[0], 80u);
  EXPECT_LE(count[1], 20u);
  EXPECT_LE(count[2], 20u);
}

TEST(PlacementTest, DoesNotDependOnTheOrderOfTheList) {
  std::vector<PlacementServer> servers = Fleet(7), reversed(servers.rbegin(), servers.rend());
  std::vector<uint32_t> a = PlaceLanes(64, servers, 3), b = PlaceLanes(64, reversed, 3);
  for (size_t lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(servers[a[lane]].address, reversed[b[lane]].address);
  }
}

TEST(PlacementTest, MostLanesStayWhenAServerLeaves) {
  std::vector<PlacementServer> before = Fleet(8), after = Fleet(7);
  std::vector<uint32_t> a = PlaceLanes(512, before, 3), b = PlaceLanes(512, after, 3);
  size_t moved = 0;
  for (size_t lane = 0; lane < 512; ++lane) moved += a[lane] != 7 && a[lane] != b[lane];
  EXPECT_LT(moved, 512u / 4);
}

TEST(PlacementTest, SaltsGiveOtherPlacements) {
  EXPECT_NE(PlaceLanes(64, Fleet(4), 1), PlaceLanes(64, Fleet(4), 2));
}

TEST(PlacementTest, NoServersNoPlacement) { EXPECT_TRUE(PlaceLanes(64, {}, 1).empty()); }

}  // namespace
}  // namespace penstock
