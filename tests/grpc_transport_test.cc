// Tests client and service over loopback, with a fake engine.
#include "client/transport/grpc/grpc_transport.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "client/transport/bundle/bundle_transport.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/server.h"
#include "server/testing/fake_sessions.h"
#include "tests/connected_transport.h"
#include "tests/recording_events.h"
#include "tests/reserved_port.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

OpenWindow Window(uint64_t number) {
  OpenWindow window;
  window.window = number;
  return window;
}

class GrpcTransportTest : public ::testing::Test {
 protected:
  void StartServer(FakeBehaviour behaviour = {}) {
    ServerOptions options{.listen = port_.address(),
                          .data_root = std::filesystem::temp_directory_path().string()};
    ASSERT_OK_AND_ASSIGN(
        server_, Server::Start(options, std::make_unique<FakeSessions>(std::move(behaviour))));
    transport_ = ConnectedTransport(server_->address());
  }
  // Returns a stream whose Hello and Credit have been taken from `events`.
  std::unique_ptr<Stream> Connect(RecordingEvents& events) {
    std::unique_ptr<Stream> stream = transport_->Connect({}, events);
    events.Next<ServerInfo>();
    events.Next<Credit>();
    return stream;
  }
  // Answers every fetch with parts of these sizes.
  FakeBehaviour AnswersParts(std::vector<uint32_t> sizes) {
    return {.on_fetch = [this, sizes](SessionEvents& events, const Fetch& fetch) {
      for (uint32_t size : sizes) {
        events.OnPart(home_.Make(fetch.request, size, 1, size, static_cast<uint8_t>(size % 251)));
      }
      return absl::OkStatus();
    }};
  }

  CountingHome home_;
  ReservedPort port_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(GrpcTransportTest, SaysHelloAndHearsTheServer) {
  StreamOptions received;
  StartServer({.on_open = [&received](const StreamOptions& options) {
    received = options;
    return absl::OkStatus();
  }});
  StreamOptions options;
  options.spec.add_tensor()->set_name("planes");
  options.record_ids = true;
  options.client = "rank 0";
  RecordingEvents events;
  auto stream = transport_->Connect(options, events);
  EXPECT_EQ(events.Next<ServerInfo>().instance, FakeSessions::kInstance);
  EXPECT_EQ(events.Next<Credit>().bytes, FakeSessions::kCredit);
  EXPECT_EQ(received.spec.tensor(0).name(), "planes");
  EXPECT_TRUE(received.record_ids);
  EXPECT_EQ(received.client, "rank 0");
}

TEST_F(GrpcTransportTest, PartsArriveAsTheyWereSent) {
  std::vector<uint32_t> sizes = {1 << 20, 1, 0, 16384, 300'001};
  StartServer(AnswersParts(sizes));
  RecordingEvents events;
  auto stream = Connect(events);
  stream->Fetch({.request = 42});
  std::vector<uint32_t> seen;
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto part = events.Next<ReceivedPart>();
    EXPECT_EQ(part.request, 42u);
    seen.push_back(part.first_row);
    EXPECT_THAT(Bytes(part), SizeIs(part.first_row));
    EXPECT_THAT(Bytes(part), Each(static_cast<uint8_t>(part.first_row % 251)));
  }
  EXPECT_THAT(seen, UnorderedElementsAreArray(sizes));
  home_.WaitUntilAllReturned();
}

TEST_F(GrpcTransportTest, APartWithoutTheChecksumThatWasAskedForBreaksTheStream) {
  StartServer(AnswersParts({100}));
  StreamOptions options;
  options.checksums = true;
  RecordingEvents events;
  auto stream = transport_->Connect(options, events);
  events.Next<ServerInfo>();
  events.Next<Credit>();
  stream->Fetch({.request = 1});
  EXPECT_THAT(events.Next<StreamBroken>().status,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("without the checksum")));
}

