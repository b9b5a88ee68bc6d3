// Tests the Stats call with a fake engine.
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "proto/pieces.grpc.pb.h"
#include "records/wire/limits.h"
#include "server/server.h"
#include "server/testing/fake_sessions.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

class StatsTest : public ::testing::Test {
 protected:
  void StartServer(FakeBehaviour behaviour = {}) {
    ASSERT_OK_AND_ASSIGN(server_,
                         Server::Start({.listen = "127.0.0.1:0", .data_root = folder_.path()},
                                       std::make_unique<FakeSessions>(std::move(behaviour))));
    stub_ = v1::PieceService::NewStub(
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }
  v1::ServerStats Stats() {
    grpc::ClientContext context;
    v1::ServerStats stats;
    grpc::Status status = stub_->Stats(&context, {}, &stats);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return stats;
  }
  // Returns the statistics of the only stream.
  v1::StreamStats StatsOfStream() {
    const v1::ServerStats stats = Stats();
    EXPECT_EQ(stats.stream_size(), 1);
    return stats.stream_size() == 1 ? stats.stream(0) : v1::StreamStats();
  }
  // Asks until the condition holds, for at most a minute.
  bool WaitUntil(const std::function<bool(const v1::ServerStats&)>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!holds(Stats())) {
      if (std::chrono::steady_clock::now() > deadline) return false;
    }
    return true;
  }

  TempFolder folder_;
  CountingHome home_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<v1::PieceService::Stub> stub_;
};

// A client that has sent Hello.
class Client {
 public:
  Client(v1::PieceService::Stub& stub, const std::string& name) : stream_(stub.Pieces(&context_)) {
    v1::ClientMessage hello;
    hello.mutable_hello()->set_protocol_version(wire::kProtocolVersion);
    hello.mutable_hello()->set_client(name);
    stream_->Write(hello);
    v1::ServerMessage answer;
    EXPECT_TRUE(stream_->Read(&answer));
  }
  void Fetch(uint64_t request) {
    v1::ClientMessage fetch;
    fetch.mutable_fetch()->set_request(request);
    fetch.mutable_fetch()->set_dtype(v1::I8);
    stream_->Write(fetch);
  }
  void End() {
    stream_->WritesDone();
    for (v1::ServerMessage message; stream_->Read(&message);) continue;
    stream_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ClientMessage, v1::ServerMessage>> stream_;
};

TEST_F(StatsTest, TellsOfTheProcess) {
  StartServer();
  const v1::ServerStats stats = Stats();
  EXPECT_THAT(stats.version(), ::testing::HasSubstr("commit"));
  EXPECT_GT(stats.cores(), 0);
  EXPECT_GT(stats.cpu_seconds(), 0);
  EXPECT_GT(stats.resident_bytes(), 1u << 20);
  EXPECT_GT(stats.open_files(), 0u);
  EXPECT_FALSE(stats.draining());
  EXPECT_EQ(stats.stream_size(), 0);
}

TEST_F(StatsTest, CountsWhatAStreamWasSentAndKeepsItWhenItHasEnded) {
  StartServer({.on_fetch = [this](SessionEvents& events, const Fetch& fetch) {
    events.OnPart(home_.Make(fetch.request, 0, 7, 1000, 1));
    return absl::OkStatus();
  }});
  Client client(*stub_, "rank 3");
  client.Fetch(1);
  client.Fetch(2);
  ASSERT_TRUE(WaitUntil([](const auto& stats) { return stats.totals().parts() == 2; }));
  const v1::ServerStats open = Stats();
  ASSERT_EQ(open.stream_size(), 1);
  EXPECT_EQ(open.stream(0).client(), "rank 3");
  EXPECT_THAT(open.stream(0).peer(), ::testing::HasSubstr("127.0.0.1"));
  EXPECT_EQ(open.stream(0).rows(), 14u);
  EXPECT_EQ(open.stream(0).bytes(), 2000u);
  EXPECT_EQ(open.stream(0).requests(), 2u);
  EXPECT_EQ(open.stream(0).credit_bytes(), FakeSessions::kCredit);
  EXPECT_GT(open.stream(0).connected_seconds(), 0);
  client.End();
  ASSERT_TRUE(WaitUntil([](const auto& stats) { return stats.stream_size() == 0; }));
  EXPECT_EQ(Stats().totals().rows(), 14u);
  EXPECT_EQ(Stats().totals().bytes(), 2000u);
  EXPECT_EQ(Stats().totals().streams(), 1u);
  EXPECT_EQ(Stats().totals().refused(), 0u);
}

TEST_F(StatsTest, TellsOfAClientThatDoesNotRead) {
  StartServer({.on_fetch = [this](SessionEvents& events, const Fetch& fetch) {
    for (uint32_t i = 0; i < 64; ++i) events.OnPart(home_.Make(fetch.request, i, 1, 1 << 20, 0));
    return absl::OkStatus();
  }});
  Client client(*stub_, "sleeper");
  client.Fetch(1);
  // A write that has not ended counts too, and the value never falls.
  double last = 0;
  EXPECT_TRUE(WaitUntil([&last](const auto& stats) {
    EXPECT_GE(stats.totals().write_wait_seconds(), last);
    last = stats.totals().write_wait_seconds();
    return last > 0.3;
  }));
  EXPECT_LT(StatsOfStream().parts(), 64u);
  client.End();
  EXPECT_TRUE(WaitUntil([&last](const auto& stats) {
    return stats.stream_size() == 0 && stats.totals().write_wait_seconds() >= last;
  }));
}

TEST_F(StatsTest, MakesAStrangersNamePrintable) {
  StartServer();
  Client client(*stub_, "a\nb\x1b[2J");
  EXPECT_EQ(StatsOfStream().client(), "a?b?[2J");
}

TEST_F(StatsTest, AnswersWhileASessionTakesLongToEnd) {
  std::atomic<bool> ending{false}, may_end{false};
  StartServer({.on_close = [&] {
    ending = true;
    while (!may_end) std::this_thread::yield();
  }});
  Client client(*stub_, "slow to end");
  std::jthread end([&client] { client.End(); });
  while (!ending) std::this_thread::yield();
  EXPECT_EQ(Stats().stream_size(), 1);
  may_end = true;
  end.join();
}

TEST_F(StatsTest, CountsRefusedStreams) {
  StartServer({.on_open = [](const StreamOptions&) {
    return absl::InvalidArgumentError("no such feature");
  }});
  grpc::ClientContext context;
  auto stream = stub_->Pieces(&context);
  v1::ClientMessage hello;
  hello.mutable_hello()->set_protocol_version(wire::kProtocolVersion);
  stream->Write(hello);
  EXPECT_FALSE(stream->Finish().ok());
  EXPECT_TRUE(WaitUntil([](const auto& stats) { return stats.totals().refused() == 1; }));
}

TEST_F(StatsTest, TellsThatItDrains) {
  StartServer();
  Client client(*stub_, "last");
  server_->Drain(absl::Minutes(10));
  EXPECT_TRUE(Stats().draining());
}

}  // namespace
}  // namespace penstock
