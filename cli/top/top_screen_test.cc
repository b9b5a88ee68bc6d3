#include "cli/top/top_screen.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::ElementsAreArray;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kRefused[] = "Connection refused";

// Servers a10:1, a11:1, ...
std::vector<ServerLoad> Fleet(size_t servers) {
  std::vector<ServerLoad> fleet;
  for (size_t i = 0; i < servers; ++i) {
    fleet.push_back({.address = absl::StrCat("a", 10 + i, ":1"), .status = absl::OkStatus()});
  }
  return fleet;
}

void TakeDown(ServerLoad& server, absl::string_view cause = kRefused) {
  server.status = absl::UnavailableError(cause);
}

std::vector<std::string> Screen(const std::vector<ServerLoad>& fleet, TerminalSize size = {},
                                const absl::Status& missing = absl::OkStatus()) {
  return TopScreen(MakeTopTable(fleet, /*clients=*/true), missing, size);
}

TEST(TopScreenTest, WhatFitsIsShownInItsOrder) {
  std::vector<ServerLoad> fleet = Fleet(20);
  TakeDown(fleet[7]);  // This makes 1 + 20 + 1 + 1 lines, and the cursor's.
  EXPECT_THAT(Screen(fleet), ElementsAreArray(TopLines(MakeTopTable(fleet, true), {})));
}

TEST(TopScreenTest, OfALargeFleetThoseThatAreDownAreShownFirst) {
  std::vector<ServerLoad> fleet = Fleet(60);
  TakeDown(fleet[40]);
  TakeDown(fleet[50]);
  const std::vector<std::string> lines = Screen(fleet);
  ASSERT_THAT(lines, SizeIs(23));
  EXPECT_THAT(lines[0], StartsWith("SERVER "));
  EXPECT_THAT(lines[1], StartsWith("a50:1 "));
  EXPECT_THAT(lines[2], HasSubstr(kRefused));
  EXPECT_THAT(lines[3], StartsWith("a60:1 "));
  EXPECT_THAT(lines[5], StartsWith("a10:1 "));
  EXPECT_EQ(lines[21], "42 more");
  EXPECT_THAT(lines[22], StartsWith("60 servers            58 up"));
}

TEST(TopScreenTest, TellsOfThoseThatAreDownAndNotShown) {
  std::vector<ServerLoad> fleet = Fleet(60);
  for (ServerLoad& server : fleet) TakeDown(server);
  EXPECT_EQ(Screen(fleet)[21], "50 more, 50 of them down");
}

TEST(TopScreenTest, ServersComeBeforeTheClientsOfOthers) {
  std::vector<ServerLoad> fleet = Fleet(10);
  for (ServerLoad& server : fleet) server.clients.resize(8);
  const std::vector<std::string> lines = Screen(fleet);
  ASSERT_THAT(lines, SizeIs(23));
  EXPECT_EQ(lines[21], "70 more clients");
  EXPECT_THAT(absl::StrJoin(lines, "\n"), HasSubstr("\na19:1 "));
  EXPECT_EQ(Screen(fleet, {.rows = 10, .columns = 80})[7], "4 more; 80 more clients");
}

TEST(TopScreenTest, CausesTakeThreeLinesAtMost) {
  std::vector<ServerLoad> fleet = Fleet(1);
  TakeDown(fleet[0], absl::StrCat(std::string(70, 'x'), " ", std::string(70, 'y'), " cure"));
  std::vector<std::string> lines = Screen(fleet);
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[2], "  " + std::string(70, 'x'));
  EXPECT_EQ(lines[3], "  " + std::string(70, 'y') + " cure");
  TakeDown(fleet[0], std::string(1000, 'x'));
  lines = Screen(fleet, {}, absl::NotFoundError(std::string(1000, 'y')));
  ASSERT_THAT(lines, SizeIs(2 + 3 + 3));
  EXPECT_THAT(lines[4], EndsWith("x.."));
}

TEST(TopScreenTest, NothingIsTooWideOrTooMuchForAnyTerminal) {
  std::vector<ServerLoad> fleet = Fleet(30);
  fleet[3].clients.resize(30);
  TakeDown(fleet[5], std::string(1000, 'x'));
  for (size_t rows = 1; rows < 90; ++rows) {
    for (size_t columns : {1, 2, 3, 40, 80, 200}) {
      const std::vector<std::string> lines =
          Screen(fleet, {rows, columns}, absl::NotFoundError(std::string(1000, 'y')));
      EXPECT_LE(lines.size(), std::max<size_t>(rows, 2) - 1);
      for (const std::string& line : lines) EXPECT_LE(line.size(), columns);
    }
  }
}

}  // namespace
}  // namespace penstock
