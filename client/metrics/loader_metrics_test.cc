#include "client/metrics/loader_metrics.h"

#include <limits>

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
  AddLoaderMetrics(stats, /*certificate=*/"", families);
  const auto taken = std::move(families).Take();
  ASSERT_NE(Find(taken, "penstock_client_wait_seconds_total"), nullptr);
  EXPECT_EQ(Find(taken, "penstock_client_wait_seconds_total")->metric[0].counter.value, 2.5);
}

TEST(LoaderMetricsTest, CountsConnectedServersAmongThoseThatAreNamedNow) {
  LoaderStats stats;
  stats.servers.resize(4);
  stats.servers[0].named = stats.servers[0].connected = true;
  stats.servers[1].named = true;
  stats.servers[2].connected = true;  // It is draining, and no longer named.
  MetricFamilies families;
  AddLoaderMetrics(stats, /*certificate=*/"", families);
  const auto taken = std::move(families).Take();
  EXPECT_EQ(Find(taken, "penstock_client_servers")->metric[0].gauge.value, 4);
  EXPECT_EQ(Find(taken, "penstock_client_servers_named")->metric[0].gauge.value, 2);
  EXPECT_EQ(Find(taken, "penstock_client_servers_connected")->metric[0].gauge.value, 1);
}

TEST(LoaderMetricsTest, CountsWaitsByLength) {
  LoaderStats stats;
  for (const int ms : {0, 2, 3, 4, 60000}) stats.waits.Add(absl::Milliseconds(ms));
  MetricFamilies families;
  AddLoaderMetrics(stats, /*certificate=*/"", families);
  const auto taken = std::move(families).Take();
  ASSERT_NE(Find(taken, "penstock_client_batch_wait_seconds"), nullptr);
  const auto& histogram = Find(taken, "penstock_client_batch_wait_seconds")->metric[0].histogram;
  EXPECT_EQ(histogram.sample_count, 5);
  EXPECT_DOUBLE_EQ(histogram.sample_sum, 60.009);
  const auto up_to = [&histogram](double bound) -> int {
    for (const auto& bucket : histogram.bucket) {
      if (bucket.upper_bound == bound) return static_cast<int>(bucket.cumulative_count);
    }
    return -1;
  };
  EXPECT_EQ(up_to(0.001), 1);
  EXPECT_EQ(up_to(0.003), 3);
  EXPECT_EQ(up_to(0.01), 4);
  EXPECT_EQ(up_to(30), 4);
  EXPECT_EQ(up_to(std::numeric_limits<double>::infinity()), 5);
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
  AddLoaderMetrics(stats, /*certificate=*/"", families);
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
    server.connected = server.named = true;
    server.rows = 3;
    server.late_requests = 2;
  }
  MetricFamilies families;
  AddLoaderMetrics(stats, /*certificate=*/"", families);
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
