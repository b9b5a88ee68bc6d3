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

TEST(LoaderMetricsTest, SeriesOfServersAreBoundedAndNothingIsLost) {
  LoaderStats stats;
  for (int i = 0; i < 1000; ++i) {
    LoaderStats::Server& server = stats.servers.emplace_back();
    server.address = absl::StrCat("s", i, ":1");
    server.connected = true;
    server.rows = 3;
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
  EXPECT_EQ(Find(taken, "penstock_client_servers_connected")->metric[0].gauge.value, 1000);
}

}  // namespace
}  // namespace penstock
