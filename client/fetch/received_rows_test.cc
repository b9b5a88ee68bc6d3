#include "client/fetch/received_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Runs = std::vector<std::pair<uint32_t, uint32_t>>;

Runs Gaps(const ReceivedRows& received, uint32_t first, uint32_t rows) {
  Runs gaps;
  received.ForEachGap(first, rows, [&](uint32_t at, uint32_t n) { gaps.emplace_back(at, n); });
  return gaps;
}

TEST(ReceivedRowsTest, WithoutRowsAllIsAGap) {
  const ReceivedRows received;
  EXPECT_FALSE(received.Contains(0, 1));
  EXPECT_FALSE(received.Overlaps(0, 100));
  EXPECT_THAT(Gaps(received, 3, 7), ElementsAre(std::pair(3, 7)));
}

TEST(ReceivedRowsTest, PartsThatTouchAreOne) {
  ReceivedRows received;
  received.Add(10, 5);
  received.Add(20, 5);
  EXPECT_FALSE(received.Contains(10, 15));
  EXPECT_THAT(Gaps(received, 0, 30),
              ElementsAre(std::pair(0, 10), std::pair(15, 5), std::pair(25, 5)));
  received.Add(15, 5);
  EXPECT_TRUE(received.Contains(10, 15));
  EXPECT_THAT(Gaps(received, 12, 10), IsEmpty());
}

TEST(ReceivedRowsTest, ItsEdgesAreExact) {
  ReceivedRows received;
  received.Add(10, 5);
  EXPECT_FALSE(received.Overlaps(5, 5));
  EXPECT_TRUE(received.Overlaps(5, 6));
  EXPECT_TRUE(received.Overlaps(14, 1));
  EXPECT_FALSE(received.Overlaps(15, 1));
  EXPECT_FALSE(received.Contains(14, 2));
  EXPECT_THAT(Gaps(received, 14, 3), ElementsAre(std::pair(15, 2)));
}

TEST(ReceivedRowsTest, IsASetOfRowsInWhateverOrderTheyCome) {
  constexpr uint32_t kRows = 40;
  CounterRng rng(7);
  for (int round = 0; round < 200; ++round) {
    ReceivedRows received;
    std::vector<bool> there(kRows);
    for (int i = 0; i < 30; ++i) {
      const auto first = static_cast<uint32_t>(rng.Below(kRows));
      const auto rows = 1 + static_cast<uint32_t>(rng.Below(std::min(kRows - first, 6u)));
      const auto begin = there.begin() + first;
      const auto num_there = static_cast<uint32_t>(std::count(begin, begin + rows, true));
      EXPECT_EQ(received.Overlaps(first, rows), num_there > 0);
      EXPECT_EQ(received.Contains(first, rows), num_there == rows);
      uint32_t missing = 0;
      for (const auto& [at, n] : Gaps(received, first, rows)) {
        EXPECT_EQ(std::count(there.begin() + at, there.begin() + at + n, true), 0);
        missing += n;
      }
      EXPECT_EQ(missing, rows - num_there);
      if (num_there > 0) continue;
      received.Add(first, rows);
      std::fill(begin, begin + rows, true);
    }
  }
}

}  // namespace
}  // namespace penstock
