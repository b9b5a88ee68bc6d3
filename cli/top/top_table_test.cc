#include "cli/top/top_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;
using ::testing::SizeIs;
using ::testing::StartsWith;

v1::ServerStats StatsAt(double seconds, uint64_t rows) {
  v1::ServerStats stats;
  stats.set_instance(1);
  stats.set_uptime_seconds(seconds);
  stats.set_cpu_seconds(seconds * 1.5);
  stats.mutable_totals()->set_rows(rows);
  stats.mutable_totals()->set_bytes(rows * 1000);
  v1::EngineStats& engine = *stats.mutable_engine();
  engine.set_chunk_hits(rows / 10);
  engine.set_chunks_loaded(rows / 30);
  engine.set_decode_seconds(seconds);
  engine.set_send_seconds(seconds / 2);
  engine.set_capacity_seconds(seconds * 2);
  engine.set_resident_bytes(512'000'000);
  engine.set_budget_bytes(6'300'000'000);
  return stats;
}

std::vector<std::string> Lines(const std::vector<ServerLoad>& servers, bool clients) {
  return TopLines(MakeTopTable(servers, clients), absl::OkStatus());
}

const absl::StatusOr<v1::ServerStats> kNone = absl::NotFoundError("first look");

TEST(TopTableTest, RatesAreOfTheTimeBetweenTwoAnswers) {
  const ServerLoad load = LoadBetween("a:1", StatsAt(10, 3000), StatsAt(12, 9000));
  EXPECT_DOUBLE_EQ(load.rows_per_second, 3000);
  EXPECT_DOUBLE_EQ(load.bytes_per_second, 3e6);
  EXPECT_THAT(load.hit_share, Optional(DoubleEq(0.75)));
  EXPECT_DOUBLE_EQ(load.busy_share, 0.75);
  EXPECT_DOUBLE_EQ(load.cores_used, 1.5);
  EXPECT_EQ(load.state(), "up");
}

TEST(TopTableTest, AServerWhoseCoresServeTheNetworkIsBusy) {
  const auto of_cores = [](double cores, double seconds) {
    // The server uses 1.5 cores. Its threads work for 75 % of the time.
    v1::ServerStats stats = StatsAt(seconds, 0);
    stats.set_cores(cores);
    return stats;
  };
  EXPECT_DOUBLE_EQ(LoadBetween("a:1", of_cores(1.5, 10), of_cores(1.5, 12)).busy_share, 1);
  EXPECT_DOUBLE_EQ(LoadBetween("a:1", of_cores(4, 10), of_cores(4, 12)).busy_share, 0.75);
}

TEST(TopTableTest, AFirstAnswerAndARestartedServerCountFromItsStart) {
  EXPECT_DOUBLE_EQ(LoadBetween("a:1", kNone, StatsAt(10, 3000)).rows_per_second, 300);
  v1::ServerStats before = StatsAt(5, 1'000'000);
  before.set_instance(2);
  EXPECT_DOUBLE_EQ(LoadBetween("a:1", before, StatsAt(10, 3000)).rows_per_second, 300);
  EXPECT_DOUBLE_EQ(LoadBetween("a:1", StatsAt(10, 3000), StatsAt(10, 3000)).rows_per_second, 300);
}

TEST(TopTableTest, DamagedImagesAreCountedFromTheServersStart) {
  v1::ServerStats now = StatsAt(12, 0);
  now.mutable_engine()->set_truncated_images(3);
  now.mutable_engine()->set_image_warnings(5);
  const ServerLoad load = LoadBetween("a:1", StatsAt(10, 0), now);
  EXPECT_EQ(load.truncated_images, 3u);
  EXPECT_EQ(load.image_warnings, 5u);
}

TEST(TopTableTest, WhereNoChunkWasNeededNoShareOfThemWasInMemory) {
  const auto idle = [](double seconds) {
    v1::ServerStats stats = StatsAt(seconds, 0);
    stats.mutable_engine()->set_chunk_hits(30);
    stats.mutable_engine()->set_chunks_loaded(10);
    return stats;
  };
  const ServerLoad load = LoadBetween("a:1", idle(10), idle(12));
  EXPECT_EQ(load.hit_share, std::nullopt);
  EXPECT_THAT(Lines({load}, false)[1], HasSubstr("   -  75%"));
}

TEST(TopTableTest, AClientIsComparedWithItself) {
  const auto with_stream = [](v1::ServerStats stats, uint64_t rows, double connected, double wait) {
    v1::StreamStats& stream = *stats.add_stream();
    stream.set_client("rank 3\n");
    stream.set_peer("ipv4:10.0.0.9:5555");
    stream.set_rows(rows);
    stream.set_connected_seconds(connected);
    stream.set_write_wait_seconds(wait);
    return stats;
  };
  const ServerLoad load = LoadBetween("a:1", with_stream(StatsAt(10, 0), 100, 4, 1),
                                      with_stream(StatsAt(12, 0), 500, 6, 2.5));
  ASSERT_THAT(load.clients, SizeIs(1));
  EXPECT_EQ(load.clients[0].client, "rank 3?");
  EXPECT_DOUBLE_EQ(load.clients[0].rows_per_second, 200);
  EXPECT_DOUBLE_EQ(load.clients[0].slow_share, 0.75);
  EXPECT_THAT(Lines({load}, true)[2], HasSubstr("waiting, slow 75%"));
}

TEST(TopTableTest, ShowsWhatDataAServerLacks) {
  v1::ServerStats now = StatsAt(12, 0);
  now.set_missing_data("m.pb: lacks 1 of 2 shards, first a\n");
  const ServerLoad load = LoadBetween("a:1", kNone, now);
  EXPECT_EQ(load.state(), "no data");
  EXPECT_THAT(Lines({load}, false)[1], StartsWith("a:1                   no data "));
  EXPECT_EQ(Lines({load}, false)[2], "  m.pb: lacks 1 of 2 shards, first a?");
  now.set_draining(true);
  EXPECT_EQ(LoadBetween("a:1", kNone, now).state(), "draining");
}

TEST(TopTableTest, RowsFitInEightyColumnsWhateverTheNumbers) {
  ServerLoad huge = {.address = "preprocessing-server-17.penstock.default.svc.cluster.local:7070",
                     .status = absl::OkStatus(),
                     .draining = true,
                     .rows_per_second = 123'456'789'012,
                     .bytes_per_second = 9.99e14,
                     .waiting_requests = 4'000'000,
                     .waiting_bytes = 999'999'999'999,
                     .hit_share = 1,
                     .busy_share = 1,
                     .cores_used = 1234.56,
                     .memory_bytes = 999'949'999'999,
                     .memory_budget_bytes = 999'999'999'999};
  huge.clients.assign(10'400, {.client = std::string(256, 'c'),
                               .peer = "",
                               .rows_per_second = 1e14,
                               .bytes_per_second = 1e14,
                               .waiting_requests = 4096,
                               .waiting_bytes = 1'000'000'000'000,
                               .slow_share = 1});
  const ServerLoad down = {.address = "10.0.0.2:7070", .status = absl::UnavailableError("refused")};
  const std::vector<std::string> lines = Lines({huge, down}, true);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(lines[1], AllOf(StartsWith("preproces..er-17:7070 draining"),
                              EndsWith(" 1235 931Gi/931Gi  10k")));  // No number loses a digit.
  EXPECT_THAT(lines[2], EndsWith(" 4096 waiting, slow 100%"));
  EXPECT_THAT(lines.back(), AllOf(StartsWith("2 servers"), HasSubstr("1 up")));
}

TEST(TopTableTest, RowsOfOneDomainAreToldApart) {
  std::vector<ServerLoad> servers(2);
  servers[0].address = "node1.cluster.example.org:7070";
  servers[1].address = "node2.cluster.example.org:7070";
  const std::vector<std::string> lines = Lines(servers, false);
  EXPECT_THAT(lines[1], StartsWith("node1:7070 "));
  EXPECT_THAT(lines[2], StartsWith("node2:7070 "));
}

TEST(TopTableTest, ColumnsStandUnderTheirHeadings) {
  const std::vector<std::string> lines =
      Lines({LoadBetween("127.0.0.1:7070", StatsAt(10, 3000), StatsAt(12, 9000))}, false);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0],
            "SERVER                STATE    ROW/S   B/S QUEUE  HIT BUSY  CPU      MEMORY  CLI");
  EXPECT_EQ(lines[1],
            "127.0.0.1:7070        up       3.00k 2.9Mi     0  75%  75%  1.5 488Mi/5.9Gi    0");
}

TEST(TopTableTest, AServerThatDoesNotAnswerSaysWhyAndHasNoNumbers) {
  const ServerLoad load =
      LoadBetween("a:1", kNone, absl::UnavailableError("a:1: Connection refused\x1b[2J"));
  const std::vector<std::string> lines = Lines({load}, true);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("down"), Not(HasSubstr("0"))));
  EXPECT_EQ(lines[2], "  Connection refused?[2J");
}

// The advice is at the end of the cause.
TEST(TopTableTest, CausesAreWhole) {
  const std::string cause(300, 'x');
  const TopTable table =
      MakeTopTable({{.address = "a:1", .status = absl::UnavailableError(cause)}}, false);
  const std::vector<std::string> lines = TopLines(table, absl::NotFoundError("file:" + cause));
  EXPECT_EQ(lines[2], "  " + cause);
  EXPECT_EQ(lines[3], "servers may be missing: file:" + cause);
}

}  // namespace
}  // namespace penstock
