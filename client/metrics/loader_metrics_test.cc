#include "client/metrics/loader_metrics.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::SizeIs;

const prometheus::MetricFamily* Find(const std::vector<prometheus::MetricFamily>& families,
                                     const std::string& name) {
  for (const prometheus::MetricFamily& family : families) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

TEST(LoaderMetricsTest, TellsWaitsInSeconds) {
  LoaderStats stats;
  stats.wait = absl::Milliseconds(2500);
  MetricFamilies families;
  AddLoaderMetrics(stats, families);
  const auto taken = std::move(families).Take();
  ASSERT_NE(Find(taken, "penstock_client_wait_seconds_total"), nullptr);
  EXPECT_EQ(Find(taken, "penstock_client_wait_seconds_total")->metric[0].counter.value, 2.5);
}

TEST(LoaderMetricsTest, TellsWhatServersDidWrong) {
  LoaderStats stats;
  stats.replaced_records = 7;
  LoaderStats::Server& server = stats.servers.emplace_back();
  server.address = "a:1";
  server.backoffs = 1;
  server.late_requests = 2;
  server.windows_handed_over = 3;
  server.extra_loads = 4;
  server.checksum_failures = 5;
  MetricFamilies families;
  AddLoaderMetrics(stats, families);
  const auto taken = std::move(families).Take();
  const auto value = [&taken](const std::string& name) {
    const prometheus::MetricFamily* family = Find(taken, "penstock_client_" + name);
    return family == nullptr ? -1 : family->metric[0].counter.value;
  };
  EXPECT_EQ(value("server_backoffs_total"), 1);
  EXPECT_EQ(value("server_late_requests_total"), 2);
  EXPECT_EQ(value("server_windows_handed_over_total"), 3);
  EXPECT_EQ(value("server_extra_loads_total"), 4);
  EXPECT_EQ(value("server_checksum_failures_total"), 5);
  EXPECT_EQ(value("replaced_records_total"), 7);
}

TEST(LoaderMetricsTest, SeriesOfServersAreBoundedAndNothingIsLost) {
  LoaderStats stats;
  for (int i = 0; i < 1000; ++i) {
    LoaderStats::Server& server = stats.servers.emplace_back();
    server.address = absl::StrCat("s", i, ":1");
    server.connected = true;
    server.rows = 3;
    server.late_requests = 2;
  }
  MetricFamilies families;
  AddLoaderMetrics(stats, families);
  const auto taken = std::move(families).Take();
  const prometheus::MetricFamily* rows = Find(taken, "penstock_client_server_rows_total");
  ASSERT_NE(rows, nullptr);
  ASSERT_THAT(rows->metric, SizeIs(kMaxServerSeries + 1));
  EXPECT_EQ(rows->metric.back().label[0].value, "other");
  double sum = 0;
  for (const auto& metric : rows->metric) sum += metric.counter.value;
  EXPECT_EQ(sum, 3000);
  EXPECT_EQ(Find(taken, "penstock_client_server_late_requests_total")->metric.back().counter.value,
            2 * (1000 - static_cast<double>(kMaxServerSeries)));
  EXPECT_EQ(Find(taken, "penstock_client_servers_connected")->metric[0].gauge.value, 1000);
}

}  // namespace
}  // namespace penstock
