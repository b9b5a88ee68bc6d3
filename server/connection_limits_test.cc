// Tests the limits of one connection with raw HTTP/2 frames, because gRPC's own client would wait.
#include "server/connection_limits.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/io/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/server.h"
#include "server/testing/fake_sessions.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::Contains;
using ::testing::Pair;

constexpr uint8_t kData = 0, kHeaders = 1, kSettings = 4;
constexpr uint8_t kAck = 1, kEndStream = 1, kEndHeaders = 4;
constexpr uint16_t kMaxConcurrentStreams = 3;

std::string BigEndian(uint64_t number, size_t bytes) {
  std::string text;
  for (size_t i = bytes; i-- > 0;) text.push_back(static_cast<char>(number >> (8 * i)));
  return text;
}

uint64_t FromBigEndian(absl::string_view text) {
  uint64_t number = 0;
  for (const char byte : text) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

struct Frame {
  uint8_t type = 0;
  uint8_t flags = 0;
  std::string payload = {};
};

// A header without a reference to a table.
std::string Header(absl::string_view name, absl::string_view value) {
  return absl::StrCat(absl::string_view("\0", 1), BigEndian(name.size(), 1), name,
                      BigEndian(value.size(), 1), value);
}

// A client that sends any bytes. Not thread-safe.
class RawClient {
 public:
  explicit RawClient(const std::string& address) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const size_t colon = address.rfind(':');
    uint32_t port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(colon + 1), &port));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const timeval patience = {120, 0};  // A failing test then ends.
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    Send({kSettings}, 0);
  }

  void Send(const Frame& frame, uint32_t stream) {
    Send(absl::StrCat(BigEndian(frame.payload.size(), 3), BigEndian(frame.type, 1),
                      BigEndian(frame.flags, 1), BigEndian(stream, 4), frame.payload));
  }
  // Opens the n-th call of this client.
  void OpenWatch(uint32_t n) {
    const uint32_t stream = 2 * n + 1;
    const std::string headers = absl::StrCat(
        "\x83\x86", Header(":path", "/grpc.health.v1.Health/Watch"), Header(":authority", "x"),
        Header("content-type", "application/grpc"), Header("te", "trailers"));
    Send({kHeaders, kEndHeaders, headers}, stream);
    Send({kData, kEndStream, std::string(5, '\0')}, stream);
  }

  // Returns false if the server has closed the connection.
  bool Read(Frame& frame) {
    std::string head(9, '\0');
    if (!ReadAll(head)) return false;
    frame.payload.resize(FromBigEndian(head.substr(0, 3)));
    frame.type = static_cast<uint8_t>(head[3]);
    frame.flags = static_cast<uint8_t>(head[4]);
    return ReadAll(frame.payload);
  }

 private:
  void Send(const std::string& bytes) {
    // Ignores errors: some callers expect that the server has closed the connection.
    (void)send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  bool ReadAll(std::string& bytes) {
    const ssize_t size = recv(fd_.get(), bytes.data(), bytes.size(), MSG_WAITALL);
    EXPECT_TRUE(size >= 0 || errno == ECONNRESET) << strerror(errno);
    return size == static_cast<ssize_t>(bytes.size());
  }

  const UniqueFd fd_;
};

// Returns the server's first settings, by number.
std::map<uint64_t, uint64_t> ReadSettings(RawClient& client) {
  Frame frame;
  while (client.Read(frame)) {
    if (frame.type != kSettings || frame.flags == kAck) continue;
    std::map<uint64_t, uint64_t> settings;
    for (size_t i = 0; i + 6 <= frame.payload.size(); i += 6) {
      settings[FromBigEndian(frame.payload.substr(i, 2))] =
          FromBigEndian(frame.payload.substr(i + 2, 4));
    }
    return settings;
  }
  return {};
}

class ConnectionLimitsTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(server_, Server::Start({.listen = "127.0.0.1:0",
                                                 .health_listen = "127.0.0.1:0",
                                                 .data_root = folder_.path()},
                                                std::make_unique<FakeSessions>(FakeBehaviour())));
  }
  const std::string& address() const {
    return GetParam() ? server_->health_address() : server_->address();
  }

  TempFolder folder_;
  std::unique_ptr<Server> server_;
};

TEST_P(ConnectionLimitsTest, ClientsAreToldHowManyCallsTheyMayOpen) {
  RawClient client(address());
  EXPECT_THAT(ReadSettings(client), Contains(Pair(kMaxConcurrentStreams, kMaxCallsPerConnection)));
}

TEST_P(ConnectionLimitsTest, OneThatOpensMoreLosesItsConnection) {
  RawClient client(address());
  (void)ReadSettings(client);
  client.Send({kSettings, kAck}, 0);
  for (uint32_t n = 0; n <= kMaxCallsPerConnection; ++n) client.OpenWatch(n);
  Frame frame;
  while (client.Read(frame)) continue;
}

INSTANTIATE_TEST_SUITE_P(Port, ConnectionLimitsTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "OfHealth" : "OfPieces"; });

}  // namespace
}  // namespace penstock
