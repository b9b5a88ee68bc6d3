#include "client/transport/grpc/broken_status.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

absl::Status Broken(grpc::StatusCode code, const std::string& message) {
  return BrokenStatus("h:1", grpc::Status(code, message));
}

TEST(BrokenStatusTest, KeepsTheLastErrorOfAFailedConnection) {
  EXPECT_THAT(
      Broken(grpc::StatusCode::UNAVAILABLE,
             "failed to connect to all addresses; last error: UNKNOWN: Failed to connect "
             "to remote host: Connection refused"),
      StatusIs(absl::StatusCode::kUnavailable,
               "h:1: Failed to connect to remote host: Connection refused (start the server, or "
               "correct its address and port)"));
}

TEST(BrokenStatusTest, SaysAnAddressOnce) {
  const auto broken = [](absl::string_view address, const std::string& message) {
    return std::string(
        BrokenStatus(address, grpc::Status(grpc::StatusCode::UNAVAILABLE, message)).message());
  };
  EXPECT_EQ(broken("10.0.0.1:7", "ipv4:10.0.0.1:7: Socket closed"), "10.0.0.1:7: Socket closed");
  EXPECT_EQ(broken("[::1]:7", "ipv6:%5B::1%5D:7: Socket closed"), "[::1]:7: Socket closed");
  EXPECT_EQ(broken("h:7", "ipv4:10.0.0.1:7: Socket closed"), "h:7 (10.0.0.1:7): Socket closed");
  EXPECT_EQ(
      broken("h:7",
             "DNS resolution failed for h:7: C-ares status is not ARES_SUCCESS qtype=AAAA "
             "name=h is_balancer=0: Domain name not found"),
      "h:7: DNS resolution failed: Domain name not found (correct the host's name, or check the "
      "name servers of this machine)");
  EXPECT_EQ(broken("h:7", "ipv4:"), "h:7: ");
}

TEST(BrokenStatusTest, SaysThatAServerIsSilent) {
  EXPECT_THAT(Broken(grpc::StatusCode::UNAVAILABLE,
                     "failed to connect to all addresses; last error: UNAVAILABLE: connection "
                     "attempt timed out before receiving SETTINGS frame"),
              StatusIs(absl::StatusCode::kUnavailable,
                       "h:1: the peer accepts connections but sends nothing: the server is "
                       "stopped or overloaded, or this is not its --listen port"));
}

TEST(BrokenStatusTest, TellsOfAPortThatSpeaksNoGrpc) {
  EXPECT_THAT(Broken(grpc::StatusCode::UNAVAILABLE,
                     "failed to connect to all addresses; last error: UNAVAILABLE: "
                     "ipv4:127.0.0.1:9464: Failed parsing HTTP/2"),
              StatusIs(absl::StatusCode::kUnavailable,
                       ::testing::AllOf(HasSubstr("h:1: the peer does not speak gRPC"),
                                        HasSubstr("--listen port"))));
}

TEST(BrokenStatusTest, AnEndWithoutAnErrorIsUnavailable) {
  EXPECT_THAT(BrokenStatus("h:1", grpc::Status::OK),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("h:1: the server ended")));
}

TEST(BrokenStatusTest, CutConnectionsAreUnavailable) {
  for (auto code : {grpc::StatusCode::CANCELLED, grpc::StatusCode::UNKNOWN,
                    grpc::StatusCode::DEADLINE_EXCEEDED}) {
    EXPECT_EQ(Broken(code, "x").code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_EQ(Broken(grpc::StatusCode::INTERNAL, "Received RST_STREAM with error code 2").code(),
            absl::StatusCode::kUnavailable);
}

TEST(BrokenStatusTest, KeepsWhatTheServerMeant) {
  EXPECT_THAT(Broken(grpc::StatusCode::INVALID_ARGUMENT, "unknown window"),
              StatusIs(absl::StatusCode::kInvalidArgument, "h:1: unknown window"));
  EXPECT_THAT(Broken(grpc::StatusCode::RESOURCE_EXHAUSTED, "budget"),
              StatusIs(absl::StatusCode::kResourceExhausted, "h:1: budget"));
}

TEST(BrokenStatusTest, AnotherServiceIsNotRetried) {
  EXPECT_THAT(Broken(grpc::StatusCode::UNIMPLEMENTED, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a penstock-server")));
}

}  // namespace
}  // namespace penstock
