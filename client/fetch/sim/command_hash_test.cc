#include "client/fetch/sim/command_hash.h"

#include "gtest/gtest.h"

namespace penstock::sim {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Seconds(1);

uint64_t HashOf(const FetchRequest& fetch) {
  CommandHash hash;
  hash.Command(kNow, "asks", StreamId{1, 2}, fetch);
  return hash.value();
}

TEST(CommandHashTest, IsTheSameEverywhere) {
  CommandHash hash;
  EXPECT_EQ(hash.value(), 0u);
  hash.Command(kNow, "closes", StreamId{1, 2}, uint64_t{0});
  EXPECT_EQ(hash.value(), 0x6e211c3db2bb956dull);
}

TEST(CommandHashTest, TellsEveryArgumentApart) {
  const uint64_t same = HashOf({1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(HashOf({1, 2, 3, 4, 5, 6, 7}), same);
  EXPECT_NE(HashOf({9, 2, 3, 4, 5, 6, 7}), same);
  EXPECT_NE(HashOf({1, 9, 3, 4, 5, 6, 7}), same);
  EXPECT_NE(HashOf({1, 2, 9, 4, 5, 6, 7}), same);
  EXPECT_NE(HashOf({1, 2, 3, 9, 5, 6, 7}), same);
  EXPECT_NE(HashOf({1, 2, 3, 4, 9, 6, 7}), same);
  EXPECT_NE(HashOf({1, 2, 3, 4, 5, 9, 7}), same);
  EXPECT_NE(HashOf({1, 2, 3, 4, 5, 6, 9}), same);
}

TEST(CommandHashTest, TellsTimesAndOrdersApart) {
  CommandHash a, b, later;
  a.Command(kNow, "closes", StreamId{1, 1}, uint64_t{0});
  later.Command(kNow + absl::Nanoseconds(1), "closes", StreamId{1, 1}, uint64_t{0});
  EXPECT_NE(a.value(), later.value());
  b.Command(kNow, "closes", StreamId{2, 1}, uint64_t{0});
  b.Command(kNow, "closes", StreamId{1, 1}, uint64_t{0});
  a.Command(kNow, "closes", StreamId{2, 1}, uint64_t{0});
  EXPECT_NE(a.value(), b.value());
}

TEST(CommandHashTest, TellsTextsApart) {
  CommandHash a, b;
  a.Command(kNow, "reports", absl::string_view("ab"), absl::string_view("c"));
  b.Command(kNow, "reports", absl::string_view("a"), absl::string_view("bc"));
  EXPECT_NE(a.value(), b.value());
}

}  // namespace
}  // namespace penstock::sim
