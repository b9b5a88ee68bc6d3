#include "cli/stream/fleet_size.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// 600,000 rows a second of 1,000 bytes, at 40 CPU seconds per million: 24 cores, 40 at 60 %.
const FleetNeed kNeed = {.rows_per_second = 600e3,
                         .row_bytes = 1000,
                         .server_cpu_s = 40,
                         .record_bytes = 100,
                         .records = 6e6,
                         .cores = 32,
                         .ranks = 8};

TEST(FleetSizeTest, HasOneServerMoreThanTheRateNeeds) {
  const FleetSize size = SizeFleet(kNeed);
  EXPECT_DOUBLE_EQ(size.cores, 40);
  EXPECT_EQ(size.servers, 3u);
  FleetNeed exact = kNeed;
  exact.cores = 40;
  EXPECT_EQ(SizeFleet(exact).servers, 2u);
  exact.cores = 39;
  EXPECT_EQ(SizeFleet(exact).servers, 3u);
  exact.rows_per_second = 1;
  EXPECT_EQ(SizeFleet(exact).servers, 2u);
}

TEST(FleetSizeTest, HasAsManyServersAsTheNetworkNeeds) {
  FleetNeed need = kNeed;
  need.cores = 40;
  need.network_gbit = 2.4;  // 4.8 Gbit/s are needed.
  EXPECT_EQ(SizeFleet(need).servers, 3u);
  EXPECT_DOUBLE_EQ(SizeFleet(need).network_of_server, 300e6);
  need.network_gbit = 2.3;
  EXPECT_EQ(SizeFleet(need).servers, 4u);
}

TEST(FleetSizeTest, TlsTakesCoresForEachByte) {
  FleetNeed need = kNeed;
  need.tls = true;
  EXPECT_NEAR(SizeFleet(need).cores, 40 + 0.6 * 0.75 / 0.6, 1e-9);
}

TEST(FleetSizeTest, BytesAreThoseOfRowsOnTheNetworkAndOfRecordsOnStorage) {
  const FleetSize size = SizeFleet(kNeed);
  EXPECT_DOUBLE_EQ(size.network, 600e6);
  EXPECT_DOUBLE_EQ(size.network_of_server, 300e6);
  EXPECT_DOUBLE_EQ(size.network_of_rank, 75e6);
  EXPECT_DOUBLE_EQ(size.round_trip_s, (32 << 20) / 75e6);
  EXPECT_DOUBLE_EQ(size.storage, 60e6);
  EXPECT_DOUBLE_EQ(size.data_bytes, 600e6);
  EXPECT_DOUBLE_EQ(size.epoch_seconds, 10);
  EXPECT_DOUBLE_EQ(size.window_bytes, 2.0 * 64 * 16 * (256 << 10) / 2);
}

TEST(FleetSizeTest, TellsWhatIsKnown) {
  FleetNeed need = kNeed;
  EXPECT_THAT(FleetText(need, SizeFleet(need)), HasSubstr("storage   57.2 MiB/s (0.48 Gbit/s)"));
  EXPECT_EQ(nlohmann::json::parse(FleetJson(need, SizeFleet(need)))["epoch_seconds"], 10);
  need.records = need.record_bytes = 0;
  EXPECT_THAT(FleetText(need, SizeFleet(need)), Not(HasSubstr("storage")));
  EXPECT_THAT(FleetText(need, SizeFleet(need)), Not(HasSubstr("epoch ")));
  EXPECT_FALSE(nlohmann::json::parse(FleetJson(need, SizeFleet(need))).contains("data_bytes"));
}

}  // namespace
}  // namespace penstock
