#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "metrics/http_port.h"
#include "metrics/metrics_endpoint.h"
#include "metrics/metrics_flags.h"
#include "metrics/testing/http_get.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

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
  EXPECT_THAT(page, HasSubstr("\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(HttpGet(endpoint->address(), "/etc/passwd"), HasSubstr("404"));
}

// How long Prometheus waits for a page by default.
constexpr std::chrono::seconds kScrapeTimeout{10};

// 500 connections are far more than the port keeps. It also could not close them one by one within
// kScrapeTimeout.
TEST(MetricsEndpointTest, ConnectionsThatAskNothingDoNotKeepAScrapeWaiting) {
  ASSERT_OK_AND_ASSIGN(auto endpoint,
                       MetricsEndpoint::Start("127.0.0.1:0", [](MetricFamilies&) {}));
  for (const int number : {60, 500}) {
    std::vector<UniqueFd> silent;
    for (int i = 0; i < number; ++i) silent.push_back(Connect(endpoint->address()));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(HttpGet(endpoint->address(), "/metrics"), HasSubstr("200 OK"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, kScrapeTimeout) << number;
  }
}

// The connection from 127.0.0.2 is by far the oldest when 127.0.0.1 has opened more than the port
// keeps. Returns false if this took so long that the connection's own time limit may have passed.
bool IsAnsweredBesideAFlood(const std::string& address) {
  constexpr size_t kMany = HttpPort::kMaxConnections + 8;
  const auto start = std::chrono::steady_clock::now();
  const UniqueFd alone = Connect(address, "127.0.0.2");
  std::vector<UniqueFd> many;
  while (many.size() < kMany) many.push_back(Connect(address));
  EXPECT_EQ(ReadToEnd(many[7]), "");  // This one made room for another connection.
  const bool sent = Send(alone, "GET /metrics HTTP/1.0\r\n\r\n");
  const std::string answer = sent ? ReadToEnd(alone) : "";
  if (std::chrono::steady_clock::now() - start > HttpConnection::kAskTime / 2) return false;
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  return true;
}

TEST(MetricsEndpointTest, AHostThatOpensManyConnectionsLosesItsOwn) {
  ASSERT_OK_AND_ASSIGN(auto endpoint,
                       MetricsEndpoint::Start("127.0.0.1:0", [](MetricFamilies&) {}));
  for (int attempt = 0; attempt < 60; ++attempt) {
    if (IsAnsweredBesideAFlood(endpoint->address())) return;
  }
  GTEST_SKIP() << "this machine is too slow";
}

// The answers wait in the server, because they are larger than a socket's buffer.
TEST(MetricsEndpointTest, ConnectionsThatTakeNoAnswerDoNotKeepAScrapeWaiting) {
  const std::string help(size_t{16} << 20, 'h');
  std::atomic<int> num_scrapes{0};
  ASSERT_OK_AND_ASSIGN(
      auto endpoint, MetricsEndpoint::Start("127.0.0.1:0", [&](MetricFamilies& families) {
        families.AddGauge("penstock_test_value", num_scrapes++ < 4 ? help : "Short.", 1);
      }));
  std::vector<UniqueFd> greedy;
  while (num_scrapes < 4) {
    greedy.push_back(Connect(endpoint->address()));
    ASSERT_TRUE(Send(greedy.back(), "GET /metrics HTTP/1.1\r\n\r\n"));
    while (num_scrapes < static_cast<int>(greedy.size())) std::this_thread::yield();
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(HttpGet(endpoint->address(), "/metrics"), HasSubstr("Short."));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kScrapeTimeout);
}

TEST(MetricsEndpointTest, ARequestThatComesByteByByteIsCutOff) {
  ASSERT_OK_AND_ASSIGN(auto endpoint,
                       MetricsEndpoint::Start("127.0.0.1:0", [](MetricFamilies&) {}));
  const UniqueFd slow = Connect(endpoint->address());
  pollfd polled = {.fd = slow.get(), .events = POLLIN, .revents = 0};
  int sent = 0;
  for (; sent < 600 && polled.revents == 0; ++sent) {  // A minute.
    if (!Send(slow, "G")) break;
    poll(&polled, 1, 100);
  }
  EXPECT_LT(sent, 600);
  EXPECT_EQ(ReadToEnd(slow), "");
}

TEST(MetricsEndpointTest, ARequestOfMoreThan8KibIsRefused) {
  ASSERT_OK_AND_ASSIGN(auto endpoint,
                       MetricsEndpoint::Start("127.0.0.1:0", [](MetricFamilies&) {}));
  const std::string header = "X: " + std::string(1000, 'x') + "\r\n";
  for (const int headers : {7, 9}) {
    const UniqueFd connection = Connect(endpoint->address());
    std::string request = "GET /metrics HTTP/1.1\r\n";
    for (int i = 0; i < headers; ++i) request += header;
    ASSERT_TRUE(Send(connection, request + "\r\n"));
    EXPECT_THAT(ReadToEnd(connection), HasSubstr(headers == 7 ? " 200 OK" : " 431 "));
  }
}

TEST(MetricsEndpointTest, AClientThatHasClosedItsSideIsAnswered) {
  ASSERT_OK_AND_ASSIGN(auto endpoint,
                       MetricsEndpoint::Start("127.0.0.1:0", [](MetricFamilies&) {}));
  const UniqueFd connection = Connect(endpoint->address());
  ASSERT_TRUE(Send(connection, "GET /metrics HTTP/1.0\n\n"));
  shutdown(connection.get(), SHUT_WR);
  EXPECT_THAT(ReadToEnd(connection), HasSubstr("200 OK"));
}

TEST(MetricsEndpointTest, EndsBesideConnectionsThatAreOpen) {
  ASSERT_OK_AND_ASSIGN(auto endpoint,
                       MetricsEndpoint::Start("127.0.0.1:0", [](MetricFamilies&) {}));
  const UniqueFd silent = Connect(endpoint->address());
  const UniqueFd half = Connect(endpoint->address());
  ASSERT_TRUE(Send(half, "GET /met"));
  endpoint.reset();
  EXPECT_EQ(ReadToEnd(silent), "");
}

TEST(MetricsEndpointTest, SaysThatAnAddressCannotBeHad) {
  const auto nothing = [](MetricFamilies&) {};
  ASSERT_OK_AND_ASSIGN(auto first, MetricsEndpoint::Start("127.0.0.1:0", nothing));
  EXPECT_THAT(MetricsEndpoint::Start(first->address(), nothing),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(first->address()), HasSubstr("the port is in use"))));
  // No machine has an address of 192.0.2.0/24.
  EXPECT_THAT(MetricsEndpoint::Start("192.0.2.1:0", nothing),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not this machine's")));
  for (const char* listen : {"", "127.0.0.1", ":90", "127.0.0.1:x", "127.0.0.1:70000",
                             "127.0.0.1:0,127.0.0.1:0", "::1:9464"}) {
    EXPECT_THAT(MetricsEndpoint::Start(listen, nothing),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")))
        << listen;
  }
}

TEST(MetricsEndpointTest, ListensOnIpv6WhereTheMachineHasIt) {
  const auto endpoint = MetricsEndpoint::Start("[::]:0", [](MetricFamilies&) {});
  if (!endpoint.ok()) {
    EXPECT_THAT(endpoint, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("[::]:0")));
    GTEST_SKIP() << endpoint.status();
  }
  EXPECT_THAT((*endpoint)->address(), StartsWith("[::]:"));
  // The port accepts IPv4 too, which is the default of Linux.
  EXPECT_THAT(HttpGet((*endpoint)->address(), "/metrics"), HasSubstr("200 OK"));
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
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("exclude each other")));
}

}  // namespace
}  // namespace penstock
