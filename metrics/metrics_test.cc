#include <atomic>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "metrics/metrics_endpoint.h"
#include "metrics/metrics_flags.h"
#include "metrics/testing/http_get.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(MetricFamiliesTest, ValuesOfOneNameMakeOneFamily) {
  MetricFamilies families;
  families.AddCounter("a_total", "A.", 1, {{"x", "1"}});
  families.AddCounter("a_total", "A.", 2, {{"x", "2"}});
  families.AddGauge("b", "B.", 3);
  const std::vector<prometheus::MetricFamily> taken = std::move(families).Take();
  ASSERT_THAT(taken, SizeIs(2));
  EXPECT_THAT(taken[0].metric, SizeIs(2));
  EXPECT_EQ(taken[0].metric[1].counter.value, 2);
  EXPECT_EQ(taken[1].type, prometheus::MetricType::Gauge);
}

TEST(MetricsEndpointTest, AnswersWithTheValuesOfTheMoment) {
  std::atomic<int> value{0};
  ASSERT_OK_AND_ASSIGN(auto endpoint,
                       MetricsEndpoint::Start("127.0.0.1:0", [&value](MetricFamilies& families) {
                         families.AddGauge("penstock_test_value", "Help.", value);
                         families.AddProcess();
                       }));
  value = 17;
  const std::string page = HttpGet(endpoint->address(), "/metrics");
  EXPECT_THAT(page, AllOf(HasSubstr("200 OK"), HasSubstr("# TYPE penstock_test_value gauge"),
                          HasSubstr("\npenstock_test_value 17"),
                          HasSubstr("\nprocess_resident_memory_bytes "),
                          HasSubstr("\nprocess_start_time_seconds 1")));
  EXPECT_THAT(HttpGet(endpoint->address(), "/etc/passwd"), HasSubstr("404"));
}

TEST(MetricsEndpointTest, ConnectionsThatAskNothingDoNotKeepOthersWaiting) {
  ASSERT_OK_AND_ASSIGN(auto endpoint,
                       MetricsEndpoint::Start("127.0.0.1:0", [](MetricFamilies&) {}));
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 2 * MetricsEndpoint::kThreads; ++i) {
    silent.push_back(Connect(endpoint->address()));
  }
  // They are let go within the patience of the one behind them.
  EXPECT_THAT(HttpGet(endpoint->address(), "/metrics"), HasSubstr("200 OK"));
}

TEST(MetricsEndpointTest, SaysThatAnAddressCannotBeHad) {
  const auto nothing = [](MetricFamilies&) {};
  ASSERT_OK_AND_ASSIGN(auto first, MetricsEndpoint::Start("127.0.0.1:0", nothing));
  EXPECT_THAT(MetricsEndpoint::Start(first->address(), nothing),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(first->address())));
  for (const char* listen : {"", "127.0.0.1", ":90", "127.0.0.1:x", "127.0.0.1:70000",
                             "127.0.0.1:0,127.0.0.1:0", "::1:9464"}) {
    EXPECT_THAT(MetricsEndpoint::Start(listen, nothing),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")))
        << listen;
  }
}

// Which civetweb's own builds have.
TEST(MetricsEndpointTest, SaysThatThereIsNoIpv6) {
  const auto endpoint = MetricsEndpoint::Start("[::1]:0", [](MetricFamilies&) {});
  if (endpoint.ok()) GTEST_SKIP() << "this civetweb has IPv6";
  EXPECT_THAT(endpoint, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no IPv6")));
}

TEST(MetricsFlagsTest, AreOffUntilGiven) {
  ASSERT_OK_AND_ASSIGN(auto endpoint, StartMetrics({}, [](MetricFamilies&) {}));
  EXPECT_EQ(endpoint, nullptr);
}

TEST(MetricsFlagsTest, APortIsOfThisMachineAlone) {
  EXPECT_EQ((MetricsFlags{.port = "9100", .listen = ""}.address()), "127.0.0.1:9100");
  EXPECT_EQ((MetricsFlags{.port = "off", .listen = "[::]:9100"}.address()), "[::]:9100");
}

TEST(MetricsFlagsTest, ProcessesOfAMachineHavePortsInARow) {
  EXPECT_EQ((MetricsFlags{.port = "9100", .listen = "", .offset = 3}.address()), "127.0.0.1:9103");
  EXPECT_EQ((MetricsFlags{.port = "off", .listen = "[::]:9100", .offset = 1}.address()),
            "[::]:9101");
  EXPECT_EQ((MetricsFlags{.port = "0", .listen = "", .offset = 3}.address()), "127.0.0.1:0");
  EXPECT_EQ((MetricsFlags{.port = "off", .listen = "", .offset = 3}.address()), "");
  EXPECT_THAT((MetricsFlags{.port = "65535", .listen = "", .offset = 1}.Validate()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--metrics-port")));
}

TEST(MetricsFlagsTest, NameTheFlagThatIsWrong) {
  EXPECT_THAT((MetricsFlags{.port = "70000", .listen = ""}.Validate()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--metrics-port")));
  EXPECT_THAT((MetricsFlags{.port = "1", .listen = "0.0.0.0:1"}.Validate()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one of them")));
}

}  // namespace
}  // namespace penstock
