// Tests the limits on what clients may use of a server.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/wire/limits.h"
#include "server/testing/captured_log.h"
#include "server/testing/limits_fixture.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

TEST_F(LimitsTest, ManifestsThatAreNotThereDoNotFillTheLog) {
  CapturedLog log;
  StartServer({.max_calls_per_host = 64});  // A call that has ended may count for a moment more.
  for (int i = 0; i < 30; ++i) {
    EXPECT_THAT(AskManifest(std::string(200, 'x')),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("No such file")));
  }
  EXPECT_FALSE(AskManifest(std::string(4000, 'x')).ok());
  server_.reset();
  const std::vector<std::string> lines = log.LinesWith("manifest refused");
  ASSERT_THAT(lines, SizeIs(AllOf(Ge(1u), Le(log.MostOfAKind()))));
  EXPECT_THAT(lines[0], HasSubstr("No such file"));
}

// For each client, either both lines are logged or neither.
TEST_F(LimitsTest, NorDoClientsThatComeAndGo) {
  CapturedLog log;
  StartServer({});
  for (int i = 0; i < 200; ++i) {
    grpc::ClientContext context;
    auto stream = Begin(context);
    stream->WritesDone();
    EXPECT_OK(End(*stream));
  }
  server_.reset();
  const size_t num_connected = log.LinesWith("client connected").size();
  EXPECT_THAT(num_connected, AllOf(Ge(64u), Le(63 + log.MostOfAKind())));
  EXPECT_THAT(log.LinesWith("client left"), SizeIs(num_connected));
}

TEST_F(LimitsTest, NorDoStreamsThatAreRefused) {
  CapturedLog log;
  StartServer({});
  for (int i = 0; i < 30; ++i) {
    grpc::ClientContext context;
    auto stream = stub_->Pieces(&context);
    stream->Write(Window(1, 0));
    EXPECT_THAT(End(*stream), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Hello")));
  }
  grpc::ClientContext context;
  auto stream = stub_->Pieces(&context);
  v1::ClientMessage hello = Hello();
  hello.mutable_hello()->set_protocol_version(wire::kProtocolVersion + 1);
  stream->Write(hello);
  EXPECT_THAT(End(*stream), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("version")));
  server_.reset();
  const std::vector<std::string> lines = log.LinesWith("must be Hello");
  ASSERT_THAT(lines, SizeIs(AllOf(Ge(1u), Le(log.MostOfAKind()))));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("stream refused"), HasSubstr("left_out=0")));
  EXPECT_THAT(log.LinesWith("stream refused"), SizeIs(lines.size() + 1));
  EXPECT_THAT(log.LinesWith("stream refused").back(), HasSubstr("protocol version"));
}

