#include "client/fetch/placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
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

// Computed in Python from the definition. Jobs of different versions share what servers have in
// memory only if they place lanes alike.
TEST(PlacementTest, IsTheSameInEveryVersion) {
  EXPECT_THAT(PlaceLanes(16, Fleet(3), 5),
              testing::ElementsAre(2, 0, 2, 0, 0, 1, 2, 0, 2, 1, 1, 2, 0, 0, 1, 1));
  std::vector<PlacementServer> servers = Fleet(3);
  servers[0].share = 8;
  EXPECT_THAT(PlaceLanes(16, servers, 5),
              testing::ElementsAre(0, 0, 2, 0, 0, 1, 0, 0, 2, 1, 1, 0, 0, 0, 0, 0));
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

TEST(PlacementTest, OnlyTheLanesOfLostServersMove) {
  CounterRng rng(1);
  for (int i = 0; i < 500; ++i) {
    const auto lanes = static_cast<uint32_t>(1 + rng.Below(300));
    std::vector<PlacementServer> servers = Fleet(static_cast<uint32_t>(2 + rng.Below(12)));
    for (PlacementServer& server : servers) server.share = static_cast<uint32_t>(rng.Below(9));
    const std::vector<uint32_t> before = PlaceLanes(lanes, servers, i);
    for (size_t lost = 1 + rng.Below(servers.size() - 1); lost > 0; --lost) {
      servers[rng.Below(servers.size() - 1)].alive = false;  // The last server stays alive.
    }
    const std::vector<uint32_t> after = PlaceLanes(lanes, servers, i);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      ASSERT_TRUE(servers[after[lane]].alive);
      if (servers[before[lane]].alive) {
        ASSERT_EQ(after[lane], before[lane]);
      }
    }
  }
}

TEST(PlacementTest, OrphansKeepToTheCapsOfThoseThatAreLeft) {
  for (uint32_t n = 2; n <= 16; ++n) {
    std::vector<PlacementServer> servers = Fleet(n);
    servers[n / 2].alive = false;
    const std::vector<uint32_t> count = LanesOfEach(PlaceLanes(64, servers, 9), n);
    EXPECT_EQ(count[n / 2], 0u);
    for (uint32_t lanes : count) EXPECT_LE(lanes, (64 + n - 2) / (n - 1));
  }
}

TEST(PlacementTest, SaltsGiveOtherPlacements) {
  EXPECT_NE(PlaceLanes(64, Fleet(4), 1), PlaceLanes(64, Fleet(4), 2));
}

TEST(PlacementTest, NoServersNoPlacement) {
  EXPECT_TRUE(PlaceLanes(64, {}, 1).empty());
  EXPECT_TRUE(PlaceLanes(64, {{"10.0.0.1:7070", 2, /*alive=*/false}}, 1).empty());
}

}  // namespace
}  // namespace penstock
