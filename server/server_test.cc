// Tests the service with a fake engine and a plain protobuf client.
#include "server/server.h"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "proto/pieces.grpc.pb.h"
#include "records/wire/limits.h"
#include "server/stream_reactor.h"
#include "server/testing/manifest_text.h"
#include "server/testing/server_fixture.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(ServerTest, AnswersHelloWithItselfAndCredit) {
  StartServer();
  Conversation talk(*stub_);
  talk.Hello();
  v1::ServerMessage hello = talk.Read();
  EXPECT_EQ(hello.hello().instance(), FakeSessions::kInstance);
  EXPECT_EQ(hello.hello().protocol_version(), wire::kProtocolVersion);
  EXPECT_EQ(talk.Read().credit().bytes(), FakeSessions::kCredit);
  talk.CloseSend();
  EXPECT_OK(talk.Finish());
}

TEST_F(ServerTest, PartsAreWhatAProtobufClientReads) {
  StartServer({.on_fetch = [this](SessionEvents& events, const Fetch& fetch) {
    // These sizes are out of order and close to those of gRPC and HTTP/2.
    for (uint32_t size : {1u << 20, 1u, 16384u, 0u}) {
      events.OnPart(home_.Make(fetch.request, size, 7, size, static_cast<uint8_t>(size % 251)));
    }
    return absl::OkStatus();
  }});
  Conversation talk(*stub_);
  talk.Begin();
  talk.Fetch(42);
  for (uint32_t size : {1u << 20, 1u, 16384u, 0u}) {
    v1::ServerMessage message = talk.Read();
    EXPECT_EQ(message.part().request(), 42u);
    EXPECT_EQ(message.part().first_row(), size);
    EXPECT_EQ(message.part().rows(), 7u);
    EXPECT_EQ(message.part().data(), std::string(size, static_cast<char>(size % 251)));
  }
  home_.WaitUntilAllReturned();
}

TEST_F(ServerTest, TellsWindowReadyAndErrors) {
  StartServer({.on_window = [](SessionEvents& events, const OpenWindow& window) {
    events.OnWindowReady(window.window, 99);
    events.OnError({.request = std::nullopt,
                    .window = window.window,
                    .status = absl::DataLossError("bad"),
                    .damage = Damage{.shard = "s", .chunk_offset = 0, .record = 3}});
    return absl::OkStatus();
  }});
  Conversation talk(*stub_);
  talk.Begin();
  talk.OpenWindow(5);
  EXPECT_EQ(talk.Read().window_ready().read_bytes(), 99u);
  v1::ServerMessage error = talk.Read();
  EXPECT_EQ(error.error().window(), 5u);
  EXPECT_EQ(error.error().code(), static_cast<uint32_t>(absl::StatusCode::kDataLoss));
  EXPECT_EQ(error.error().detail().record(), 3u);
}