TEST_F(LimitsTest, WindowsThatFailedAreForgottenWhenThereAreMany) {
  StartServer({.max_stream_definition_bytes = 150'000}, "",
              {.on_window = [](SessionEvents& events, const OpenWindow& window) {
                StreamError error;
                error.window = window.window;
                error.status = absl::NotFoundError("none");
                events.OnError(error);
                return absl::OkStatus();
              }});
  grpc::ClientContext context;
  auto stream = Begin(context);
  v1::ServerMessage answer;
  for (uint64_t window = 0; window < 2500; ++window) {
    stream->Write(Window(window, 0, std::string(100, 'a')));
    ASSERT_TRUE(stream->Read(&answer)) << window;
    ASSERT_EQ(answer.error().code(), grpc::StatusCode::NOT_FOUND);
  }
  // A number that is used again does not count twice either.
  for (uint64_t i = 0; i < 2500; ++i) {
    stream->Write(Window(2499, 0, std::string(100, 'a')));
    ASSERT_TRUE(stream->Read(&answer)) << i;
  }
  stream->WritesDone();
  EXPECT_OK(End(*stream));
}

TEST_F(LimitsTest, AStreamWithoutAHelloIsEnded) {
  StartServer({.hello_timeout = absl::Milliseconds(100)});
  grpc::ClientContext context;
  auto silent = stub_->Pieces(&context);
  EXPECT_THAT(End(*silent), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no Hello")));
}

TEST_F(LimitsTest, AStreamWithAHelloMayBeSilent) {
  StartServer({.hello_timeout = absl::Seconds(3)});
  grpc::ClientContext context;
  auto stream = Begin(context);
  grpc::ClientContext silent_context;
  // This stream came later and has already been ended.
  EXPECT_FALSE(End(*stub_->Pieces(&silent_context)).ok());
  stream->WritesDone();
  EXPECT_OK(End(*stream));
}

TEST_F(LimitsTest, AStreamWhoseWindowsWaitForMemoryHearsOfIt) {
  std::atomic<bool> starved = true;
  const auto stats = [&starved] { return SessionStats{.starved_windows = starved ? 1u : 0u}; };
  StartServer({.hello_timeout = absl::Seconds(3)}, "", {.on_stats = stats});
  grpc::ClientContext context;
  auto stream = Begin(context);
  for (int i = 0; i < 3; ++i) {
    v1::ServerMessage said;
    ASSERT_TRUE(stream->Read(&said));
    EXPECT_EQ(said.credit().bytes(), FakeSessions::kCredit);
  }
  starved = false;
  stream->WritesDone();
  EXPECT_OK(End(*stream));
}

TEST_F(LimitsTest, AStreamWhoseRequestsWaitForAThreadHearsOfItWhileThreadsWork) {
  std::atomic<bool> decoding = false, stuck = false;
  std::atomic<uint64_t> looks = 0;
  const auto stats = [&] {
    const uint64_t look = ++looks;
    return SessionStats{.queued = true,
                        .decoding_jobs = decoding ? 1u : 0u,
                        .finished_jobs = stuck || decoding ? 1 : look};
  };
  StartServer({.hello_timeout = absl::Seconds(1)}, "", {.on_stats = stats});
  grpc::ClientContext context;
  auto stream = Begin(context);
  v1::ServerMessage said;
  for (const bool decodes : {false, true}) {
    decoding = decodes;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(stream->Read(&said));
      EXPECT_TRUE(said.credit().working());
      EXPECT_EQ(said.credit().bytes(), FakeSessions::kCredit);
    }
  }
  stuck = true;
  decoding = false;
  for (const uint64_t begin = looks; looks < begin + 4;) absl::SleepFor(absl::Milliseconds(10));
  stream->WritesDone();
  // Only what the server said before its threads got stuck still comes.
  int more = 0;
  while (stream->Read(&said)) ++more;
  EXPECT_LE(more, 2);
  EXPECT_OK(stream->Finish().ok() ? absl::OkStatus() : absl::InternalError("the stream failed"));
}

TEST_F(LimitsTest, MemoryThatDecodingUsesIsNotBlamedOnConnections) {
  struct Work final : SessionSource {
    absl::StatusOr<Opened> Open(const StreamOptions&, SessionEvents&) override {
      return absl::UnimplementedError("");
    }
    uint64_t working_bytes() const override { return bytes; }
    std::atomic<uint64_t> bytes = 0;
  };
  Work work;
  EXPECT_EQ(AllocatedBesides(work, [] { return 500; }), 500u);
  work.bytes = 100;
  EXPECT_EQ(AllocatedBesides(work, [] { return 500; }), 400u);
  EXPECT_EQ(AllocatedBesides(work, [] { return 60; }), 0u);
  // Decoding that begins or ends between the two looks.
  EXPECT_EQ(AllocatedBesides(work, [&] { return work.bytes = 300, uint64_t{700}; }), 400u);
  EXPECT_EQ(AllocatedBesides(work, [&] { return work.bytes = 0, uint64_t{700}; }), 400u);
}

// A mount whose server is gone keeps reads for ever, and nothing else would be logged.
TEST_F(LimitsTest, StorageThatHangsIsLogged) {
  for (const double seconds : {1.0, 3.0}) {
    CapturedLog log;
    StartServer({.hello_timeout = absl::Milliseconds(200)}, "",
                {.on_stats = [] { return SessionStats{.starved_windows = 1}; },
                 .on_engine_stats =
                     [seconds] {
                       EngineStats stats;
                       stats.longest_read_seconds = seconds;
                       stats.longest_read_shard = "a.tfrecord";
                       return stats;
                     }});
    grpc::ClientContext context;
    auto stream = Begin(context);
    v1::ServerMessage said;
    // The server looks at its storage after it has said that windows wait for memory.
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream->Read(&said));
    stream->WritesDone();
    EXPECT_OK(End(*stream));
    server_.reset();
    const std::vector<std::string> lines = log.LinesWith("storage does not answer");
    ASSERT_THAT(lines, SizeIs(seconds > 2 ? 1u : 0u));
    if (seconds > 2) EXPECT_THAT(lines[0], HasSubstr("shard=\"a.tfrecord\" seconds=3"));
  }
}

