// A server with a fake engine, and a plain protobuf client.
#ifndef PENSTOCK_SERVER_TESTING_SERVER_FIXTURE_H_
#define PENSTOCK_SERVER_TESTING_SERVER_FIXTURE_H_

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "proto/health.grpc.pb.h"
#include "proto/pieces.grpc.pb.h"
#include "records/wire/limits.h"
#include "server/server.h"
#include "server/testing/fake_sessions.h"
#include "tests/status_matchers.h"

namespace penstock {

// A server on a free port, with a folder of its own.
class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    char name[] = "/tmp/penstock_server_test_XXXXXX";
    root_ = mkdtemp(name);
  }
  ~ServerTest() override {
    server_.reset();
    std::filesystem::remove_all(root_);
  }

  void StartServer(FakeBehaviour behaviour = {}) {
    ASSERT_OK_AND_ASSIGN(server_,
                         // The clients are in this process, so its memory does not indicate a
                         // flood.
                         Server::Start({.listen = "127.0.0.1:0",
                                        .data_root = root_.string(),
                                        .guard = {.memory_growth = uint64_t{1} << 40}},
                                       std::make_unique<FakeSessions>(std::move(behaviour))));
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    stub_ = v1::PieceService::NewStub(channel_);
  }
  void Write(const std::string& name, const std::string& content) {
    std::ofstream(root_ / name) << content;
  }
  absl::StatusOr<std::string> ReadManifest(const std::string& path) {
    grpc::ClientContext context;
    v1::ManifestRequest request;
    request.set_path(path);
    auto reader = stub_->Manifest(&context, request);
    std::string all;
    for (v1::ManifestPart part; reader->Read(&part);) all += part.data();
    grpc::Status status = reader->Finish();
    if (status.ok()) return all;
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

  bool IsServing() {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckResponse response;
    auto health = grpc::health::v1::Health::NewStub(channel_);
    EXPECT_TRUE(health->Check(&context, {}, &response).ok());
    return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  }

  std::filesystem::path root_;
  CountingHome home_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::PieceService::Stub> stub_;
};

// A conversation through generated code, like that of a foreign client.
class Conversation {
 public:
  explicit Conversation(v1::PieceService::Stub& stub) : stream_(stub.Pieces(&context_)) {}

  void Hello(uint32_t version = wire::kProtocolVersion) {
    v1::ClientMessage message;
    message.mutable_hello()->set_protocol_version(version);
    Send(message);
  }
  void OpenWindow(uint64_t window) {
    v1::ClientMessage message;
    message.mutable_open_window()->set_window(window);
    Send(message);
  }
  void Fetch(uint64_t request) {
    v1::ClientMessage message;
    message.mutable_fetch()->set_request(request);
    message.mutable_fetch()->set_dtype(v1::I8);
    Send(message);
  }
  void Cancel(uint64_t request) {
    v1::ClientMessage message;
    message.mutable_cancel()->set_request(request);
    Send(message);
  }
  // Returns false once the server has ended the stream.
  bool Send(const v1::ClientMessage& message) { return stream_->Write(message); }
  // Returns a message without content at the end of the stream.
  v1::ServerMessage Read() {
    v1::ServerMessage message;
    if (!stream_->Read(&message)) message.Clear();
    return message;
  }
  // Sends Hello, and reads Hello and Credit.
  void Begin() {
    Hello();
    EXPECT_TRUE(Read().has_hello());
    EXPECT_TRUE(Read().has_credit());
  }
  void CloseSend() { stream_->WritesDone(); }
  void Abandon() { context_.TryCancel(); }
  absl::Status Finish() {
    for (v1::ServerMessage message; stream_->Read(&message);) continue;
    grpc::Status status = stream_->Finish();
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ClientMessage, v1::ServerMessage>> stream_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_TESTING_SERVER_FIXTURE_H_
