#include "cli/stream/bench_screen.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Server I sends 1000 + I rows a second. It has 4 cores, which decode for half of the time.
std::vector<ServerFigures> BusyServers(size_t servers) {
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
  std::vector<ServerFigures> fleet = BusyServers(12);
  TakeAway(fleet[3]);
  const std::vector<std::string> lines = ServerLines(fleet);
  ASSERT_THAT(lines, SizeIs(12));
  EXPECT_THAT(lines[0], AllOf(StartsWith("server    s0:1"), HasSubstr("1.00k/s"), HasSubstr("50%"),
                              HasSubstr("2.0/4")));
  EXPECT_THAT(lines[3], HasSubstr("not connected: Connection refused"));
}

TEST(BenchScreenTest, FiguresStandUnderTheHeading) {
  ServerFigures server = BusyServers(1)[0];
  server.engine = {.load = 0.01, .build = 0, .decode = 0.2, .send = 0.3};
  const std::string line = ServerLines({server})[0], heading = ServerHeading();
  const auto end_of = [](const std::string& text, const char* word) {
    return text.find(word) + std::string(word).size();
  };
  EXPECT_EQ(end_of(line, " 1%"), end_of(heading, "load"));
  EXPECT_EQ(end_of(line, "20%"), end_of(heading, "decode"));
  EXPECT_EQ(end_of(line, "30%"), end_of(heading, "send"));
  EXPECT_EQ(end_of(line, "49%"), end_of(heading, "idle"));
  EXPECT_EQ(line.find("2.0/4"), heading.find("cores used"));
}

TEST(BenchScreenTest, ManyServersFitAScreen) {
  std::vector<ServerFigures> fleet = BusyServers(64);
  TakeAway(fleet[40]);
  fleet[50].rows_per_second = 7;
  const std::vector<std::string> lines = ServerLines(fleet);
  ASSERT_THAT(lines, SizeIs(kMaxServerLines));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("s40:1"), HasSubstr("not connected")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("s50:1"), HasSubstr(" 7/s")));
  EXPECT_THAT(lines[2], HasSubstr("s0:1"));
  // The sum of the rates 1009 to 1063, without 1040 and 1050.
  EXPECT_THAT(lines[11], AllOf(HasSubstr("53 others together"), HasSubstr("54.9k/s"),
                               HasSubstr("50%"), HasSubstr("106/212")));
}

TEST(BenchScreenTest, AShareOfACoreIsShown) {
  std::vector<ServerFigures> fleet = BusyServers(1);
  fleet[0].cores = 2.5;
  EXPECT_THAT(ServerLines(fleet)[0], HasSubstr("2.0/2.5"));
}

TEST(BenchScreenTest, ServersThatTellNoCoresWeighNothing) {
  std::vector<ServerFigures> fleet = BusyServers(64);
  for (ServerFigures& server : fleet) server.rows_per_second = 1000;
  fleet[11].cores = 0;  // The first of the 53 servers in the sum.
  fleet[11].engine.decode = 1;
  EXPECT_THAT(ServerLines(fleet).back(),
              AllOf(HasSubstr("53 others together"), HasSubstr("53.0k/s"), HasSubstr(" 50%"),
                    HasSubstr("104/208")));
}

TEST(BenchScreenTest, AFleetThatIsMostlyAwayLeavesRoomForTheRest) {
  std::vector<ServerFigures> fleet = BusyServers(64);
  for (size_t i = 0; i < 60; ++i) TakeAway(fleet[i]);
  const std::vector<std::string> lines = ServerLines(fleet);
  ASSERT_THAT(lines, SizeIs(9));
  EXPECT_THAT(lines[4], AllOf(HasSubstr("56 more"), HasSubstr("not connected")));
  EXPECT_THAT(lines[8], HasSubstr("s63:1"));
}

TEST(BenchScreenTest, WhyOneIsNotConnectedTakesThreeLinesAtMost) {
  std::vector<ServerFigures> fleet = BusyServers(12);
  TakeAway(fleet[3]);
  fleet[3].problem = std::string(30, 'x') + " " + std::string(60, 'y') + " cure";
  std::vector<std::string> lines = ServerLines(fleet, 14);
  ASSERT_THAT(lines, SizeIs(13));
  EXPECT_EQ(lines[4], std::string(10, ' ') + std::string(60, 'y') + " cure");
  TakeAway(fleet[4]);
  fleet[4].problem = std::string(1000, 'x');
  lines = ServerLines(fleet);
  ASSERT_THAT(lines, SizeIs(kMaxServerLines));
  EXPECT_THAT(lines[2], HasSubstr("s4:1"));
  EXPECT_THAT(lines[4], EndsWith("xx.."));
}

// Returns figures that are as wide as possible.
BenchFigures Huge(size_t servers) {
  BenchFigures figures{.setup = {.path = Path::kSharedMemory},
                       .seconds = 86'400,
                       .rows_per_second = 1e12,
                       .bytes_per_second = 1023.94 * (1ull << 30),
                       .wait_share = 1,
                       .copy_share = 1,
                       .deciding_share = 1,
                       .cores_used = 1023.9,
                       .cores = 1024,
                       .cpu = {.of_group = true, .cores = 1023.9, .busy_cores = 1023.9},
                       .link_bytes_per_second = 1023.94 * (1ull << 30),
                       .servers = BusyServers(servers)};
  for (ServerFigures& server : figures.servers) {
    server.address += ".preprocessing.default.svc.cluster.local:7070";
    server.rows_per_second = server.bytes_per_second = 1e12;
    server.engine = {.load = 1, .build = 0, .decode = 1, .send = 1};
    server.cores_used = server.cores = 1023;
  }
  return figures;
}

TEST(BenchScreenTest, FitsATerminalOf24LinesAnd80Columns) {
  const BenchVerdict verdict = {Limit::kServers, std::string(273, 'x')};
  for (size_t servers : {0, 1, 4, 12, 64}) {
    for (double link : {1.0, 0.5}) {
      BenchFigures figures = Huge(servers);
      figures.link_bytes_per_second *= link;
      if (servers > 1) TakeAway(figures.servers[1]);
      const std::vector<std::string> lines = BenchLines(figures, verdict);
      EXPECT_LT(lines.size(), 24u);
      for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
      const bool has_servers = servers > 0;
      EXPECT_EQ(std::ranges::count(lines, ServerHeading()), has_servers);
    }
  }
}

TEST(BenchScreenTest, ALongVerdictLeavesFewerLinesToServers) {
  const BenchVerdict verdict = {Limit::kServers, std::string(8 * 80, 'x')};
  EXPECT_THAT(BenchLines(Huge(64), verdict), SizeIs(23));
}

TEST(BenchScreenTest, TheVerdictIsPartedAtWords) {
  BenchVerdict verdict;
  for (int i = 0; i < 40; ++i) absl::StrAppend(&verdict.text, i == 0 ? "" : " ", "verdict");
  const std::vector<std::string> lines = BenchLines(Huge(0), verdict);
  EXPECT_THAT(lines.back(), EndsWith(" verdict"));
  EXPECT_THAT(lines[lines.size() - 2], AllOf(StartsWith("verdict "), SizeIs(79)));
}

}  // namespace
}  // namespace penstock
