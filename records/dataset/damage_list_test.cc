#include "records/dataset/damage_list.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace penstock {
namespace {

DamagedRange Range(uint64_t offset, const std::string& reason, bool all_counted = true) {
  DamagedRange range;
  range.offset = offset;
  range.bytes = 10;
  range.records = 1;
  range.all_counted = all_counted;
  range.reason = reason;
  return range;
}

TEST(DamageListTest, WhatGoesOnForTheSameReasonIsOneRange) {
  DamageList list(9);
  for (const uint64_t offset : {0, 10, 20}) list.Add(Range(offset, "crc"));
  list.Add(Range(30, "length"));
  list.Add(Range(50, "length"));
  EXPECT_EQ(list.loss().places, 3u);
  EXPECT_EQ(list.loss().records, 5u);
  ASSERT_EQ(list.listed().size(), 3u);
  EXPECT_EQ(list.listed()[0].bytes, 30u);
  EXPECT_EQ(list.listed()[0].records, 3u);
}

TEST(DamageListTest, ARangeThatIsNotListedAddsToNone) {
  DamageList list(1);
  list.Add(Range(0, "crc"));
  list.Add(Range(40, "crc"));
  list.Add(Range(50, "crc"));
  ASSERT_EQ(list.listed().size(), 1u);
  EXPECT_EQ(list.listed()[0].bytes, 10u);
  EXPECT_EQ(list.loss().places, 2u);
  EXPECT_EQ(list.loss().bytes, 30u);
}

TEST(DamageListTest, ARangeIsCountedIfAllOfItIs) {
  for (const bool first : {false, true}) {
    DamageList list(1);
    list.Add(Range(0, "crc", first));
    list.Add(Range(10, "crc", !first));
    EXPECT_FALSE(list.listed()[0].all_counted);
    EXPECT_FALSE(list.loss().all_counted);
  }
}

TEST(DamageListTest, RangesOfOtherFilesAreListedWhileThereIsRoom) {
  DamageList list(3);
  list.Add(Range(0, "crc"));
  for (int file = 0; file < 2; ++file) {
    DamageList other(3);
    for (const uint64_t offset : {0, 40}) other.Add(Range(offset, "crc"));
    list.Append(std::move(other));
  }
  EXPECT_EQ(list.listed().size(), 3u);
  EXPECT_EQ(list.loss().places, 5u);
  list.Forget();
  EXPECT_TRUE(list.listed().empty());
  EXPECT_EQ(list.loss().places, 5u);
}

}  // namespace
}  // namespace penstock