TEST_F(GrpcTransportTest, CopiesAnyRangeOfAPart) {
  StartServer({.on_fetch = [this](SessionEvents& events, const Fetch&) {
    PartBuffer part = home_.Make(1, 0, 1, 1'000'000, 0);
    for (size_t i = 0; i < 1'000'000; ++i) part.bytes()[i] = static_cast<uint8_t>(i * 7919 >> 8);
    events.OnPart(std::move(part));
    return absl::OkStatus();
  }});
  RecordingEvents events;
  auto stream = Connect(events);
  stream->Fetch({.request = 1});
  auto part = events.Next<ReceivedPart>();
  for (size_t offset : {0, 1, 9'000, 65'535, 999'990}) {
    std::vector<uint8_t> bytes(std::min<size_t>(100'000, 1'000'000 - offset));
    part.payload->CopyTo(offset, bytes);
    for (size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_EQ(bytes[i], static_cast<uint8_t>((offset + i) * 7919 >> 8)) << offset << " " << i;
    }
  }
}

TEST_F(GrpcTransportTest, PartsMayOutliveTheirStream) {
  StartServer(AnswersParts({1 << 20}));
  RecordingEvents events;
  auto stream = Connect(events);
  stream->Fetch({.request = 1});
  auto part = events.Next<ReceivedPart>();
  stream.reset();
  transport_.reset();
  EXPECT_THAT(Bytes(part), SizeIs(1 << 20));
}

TEST_F(GrpcTransportTest, WhatIsSentBeforeHelloArrivesInOrder) {
  std::vector<uint64_t> windows;
  StartServer({.on_window =
                   [&windows](SessionEvents&, const OpenWindow& window) {
                     windows.push_back(window.window);
                     return absl::OkStatus();
                   },
               .on_release =
                   [](SessionEvents& events, uint64_t window) {
                     events.OnWindowReady(window, 5);
                     return absl::OkStatus();
                   }});
  RecordingEvents events;
  auto stream = transport_->Connect({}, events);
  for (uint64_t window = 0; window < 100; ++window) stream->OpenWindow(Window(window));
  stream->Release(7);
  events.Next<ServerInfo>();
  events.Next<Credit>();
  EXPECT_EQ(events.Next<WindowReady>().window, 7u);
  ASSERT_THAT(windows, SizeIs(100));
  for (uint64_t window = 0; window < 100; ++window) EXPECT_EQ(windows[window], window);
}

TEST_F(GrpcTransportTest, ErrorsKeepTheirDamage) {
  StartServer({.on_fetch = [](SessionEvents& events, const Fetch& fetch) {
    events.OnError({.request = fetch.request,
                    .window = std::nullopt,
                    .status = absl::DataLossError("payload CRC"),
                    .damage = Damage{.shard = "s", .chunk_offset = 4, .record = 3}});
    return absl::OkStatus();
  }});
  RecordingEvents events;
  auto stream = Connect(events);
  stream->Fetch({.request = 9});
  auto error = events.Next<StreamError>();
  EXPECT_EQ(error.request, 9u);
  EXPECT_THAT(error.status, StatusIs(absl::StatusCode::kDataLoss, "payload CRC"));
  EXPECT_EQ(error.damage->chunk_offset, 4u);
}

TEST_F(GrpcTransportTest, TwoStreamsHearTheirOwnAnswers) {
  StartServer(AnswersParts({100}));
  RecordingEvents first_events;
  RecordingEvents second_events;
  auto first = Connect(first_events);
  auto second = Connect(second_events);
  second->Fetch({.request = 2});
  first->Fetch({.request = 1});
  EXPECT_EQ(first_events.Next<ReceivedPart>().request, 1u);
  EXPECT_EQ(second_events.Next<ReceivedPart>().request, 2u);
}

TEST_F(GrpcTransportTest, BreaksWithWhatTheServerSaid) {
  StartServer({.on_fetch = [](SessionEvents&, const Fetch&) {
    return absl::InvalidArgumentError("unknown window 5");
  }});
  RecordingEvents events;
  auto stream = Connect(events);
  stream->Fetch({.request = 1});
  EXPECT_THAT(
      events.Next<StreamBroken>().status,
      StatusIs(absl::StatusCode::kInvalidArgument, server_->address() + ": unknown window 5"));
  stream->Fetch({.request = 2});  // The request is dropped.
}

// The status must not be kInvalidArgument: that would mean that the server refuses the request,
// which ends the job.
TEST_F(GrpcTransportTest, AMessageThatMakesNoSenseIsTheServersFault) {
  StartServer({.on_fetch = [](SessionEvents& events, const Fetch& fetch) {
    StreamError error;
    error.request = fetch.request;  // Its code is 0, which no error has.
    events.OnError(error);
    return absl::OkStatus();
  }});
  RecordingEvents events;
  auto stream = Connect(events);
  stream->Fetch({.request = 1});
  EXPECT_THAT(
      events.Next<StreamBroken>().status,
      StatusIs(absl::StatusCode::kFailedPrecondition, server_->address() + ": Error with code 0"));
}

TEST_F(GrpcTransportTest, DrainingArrives) {
  StartServer();
  RecordingEvents events;
  auto stream = Connect(events);
  server_->Drain(absl::Seconds(7));
  EXPECT_EQ(events.Next<Draining>().grace_ms, 7000u);
  stream.reset();
  server_->Wait();
}

TEST_F(GrpcTransportTest, AServerThatEndsIsUnavailable) {
  StartServer();
  RecordingEvents events;
  auto stream = Connect(events);
  server_.reset();
  EXPECT_THAT(events.Next<StreamBroken>().status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(transport_->address())));
}

TEST_F(GrpcTransportTest, ConnectsAgainToARestartedServer) {
  StartServer();
  RecordingEvents events;
  auto stream = Connect(events);
  server_.reset();
  events.Next<StreamBroken>();
  ASSERT_OK_AND_ASSIGN(server_, Server::Start({.listen = port_.address(), .data_root = "/"},
                                              std::make_unique<FakeSessions>(FakeBehaviour{})));
  // The channel may still wait after the first failure, for at most a second.
  for (Said said = StreamBroken{}; std::holds_alternative<StreamBroken>(said);) {
    RecordingEvents again;
    stream = transport_->Connect({}, again);
    said = again.NextOfAnyKind();
    stream.reset();
    absl::SleepFor(absl::Milliseconds(10));
  }
}

// StreamsWhere() returns the number of streams that the server gets from a client that considers
// another connection at each request. One connection is saturated at `bytes_per_second`. The client
// makes 100 requests, and more until there are `at_least` streams.
class GrowthTest : public GrpcTransportTest {
 protected:
  int StreamsWhere(uint64_t bytes_per_second, int at_least) {
    std::atomic<int> opened = 0;
    FakeBehaviour behaviour = AnswersParts({100'000});
    behaviour.on_open = [&opened](const StreamOptions&) {
      ++opened;
      return absl::OkStatus();
    };
    StartServer(std::move(behaviour));
    std::vector<std::unique_ptr<Transport>> ways;
    for (int i = 0; i < 3; ++i) ways.push_back(ConnectedTransport(server_->address()));
    opened = 0;
    BundleGrowth growth{.bytes_per_second = bytes_per_second};
    growth.now = [now = BundleGrowth::Clock::time_point()]() mutable {
      return now += std::chrono::seconds(1);
    };
    RecordingEvents events;
    auto stream = MakeGrowingTransport(std::move(ways), std::move(growth))->Connect({}, events);
    events.Next<ServerInfo>();
    for (uint64_t request = 0; request < 100 || opened < at_least; ++request) {
      stream->OpenWindow(Window(request));
      stream->Fetch({.request = request, .window = request});
      // A further connection also has an event for its credit.
      while (!std::holds_alternative<ReceivedPart>(events.NextOfAnyKind())) continue;
    }
    stream.reset();
    server_.reset();  // Ends before the counter that its hook uses.
    return opened;
  }
};

TEST_F(GrowthTest, ASaturatedConnectionGetsAnotherBesideIt) {
  EXPECT_EQ(StreamsWhere(20'000, 3), 3);
}

TEST_F(GrowthTest, AConnectionThatCarriesLessStaysAlone) {
  EXPECT_EQ(StreamsWhere(uint64_t{512} << 20, 1), 1);
}

TEST_F(GrpcTransportTest, NoEventFollowsTheDestructor) {
  StartServer(AnswersParts(std::vector<uint32_t>(200, 10'000)));
  for (int round = 0; round < 30; ++round) {
    auto events = std::make_unique<RecordingEvents>();
    auto stream = transport_->Connect({}, *events);
    for (uint64_t request = 0; request < 4; ++request) stream->Fetch({.request = request});
    for (int i = 0; i < round; ++i) events->NextOfAnyKind();
    stream.reset();
    events.reset();  // ASan detects an event that comes after this.
  }
  server_.reset();
  home_.WaitUntilAllReturned();
}

}  // namespace
}  // namespace penstock
