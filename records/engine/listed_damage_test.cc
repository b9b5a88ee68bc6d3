#include "records/engine/listed_damage.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

OpenWindow WindowWith(std::vector<DamagedRecord> damaged) {
  OpenWindow window;
  window.damaged = std::move(damaged);
  return window;
}

TEST(ListedDamageTest, AChunkHasItsOwnRecordsAscendingAndOnce) {
  OpenWindow window = WindowWith({{2, 1}, {1, 9}, {0, 4}, {1, 3}, {1, 9}});
  SortDamage(window);
  EXPECT_THAT(DamageOf(window, 1).records, ElementsAre(3, 9));
  EXPECT_FALSE(DamageOf(window, 1).Contains(4));
  EXPECT_TRUE(DamageOf(window, 3).empty());
}

TEST(ListedDamageTest, WhatFollowsInTheChunkIsNotListedSingly) {
  OpenWindow window = WindowWith({{1, 3}, {1, 12}, {1, 9, true}, {2, 0}});
  SortDamage(window);
  const ListedDamage damage = DamageOf(window, 1);
  EXPECT_THAT(damage.records, ElementsAre(3));
  EXPECT_EQ(damage.rest, 9u);
  EXPECT_FALSE(damage.Contains(8));
  EXPECT_TRUE(damage.Contains(9));
  EXPECT_TRUE(damage.Contains(12));
}

// One server reported only this record, and another reported it and everything after it.
TEST(ListedDamageTest, TheFirstOfTheRestMayBeListedSinglyToo) {
  for (const bool rest_first : {false, true}) {
    OpenWindow window = WindowWith({{1, 9, rest_first}, {1, 9, !rest_first}});
    const ListedDamage damage = DamageOf(window, 1);
    EXPECT_THAT(damage.records, IsEmpty());
    EXPECT_EQ(damage.rest, 9u);
  }
}

TEST(ListedDamageTest, CountsWhatLiesInTheChunk) {
  EXPECT_EQ((ListedDamage{.records = {1, 2}}).Count(10), 2u);
  EXPECT_EQ((ListedDamage{.records = {1}, .rest = 7}).Count(10), 4u);
  EXPECT_EQ((ListedDamage{.records = {1}, .rest = 10}).Count(10), 1u);
}

}  // namespace
}  // namespace penstock
