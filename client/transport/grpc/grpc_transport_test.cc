// Tests peers that are not a penstock-server. The tests of real servers are in tests/.
#include "client/transport/grpc/grpc_transport.h"

#include <sys/socket.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "base/io/unique_fd.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/recording_events.h"
#include "tests/reserved_port.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A port of 127.0.0.1 that gives the answer that the test sets.
class Peer {
 public:
  const std::string& address() const { return port_.address(); }
  // Sends `answer` to the first peer that connects.
  void Answer(std::string answer) {
    ASSERT_EQ(listen(port_.fd(), 8), 0);
    thread_ = std::jthread([this, answer = std::move(answer)] {
      UniqueFd connection(accept(port_.fd(), nullptr, nullptr));
      char ignored[1024];
      EXPECT_GT(recv(connection.get(), ignored, sizeof ignored, 0), 0);
      EXPECT_EQ(send(connection.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(answer.size()));
      while (recv(connection.get(), ignored, sizeof ignored, 0) > 0) continue;
    });
  }

 private:
  ReservedPort port_;
  std::jthread thread_;
};

absl::Status WhyBroken(const std::string& address) {
  auto transport = MakeGrpcTransport(address);
  RecordingEvents events;
  auto stream = transport->Connect({}, events);
  return events.Next<StreamBroken>().status;
}

TEST(GrpcTransportPeerTest, NobodyListening) {
  Peer peer;  // The port is bound, so that nobody else takes it, but nobody listens.
  EXPECT_THAT(WhyBroken(peer.address()),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(peer.address()), HasSubstr("onnection refused"))));
}

TEST(GrpcTransportPeerTest, NoSuchHost) {
  EXPECT_THAT(WhyBroken("no-such-host.invalid:7070"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no-such-host.invalid:7070")));
}

TEST(GrpcTransportPeerTest, AWebServer) {
  Peer peer;
  peer.Answer("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(WhyBroken(peer.address()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a penstock-server")));
}

TEST(GrpcTransportPeerTest, AnotherGrpcServer) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  grpc::CallbackGenericService nothing;
  builder.RegisterCallbackGenericService(&nothing);
  auto server = builder.BuildAndStart();
  EXPECT_THAT(WhyBroken(absl::StrCat("127.0.0.1:", port)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("speaks gRPC")));
}

}  // namespace
}  // namespace penstock