TEST_F(LimitsTest, StreamsOfOneHostAreLimitedBeforeTheirHello) {
  StartServer({.max_streams_per_host = 2});
  grpc::ClientContext contexts[3];
  auto first = Begin(contexts[0]);
  auto second = Begin(contexts[1]);
  EXPECT_THAT(End(*stub_->Pieces(&contexts[2])),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("2 streams of ipv4:127.0.0.1"),
                             HasSubstr("is 2 (--max-streams-per-host"))));
  second->WritesDone();
  EXPECT_OK(End(*second));
  // The server counts it until it has cleaned up, a moment later.
  absl::Status status = absl::UnknownError("not tried");
  while (!status.ok()) {
    grpc::ClientContext context;
    auto stream = stub_->Pieces(&context);
    stream->Write(Hello());
    stream->WritesDone();
    status = End(*stream);
    ASSERT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
  }
}

TEST_F(LimitsTest, StreamsAreLimitedInAll) {
  StartServer({.max_streams = 1});
  grpc::ClientContext contexts[2];
  auto first = Begin(contexts[0]);
  EXPECT_THAT(End(*stub_->Pieces(&contexts[1])),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("the limit is 1 (--max-streams of")));
}

TEST_F(LimitsTest, ALargeHelloIsRefused) {
  StartServer({});
  grpc::ClientContext context;
  auto stream = stub_->Pieces(&context);
  v1::ClientMessage hello = Hello();
  hello.mutable_hello()->mutable_spec()->add_tensor()->set_name(
      std::string(wire::kMaxHelloBytes, 'x'));
  stream->Write(hello);
  EXPECT_THAT(End(*stream),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the client's Hello has")));
}

TEST_F(LimitsTest, DefinitionsOfAStreamAreLimitedAndReleasedOnesAreNotCounted) {
  StartServer({.max_stream_definition_bytes = 100'000});
  grpc::ClientContext context;
  auto stream = Begin(context);
  for (uint64_t number = 1; number <= 20; ++number) {
    stream->Write(Window(number, 60'000));
    v1::ClientMessage release;
    release.mutable_release()->set_window(number);
    stream->Write(release);
  }
  stream->Write(Window(21, 60'000));
  stream->Write(Window(22, 60'000));
  EXPECT_THAT(End(*stream),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("limit of 100000")));
}

// Every window is ready as soon as it is open.
class DefinitionsTest : public LimitsTest {
 protected:
  DefinitionsTest() {
    StartServer({.max_definition_bytes = 100'000}, "",
                {.on_window = [](SessionEvents& events, const OpenWindow& window) {
                  events.OnWindowReady(window.window, 0);
                  return absl::OkStatus();
                }});
  }
  // Opens a window of more than half the limit. Returns false if the stream has ended.
  static bool OpenHalf(PieceStream& stream, uint64_t number) {
    v1::ServerMessage answer;
    stream.Write(Window(number, 60'000));
    return stream.Read(&answer) && answer.window_ready().window() == number;
  }
};

TEST_F(DefinitionsTest, DefinitionsOfAllStreamsAreLimitedAndEndWithThem) {
  grpc::ClientContext contexts[2];
  auto first = Begin(contexts[0]);
  ASSERT_TRUE(OpenHalf(*first, 1));
  auto second = Begin(contexts[1]);
  ASSERT_FALSE(OpenHalf(*second, 1));
  EXPECT_THAT(End(*second),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("of all streams"), HasSubstr("limit of 100000"))));
  first->WritesDone();
  EXPECT_OK(End(*first));
  // The server counts the first stream until it has cleaned up, a moment after the client sees the
  // end.
  absl::Status status = absl::UnknownError("not tried");
  for (const absl::Time start = absl::Now(); !status.ok();) {
    grpc::ClientContext context;
    auto stream = Begin(context);
    const bool open = OpenHalf(*stream, 1);
    stream->WritesDone();
    status = End(*stream);
    EXPECT_EQ(open, status.ok());
    ASSERT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    ASSERT_LT(absl::Now() - start, absl::Minutes(1)) << status;
  }
}

TEST_F(DefinitionsTest, WhatAStreamReleasesIsThereForAll) {
  grpc::ClientContext contexts[2];
  auto first = Begin(contexts[0]);
  for (uint64_t window = 1; window <= 3; ++window) {
    ASSERT_TRUE(OpenHalf(*first, window)) << window;
    v1::ClientMessage release;
    release.mutable_release()->set_window(window);
    first->Write(release);
  }
  first->Write(Window(4, 0));  // When this window is ready, the server has handled the release.
  v1::ServerMessage answer;
  ASSERT_TRUE(first->Read(&answer));
  auto second = Begin(contexts[1]);
  EXPECT_TRUE(OpenHalf(*second, 1));
  for (auto* stream : {&first, &second}) {
    (*stream)->WritesDone();
    EXPECT_OK(End(**stream));
  }
}

TEST_F(LimitsTest, CallsAreLimitedAndOneThatTakesNothingIsEnded) {
  WriteBigFile();
  StartServer({.max_calls = 1, .call_timeout = absl::Milliseconds(500)});
  grpc::ClientContext context;
  auto stalled = BeginBigManifest(context);
  EXPECT_THAT(AskManifest("big"), StatusIs(absl::StatusCode::kResourceExhausted,
                                           HasSubstr("the limit is 1: ask again")));
  // The stalled call reads nothing and is ended, so there is room again.
  folder_.Write("small", ManifestText("small"));
  absl::Status status = absl::UnknownError("not tried");
  while (!status.ok()) {
    status = AskManifest("small");
    ASSERT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
  }
}

TEST_F(LimitsTest, ManifestsOfOneHostAreLimitedAndLeaveRoomForStats) {
  WriteBigFile();
  StartServer({.max_calls = 2, .max_calls_per_host = 1});
  grpc::ClientContext context;
  auto stalled = BeginBigManifest(context);
  EXPECT_THAT(AskManifest("big"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("1 Manifest calls of ipv4:127.0.0.1"),
                             HasSubstr("the limit of one host is 1: ask again"))));
  grpc::ClientContext stats_context;
  v1::ServerStats stats;
  EXPECT_OK(ToStatus(stub_->Stats(&stats_context, {}, &stats)));
}

TEST_F(LimitsTest, ADrainEndsManifestsToo) {
  WriteBigFile();
  StartServer({});
  grpc::ClientContext context;
  auto stalled = BeginBigManifest(context);
  server_->Drain(absl::Milliseconds(200));
  server_->Wait();
  for (v1::ManifestPart part; stalled->Read(&part);) continue;
  EXPECT_FALSE(stalled->Finish().ok());
}

TEST_F(LimitsTest, AServerThatDrainsRefusesManifestsAndWaitsForThoseUnderWay) {
  WriteBigFile();
  StartServer({});
  grpc::ClientContext context;
  auto stalled = BeginBigManifest(context);
  server_->Drain(absl::Hours(1));
  EXPECT_THAT(AskManifest("big"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("draining")));
  context.TryCancel();
  server_->Wait();
}

}  // namespace
}  // namespace penstock