TEST_F(ServerTest, SessionErrorEndsThatStreamOnly) {
  StartServer({.on_fetch = [](SessionEvents&, const Fetch& fetch) {
    return fetch.request == 1 ? absl::OkStatus() : absl::InvalidArgumentError("rows beyond window");
  }});
  Conversation good(*stub_);
  good.Begin();
  Conversation bad(*stub_);
  bad.Begin();
  bad.Fetch(2);
  EXPECT_THAT(bad.Finish(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rows beyond window")));
  good.Fetch(1);
  good.CloseSend();
  EXPECT_OK(good.Finish());
}

TEST_F(ServerTest, RefusesMessagesBeforeHello) {
  StartServer();
  Conversation talk(*stub_);
  talk.Fetch(1);
  EXPECT_THAT(talk.Finish(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Hello")));
}

TEST_F(ServerTest, RefusesASecondHello) {
  StartServer();
  Conversation talk(*stub_);
  talk.Begin();
  talk.Hello();
  EXPECT_THAT(talk.Finish(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("second")));
}

TEST_F(ServerTest, RefusesAnotherProtocolVersion) {
  StartServer();
  Conversation talk(*stub_);
  talk.Hello(99);
  EXPECT_THAT(talk.Finish(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("version 99"), HasSubstr("server versions 1 to 3"))));
}

TEST_F(ServerTest, PassesOnWhyASessionCannotBeOpened) {
  StartServer({.on_open = [](const StreamOptions&) {
    return absl::InvalidArgumentError("tensor planes: no such feature");
  }});
  Conversation talk(*stub_);
  talk.Hello();
  EXPECT_THAT(talk.Finish(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("planes")));
}

TEST_F(ServerTest, RefusesGarbageBytesAndLivesOn) {
  StartServer();
  for (const std::string& garbage :
       {std::string(), std::string("\xff\xff\xff\xff"), std::string(100000, '\x0a')}) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    auto call = stub.PrepareCall(&context, "/penstock.v1.PieceService/Pieces", &queue);
    void* tag = nullptr;
    bool ok = false;
    call->StartCall(nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    grpc::Slice slice(garbage);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    grpc::Status status;
    call->Finish(&status, nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  }
  Conversation talk(*stub_);
  talk.Begin();
}

TEST_F(ServerTest, RefusesMessagesAboveTheLimit) {
  StartServer();
  Conversation talk(*stub_);
  talk.Begin();
  v1::ClientMessage message;
  message.mutable_open_window()->add_shard()->set_path(std::string(5 << 20, 'x'));
  talk.Send(message);
  EXPECT_THAT(talk.Finish(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("larger")));
}

// Waits until `number` has stayed the same for 300 calls that the server answered on another
// connection. A server that could go on would have gone on meanwhile. Returns the number.
int WhereItStops(const std::atomic<int>& number, const std::string& address) {
  grpc::ChannelArguments own;
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto health = grpc::health::v1::Health::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), own));
  int last = number;
  for (int calls = 0; calls < 300; ++calls) {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckResponse response;
    EXPECT_TRUE(health->Check(&context, {}, &response).ok());
    if (std::exchange(last, number.load()) != last) calls = 0;
  }
  return last;
}

TEST_F(ServerTest, AClientThatOnlySendsIsNotReadOn) {
  std::atomic<int> windows{0};
  StartServer({.on_window = [&windows](SessionEvents& events, const OpenWindow& window) {
    ++windows;
    // 300 MB in total, far more than the connection's buffers and windows hold.
    events.OnError({.request = std::nullopt,
                    .window = window.window,
                    .status = absl::NotFoundError(std::string(30'000, 'x')),
                    .damage = std::nullopt});
    return absl::OkStatus();
  }});
  constexpr int kWindows = 10'000;
  Conversation talk(*stub_);
  talk.Begin();
  std::jthread sender([&talk] {
    v1::ClientMessage message;
    message.mutable_open_window();
    for (int i = 0; i < kWindows && talk.Send(message); ++i) continue;
  });
  while (windows <= static_cast<int>(StreamReactor::kMaxQueuedControl)) std::this_thread::yield();
  // The server stops answering a client that reads nothing. 4,000 messages are 120 MB, more than a
  // flow-control window ever grows to.
  EXPECT_LE(WhereItStops(windows, server_->address()),
            static_cast<int>(StreamReactor::kMaxQueuedControl) + 4000);
  // Reading lets everything through.
  for (int i = 0; i < kWindows; ++i) ASSERT_TRUE(talk.Read().has_error());
  sender.join();
  EXPECT_EQ(windows, kWindows);
}

TEST_F(ServerTest, CancelDropsPartsThatWait) {
  std::promise<void> past_cancel;
  StartServer({.on_window =
                   [&past_cancel](SessionEvents&, const OpenWindow&) {
                     past_cancel.set_value();
                     return absl::OkStatus();
                   },
               .on_fetch =
                   [this](SessionEvents& events, const Fetch& fetch) {
                     for (uint32_t i = 0; i < 64; ++i) {
                       events.OnPart(home_.Make(fetch.request, i, 1, 1 << 20, 0));
                     }
                     return absl::OkStatus();
                   }});
  Conversation talk(*stub_);
  talk.Begin();
  talk.Fetch(1);
  talk.Cancel(1);
  talk.OpenWindow(1);
  past_cancel.get_future().wait();
  talk.Fetch(2);
  // Nothing was read so far, so only as much is in flight as the connection's windows hold.
  int parts = 0;
  while (talk.Read().part().request() == 1) ++parts;
  EXPECT_LT(parts, 32);
}

TEST_F(ServerTest, AClientThatVanishesGivesItsPartsBack) {
  Mutex mutex;
  CondVar changed;
  bool closed = false;
  StartServer({.on_fetch =
                   [this](SessionEvents& events, const Fetch& fetch) {
                     for (uint32_t i = 0; i < 64; ++i) {
                       events.OnPart(home_.Make(fetch.request, i, 1, 1 << 20, 0));
                     }
                     return absl::OkStatus();
                   },
               .on_close =
                   [&] {
                     MutexLock lock(&mutex);
                     closed = true;
                     changed.NotifyAll();
                   }});
  Conversation talk(*stub_);
  talk.Begin();
  talk.Fetch(1);
  EXPECT_TRUE(talk.Read().has_part());
  talk.Abandon();
  MutexLock lock(&mutex);
  while (!closed) changed.Wait(&mutex);
  home_.WaitUntilAllReturned();
}

TEST_F(ServerTest, EventsMayRaceTheEndOfTheStream) {
  std::vector<std::jthread> threads;
  Mutex mutex;
  StartServer({.on_fetch =
                   [&](SessionEvents& events, const Fetch& fetch) {
                     MutexLock lock(&mutex);
                     threads.emplace_back([this, &events, request = fetch.request] {
                       for (uint32_t i = 0; i < 1000; ++i)
                         events.OnPart(home_.Make(request, i, 1, 1000, 0));
                     });
                     return absl::OkStatus();
                   },
               .on_close =
                   [&] {
                     MutexLock lock(&mutex);
                     // The fake then behaves like a session: no event follows its destructor.
                     threads.clear();
                   }});
  for (int round = 0; round < 20; ++round) {
    Conversation talk(*stub_);
    talk.Begin();
    for (int i = 0; i < 4; ++i) talk.Fetch(i);
    for (int i = 0; i < round * 10; ++i) ASSERT_TRUE(talk.Read().has_part());
    talk.Abandon();
    (void)talk.Finish();  // The stream was cancelled; this may arrive at any time.
  }
  server_.reset();
  home_.WaitUntilAllReturned();
}

TEST_F(ServerTest, APortInUseIsAnErrorThatNamesIt) {
  StartServer();
  EXPECT_THAT(Server::Start({.listen = server_->address(), .data_root = root_.string()},
                            std::make_unique<FakeSessions>(FakeBehaviour{})),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(server_->address()), HasSubstr("in use"))));
}

TEST_F(ServerTest, RefusesOtherMachinesUnlessInsecure) {
  ServerOptions options{.listen = "0.0.0.0:0", .data_root = root_.string()};
  EXPECT_THAT(options.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--insecure")));
  options.insecure = true;
  EXPECT_OK(options.Validate());
}

TEST_F(ServerTest, RefusesAMissingDataRoot) {
  EXPECT_THAT(Server::Start({.listen = "127.0.0.1:0", .data_root = "/no/such/folder"},
                            std::make_unique<FakeSessions>(FakeBehaviour{})),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/folder")));
}

TEST_F(ServerTest, StreamsAManifestOfSeveralParts) {
  StartServer();
  std::string content = ManifestText(std::string(2'500'000, 'm'));
  content[2'000'000] = 'x';
  Write("manifest.pb", content);
  EXPECT_THAT(ReadManifest("manifest.pb"), IsOkAndHolds(content));
}

TEST_F(ServerTest, SendsNoFileThatBeginsOtherwiseThanAManifest) {
  StartServer();
  for (const char* content : {"", "PNSTKM", "PNSTKM\x1a", "PNSTKM\x1a\r\nsecret", "\nPNSTKM\x1a\n",
                              "a secret that is long enough to be sent"}) {
    Write("notes.txt", content);
    EXPECT_THAT(ReadManifest("notes.txt"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "notes.txt: is not a Penstock manifest, and servers send only manifests"))
        << content;
  }
  Write("notes.txt", ManifestText(""));
  EXPECT_THAT(ReadManifest("notes.txt"), IsOkAndHolds(ManifestText("")));
}

TEST_F(ServerTest, ManifestCannotLeaveTheRoot) {
  StartServer();
  fs::create_symlink("/etc/passwd", root_ / "link");
  for (const char* path : {"../x", "/etc/passwd", "link", "a/../../x"}) {
    EXPECT_THAT(ReadManifest(path), StatusIs(absl::StatusCode::kPermissionDenied, testing::_))
        << path;
  }
  EXPECT_THAT(ReadManifest("none.pb"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.pb")));
}

// The guard must not mistake a watcher, or a client that asks often, for a flood.
TEST_F(ServerTest, AWatcherAndStatsKeepTheirConnection) {
  StartServer();
  grpc::ClientContext watch_context;
  auto health = grpc::health::v1::Health::NewStub(channel_);
  const auto watch = health->Watch(&watch_context, {});
  grpc::health::v1::HealthCheckResponse status;
  ASSERT_TRUE(watch->Read(&status));
  for (int i = 0; i < 20'000; ++i) {
    grpc::ClientContext context;
    v1::ServerStats stats;
    const grpc::Status answer = stub_->Stats(&context, {}, &stats);
    ASSERT_TRUE(answer.ok()) << "call " << i << ": " << answer.error_message();
  }
  EXPECT_EQ(server_->stats().connections().cut(), 0u);
  Conversation talk(*stub_);  // Keeps the server up while it drains.
  talk.Begin();
  server_->Drain(absl::Seconds(60));
  ASSERT_TRUE(watch->Read(&status)) << "the watch was lost";
  EXPECT_EQ(status.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  watch_context.TryCancel();
  talk.Abandon();
}

}  // namespace
}  // namespace penstock
