// A server with fake sessions, and a client that keeps no rules.
#ifndef PENSTOCK_SERVER_TESTING_LIMITS_FIXTURE_H_
#define PENSTOCK_SERVER_TESTING_LIMITS_FIXTURE_H_

#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "proto/pieces.grpc.pb.h"
#include "records/wire/limits.h"
#include "server/server.h"
#include "server/testing/fake_sessions.h"
#include "server/testing/manifest_text.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {

class LimitsTest : public ::testing::Test {
 protected:
  using PieceStream = grpc::ClientReaderWriter<v1::ClientMessage, v1::ServerMessage>;

  static absl::Status ToStatus(const grpc::Status& status) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }
  void StartServer(ServiceLimits limits, const std::string& token_file = "",
                   FakeBehaviour behaviour = {}) {
    ServerOptions options{.listen = "127.0.0.1:0", .data_root = folder_.path()};
    options.limits = limits;
    options.token_file = token_file;
    ASSERT_OK_AND_ASSIGN(
        server_, Server::Start(options, std::make_unique<FakeSessions>(std::move(behaviour))));
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    stub_ = v1::PieceService::NewStub(channel_);
  }
  static v1::ClientMessage Hello(const std::string& client = "") {
    v1::ClientMessage message;
    message.mutable_hello()->set_protocol_version(wire::kProtocolVersion);
    message.mutable_hello()->set_client(client);
    return message;
  }
  static v1::ClientMessage Window(uint64_t number, size_t padding, const std::string& path = "a") {
    v1::ClientMessage message;
    message.mutable_open_window()->set_window(number);
    message.mutable_open_window()->add_shard()->set_path(path);
    for (size_t i = 0; i < padding / 1000; ++i) {
      message.mutable_open_window()->add_shard()->set_path(std::string(1000, 'x'));
    }
    return message;
  }
  // Begins a stream. Returns once Hello and Credit have come.
  std::unique_ptr<PieceStream> Begin(grpc::ClientContext& context, const std::string& client = "") {
    std::unique_ptr<PieceStream> stream = stub_->Pieces(&context);
    v1::ServerMessage answer;
    stream->Write(Hello(client));
    EXPECT_TRUE(stream->Read(&answer) && answer.has_hello());
    EXPECT_TRUE(stream->Read(&answer) && answer.has_credit());
    return stream;
  }
  static absl::Status End(PieceStream& stream) {
    for (v1::ServerMessage message; stream.Read(&message);) continue;
    return ToStatus(stream.Finish());
  }
  absl::Status AskManifest(const std::string& path, const std::string& authorization = "") {
    grpc::ClientContext context;
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    v1::ManifestRequest request;
    request.set_path(path);
    auto reader = stub_->Manifest(&context, request);
    for (v1::ManifestPart part; reader->Read(&part);) continue;
    return ToStatus(reader->Finish());
  }
  // The file is larger than everything that can be in flight to a client that reads nothing.
  void WriteBigFile() {
    std::ofstream file(folder_.File("big"));
    file << ManifestText("");
    file.seekp(int64_t{256} << 20);
    file << "end";
  }
  // Begins the call. When this returns, the server has begun to send the file, and nothing of it is
  // read.
  std::unique_ptr<grpc::ClientReader<v1::ManifestPart>> BeginBigManifest(
      grpc::ClientContext& context) {
    v1::ManifestRequest request;
    request.set_path("big");
    auto stalled = stub_->Manifest(&context, request);
    stalled->WaitForInitialMetadata();
    return stalled;
  }

  TempFolder folder_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::PieceService::Stub> stub_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_TESTING_LIMITS_FIXTURE_H_
