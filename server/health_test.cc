// Tests health on the main port and on its own port.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "proto/health.grpc.pb.h"
#include "proto/pieces.grpc.pb.h"
#include "records/dataset/manifest.h"
#include "server/server.h"
#include "server/testing/fake_sessions.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;

class HealthTest : public ::testing::Test {
 protected:
  void Start(ServiceLimits limits = {}) {
    ASSERT_OK_AND_ASSIGN(server_, Server::Start({.listen = "127.0.0.1:0",
                                                 .health_listen = "127.0.0.1:0",
                                                 .data_root = folder_.path(),
                                                 .require = require_,
                                                 .limits = limits},
                                                std::make_unique<FakeSessions>(FakeBehaviour())));
  }
  static std::shared_ptr<grpc::Channel> Channel(const std::string& address) {
    return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  }
  // Returns SERVICE_UNKNOWN for an error.
  static HealthCheckResponse::ServingStatus Check(const std::string& address,
                                                  const std::string& service) {
    grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    const auto stub = grpc::health::v1::Health::NewStub(Channel(address));
    const grpc::Status status = stub->Check(&context, request, &response);
    if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
      return HealthCheckResponse::SERVICE_UNKNOWN;
    }
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.status();
  }

  // Returns OK once a status was sent. `context` ends the watch.
  static grpc::Status Watch(const std::string& address, grpc::ClientContext& context,
                            const std::string& service) {
    HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    const auto stub = grpc::health::v1::Health::NewStub(Channel(address));
    const auto watch = stub->Watch(&context, request);
    return watch->Read(&response) ? grpc::Status::OK : watch->Finish();
  }

  TempFolder folder_;
  std::vector<std::string> require_;
  std::unique_ptr<Server> server_;
};

// Waits until the service has this status.
void WaitForStatus(const std::shared_ptr<grpc::Channel>& channel,
                   HealthCheckResponse::ServingStatus wanted) {
  grpc::ClientContext context;
  HealthCheckResponse response;
  const auto stub = grpc::health::v1::Health::NewStub(channel);
  const auto watch = stub->Watch(&context, {});
  while (watch->Read(&response) && response.status() != wanted) continue;
  EXPECT_EQ(response.status(), wanted);
  context.TryCancel();
}

TEST_F(HealthTest, AServerIsReadyOnceItHasTheRequiredData) {
  require_ = {"m.pb"};
  Start();
  for (const std::string& address : {server_->address(), server_->health_address()}) {
    EXPECT_EQ(Check(address, ""), HealthCheckResponse::NOT_SERVING);
    EXPECT_EQ(Check(address, "liveness"), HealthCheckResponse::SERVING);
  }
  folder_.Write("m.pb", *ManifestBuilder().Build()->Serialize());
  WaitForStatus(Channel(server_->address()), HealthCheckResponse::SERVING);
  WaitForStatus(Channel(server_->health_address()), HealthCheckResponse::SERVING);
  EXPECT_EQ(server_->stats().missing_data(), "");
  server_->Drain(absl::Hours(1));
}

TEST_F(HealthTest, ARequiredManifestIsBeneathTheRoot) {
  EXPECT_THAT(Server::Start({.data_root = folder_.path(), .require = {"/m.pb"}},
                            std::make_unique<FakeSessions>(FakeBehaviour())),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--require: '/m.pb'")));
}

TEST_F(HealthTest, BothPortsKnowTheSameServices) {
  Start();
  for (const std::string& address : {server_->address(), server_->health_address()}) {
    EXPECT_EQ(Check(address, ""), HealthCheckResponse::SERVING);
    EXPECT_EQ(Check(address, "penstock.v1.PieceService"), HealthCheckResponse::SERVING);
    EXPECT_EQ(Check(address, "liveness"), HealthCheckResponse::SERVING);
    EXPECT_EQ(Check(address, "other"), HealthCheckResponse::SERVICE_UNKNOWN);
  }
}

TEST_F(HealthTest, ADrainingServerIsAliveAndNotServing) {
  Start();
  grpc::ClientContext context;
  auto stub = v1::PieceService::NewStub(Channel(server_->address()));
  auto stream = stub->Pieces(&context);  // Keeps the server from ending.
  v1::ClientMessage hello;
  hello.mutable_hello()->set_protocol_version(1);
  ASSERT_TRUE(stream->Write(hello));
  v1::ServerMessage answer;
  ASSERT_TRUE(stream->Read(&answer));
  server_->Drain(absl::Hours(1));
  for (const std::string& address : {server_->address(), server_->health_address()}) {
    EXPECT_EQ(Check(address, ""), HealthCheckResponse::NOT_SERVING);
    EXPECT_EQ(Check(address, "liveness"), HealthCheckResponse::SERVING);
  }
  stream->WritesDone();
  while (stream->Read(&answer)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(HealthTest, WatchesAreLimitedOnEachPortAndThoseThatEndMakeRoom) {
  Start({.max_health_watches = 2});
  for (const std::string& address : {server_->address(), server_->health_address()}) {
    grpc::ClientContext known, unknown, third;
    EXPECT_TRUE(Watch(address, known, "").ok());
    EXPECT_TRUE(Watch(address, unknown, "other").ok());
    const grpc::Status refused = Watch(address, third, "liveness");
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(refused.error_message(), HasSubstr("2 health watches are open; the limit is 2"));
    EXPECT_EQ(Check(address, ""), HealthCheckResponse::SERVING);
    unknown.TryCancel();
    // The server counts it until it has noticed the end, a moment later.
    grpc::Status status = refused;
    while (!status.ok()) {
      grpc::ClientContext again;
      status = Watch(address, again, "");
      ASSERT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
    }
  }
}

TEST_F(HealthTest, AWatchOfALongNameIsRefused) {
  Start();
  grpc::ClientContext context;
  EXPECT_EQ(Watch(server_->address(), context, std::string(257, 'x')).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(HealthTest, TheHealthPortAnswersNothingElse) {
  Start();
  grpc::ClientContext context;
  v1::ManifestRequest request;
  auto stub = v1::PieceService::NewStub(Channel(server_->health_address()));
  auto reader = stub->Manifest(&context, request);
  v1::ManifestPart part;
  EXPECT_FALSE(reader->Read(&part));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(HealthTest, SaysWhichOptionHasTheBadAddress) {
  const auto server = Server::Start(
      {.listen = "127.0.0.1:0", .health_listen = "nonsense", .data_root = folder_.path()},
      std::make_unique<FakeSessions>(FakeBehaviour()));
  EXPECT_THAT(server, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--health-listen")));
}

TEST_F(HealthTest, ThePortsAreTwo) {
  const auto server = Server::Start(
      {.listen = "127.0.0.1:70", .health_listen = "0.0.0.0:70", .data_root = folder_.path()},
      std::make_unique<FakeSessions>(FakeBehaviour()));
  EXPECT_THAT(server, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("--health-listen both use port 70")));
}

}  // namespace
}  // namespace penstock
