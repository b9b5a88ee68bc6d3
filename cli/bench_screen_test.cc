#include "cli/bench_screen.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Server I brings 1000 + I rows a second, with 4 cores that decode for half of their time.
std::vector<ServerFigures> Fleet(size_t servers) {
  std::vector<ServerFigures> fleet;
  for (size_t i = 0; i < servers; ++i) {
    fleet.push_back({.address = absl::StrCat("s", i, ":1"),
                     .rows_per_second = 1000.0 + static_cast<double>(i),
                     .bytes_per_second = 1e6,
                     .has_engine = true,
                     .engine = {.decode = 0.5},
                     .cores_used = 2,
                     .cores = 4});
  }
  return fleet;
}

void TakeAway(ServerFigures& server) {
  server.connected = false;
  server.rows_per_second = 0;
  server.problem = "Connection refused";
}

TEST(BenchScreenTest, FewServersHaveALineEachInTheirOrder) {
  std::vector<ServerFigures> fleet = Fleet(12);
  TakeAway(fleet[3]);
  const std::vector<std::string> lines = ServerLines(fleet);
  ASSERT_THAT(lines, SizeIs(12));
  EXPECT_THAT(lines[0], AllOf(StartsWith("server    s0:1"), HasSubstr("1,000/s"), HasSubstr("50 %"),
                              HasSubstr("2.0 of 4")));
  EXPECT_THAT(lines[3], HasSubstr("not connected: Connection refused"));
}

TEST(BenchScreenTest, FiguresStandUnderTheHeading) {
  ServerFigures server = Fleet(1)[0];
  server.engine = {.load = 0.01, .build = 0, .decode = 0.2, .send = 0.3};
  const std::string line = ServerLines({server})[0], heading = ServerHeading();
  const auto end_of = [](const std::string& text, const char* word) {
    return text.find(word) + std::string(word).size();
  };
  EXPECT_EQ(end_of(line, "1 %"), end_of(heading, "load"));
  EXPECT_EQ(end_of(line, "20 %"), end_of(heading, "decode"));
  EXPECT_EQ(end_of(line, "30 %"), end_of(heading, "send"));
  EXPECT_EQ(end_of(line, "49 %"), end_of(heading, "idle"));
  EXPECT_EQ(line.find("2.0 of 4"), heading.find("cores used"));
}

TEST(BenchScreenTest, ManyServersFitAScreen) {
  std::vector<ServerFigures> fleet = Fleet(64);
  TakeAway(fleet[40]);
  fleet[50].rows_per_second = 7;
  const std::vector<std::string> lines = ServerLines(fleet);
  ASSERT_THAT(lines, SizeIs(kMaxServerLines));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("s40:1"), HasSubstr("not connected")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("s50:1"), HasSubstr(" 7/s")));
  EXPECT_THAT(lines[2], HasSubstr("s0:1"));
  // The sum of 1009 to 1063 without 1040 and 1050.
  EXPECT_THAT(lines[11], AllOf(HasSubstr("53 others together"), HasSubstr("54,890/s"),
                               HasSubstr("50 %"), HasSubstr("106.0 of 212")));
}

TEST(BenchScreenTest, AShareOfACoreIsShown) {
  std::vector<ServerFigures> fleet = Fleet(1);
  fleet[0].cores = 2.5;
  EXPECT_THAT(ServerLines(fleet)[0], HasSubstr("2.0 of 2.5"));
}

TEST(BenchScreenTest, ServersThatTellNoCoresWeighNothing) {
  std::vector<ServerFigures> fleet = Fleet(64);
  for (ServerFigures& server : fleet) server.rows_per_second = 1000;
  fleet[11].cores = 0;  // The first of the sum.
  fleet[11].engine.decode = 1;
  EXPECT_THAT(ServerLines(fleet).back(),
              AllOf(HasSubstr("53 others together"), HasSubstr("53,000/s"), HasSubstr(" 50 %"),
                    HasSubstr("104.0 of 208")));
}

TEST(BenchScreenTest, AFleetThatIsMostlyAwayLeavesRoomForTheRest) {
  std::vector<ServerFigures> fleet = Fleet(64);
  for (size_t i = 0; i < 60; ++i) TakeAway(fleet[i]);
  const std::vector<std::string> lines = ServerLines(fleet);
  ASSERT_THAT(lines, SizeIs(9));
  EXPECT_THAT(lines[4], AllOf(HasSubstr("56 more"), HasSubstr("not connected")));
  EXPECT_THAT(lines[8], HasSubstr("s63:1"));
}

}  // namespace
}  // namespace penstock
