// Tests clients that send anything, against the whole server.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "proto/pieces.grpc.pb.h"
#include "records/engine/testing/chess_data.h"
#include "records/wire/client_message.h"
#include "server/testing/manifest_text.h"
#include "tests/connected_transport.h"
#include "tests/recording_events.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"
#include "tests/test_cluster.h"

namespace penstock {
namespace {

constexpr std::chrono::seconds kPatience{120};

// A stream that sends any bytes. Not thread-safe.
class RawStream {
 public:
  explicit RawStream(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
    call_ = stub_.PrepareCall(&context_, "/penstock.v1.PieceService/Pieces", &queue_);
    call_->StartCall(this);
    (void)Done();
  }
  ~RawStream() {
    queue_.Shutdown();
    void* tag;
    for (bool ok; queue_.Next(&tag, &ok);) continue;
  }

  // Returns false if the server has ended the stream.
  bool Write(const std::string& bytes) {
    grpc::Slice slice(bytes);
    call_->Write(grpc::ByteBuffer(&slice, 1), this);
    return Done();
  }
  // Ends the stream politely or by cancelling it. Returns the server's status.
  grpc::Status End(bool politely) {
    if (politely) {
      call_->WritesDone(this);
      (void)Done();
      grpc::ByteBuffer answer;
      do {
        call_->Read(&answer, this);
      } while (Done());
    } else {
      context_.TryCancel();
    }
    grpc::Status status;
    call_->Finish(&status, this);
    EXPECT_TRUE(Done());
    return status;
  }

 private:
  bool Done() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

// Makes conversations that begin well and go wrong somewhere.
class Forger {
 public:
  Forger(const ChessData& data, uint64_t seed) : data_(data), rng_(seed) {}

  std::vector<std::string> Conversation() {
    std::vector<std::string> messages = {
        wire::Encode(wire::ClientHello{.options = data_.Stream()})};
    const uint64_t length = rng_.Below(12);
    for (uint64_t i = 0; i < length; ++i) messages.push_back(wire::Encode(Any(i)));
    const uint64_t damages = rng_.Below(4);
    for (uint64_t i = 0; i < damages; ++i) Damage(messages[rng_.Below(messages.size())]);
    if (rng_.Below(8) == 0) std::swap(messages.front(), messages.back());
    return messages;
  }

 private:
  // Returns numbers that may break arithmetic, and small ones that are in use.
  uint64_t Number() {
    constexpr uint64_t kEdges[] = {0,
                                   1,
                                   2,
                                   0x7f,
                                   0xffff,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   uint64_t{1} << 32,
                                   uint64_t{1} << 63,
                                   ~uint64_t{0}};
    return rng_.Below(2) == 0 ? rng_.Below(4) : kEdges[rng_.Below(std::size(kEdges))];
  }
  uint32_t Word() { return static_cast<uint32_t>(Number()); }

  wire::ClientMessage Any(uint64_t i) {
    switch (rng_.Below(8)) {
      case 0:
      case 1:
        return Window(i);
      case 2:
      case 3:
      case 4:
        return SomeFetch();
      case 5:
        return wire::Cancel{Number()};
      case 6:
        return wire::Release{Number()};
      default:
        return rng_.Below(2) == 0 ? wire::ClientMessage(wire::Ack{Number()})
                                  : wire::ClientMessage(wire::SharedMemoryMapped{});
    }
  }
  OpenWindow Window(uint64_t i) {
    OpenWindow window = data_.Window(i, {rng_.Below(data_.chunks().size())}, Split::kAll, true, i);
    switch (rng_.Below(8)) {
      case 0:
        window.chunks[0].offset = Number();
        break;
      case 1:
        window.chunks[0].size = window.chunks[0].raw_size = Word();
        break;
      case 2:
        window.chunks[0].records = window.rows = Word();
        break;
      case 3:
        window.shards[0].path = rng_.Below(2) == 0 ? "../../etc/passwd" : std::string(3000, 'a');
        break;
      case 4:
        window.chunks.resize(1 + rng_.Below(5000), window.chunks[0]);
        break;
      case 5:
        window.damaged.push_back({Word(), Word(), rng_.Below(2) == 0});
        break;
      default:
        break;
    }
    return window;
  }
  Fetch SomeFetch() {
    return {.request = Number(),
            .window = rng_.Below(8),
            .first_row = Word(),
            .rows = Word(),
            .stride = Word(),
            .count = Word(),
            .dtype = static_cast<WireDtype>(rng_.Below(7)),
            .needed_at = Number()};
  }
  void Damage(std::string& bytes) {
    const uint64_t at = rng_.Below(bytes.size() + 1);
    switch (rng_.Below(4)) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.insert(at, std::string(rng_.Below(16), static_cast<char>(rng_.Next())));
        break;
      case 2:
        bytes += bytes.substr(at);
        break;
      default:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng_.Below(8)));
    }
  }

  const ChessData& data_;
  CounterRng rng_;
};

class HostileClientTest : public ::testing::Test {
 protected:
  HostileClientTest() : data_(folder_.path(), {}), cluster_(folder_.path()) {
    EXPECT_OK(cluster_.Add(uint64_t{32} << 20));
    channel_ = grpc::CreateChannel(cluster_.address(0), grpc::InsecureChannelCredentials());
    transport_ = ConnectedTransport(cluster_.address(0));
  }

  // Returns the rows of one window that an honest client gets, as one string.
  std::string Read() {
    RecordingEvents events;
    std::unique_ptr<Stream> stream = transport_->Connect(data_.Stream(), events);
    events.Next<ServerInfo>();
    events.Next<Credit>();
    const OpenWindow window = data_.Window(1, {0, 3, 5}, Split::kAll, true, 42);
    stream->OpenWindow(window);
    events.Next<WindowReady>();
    stream->Fetch({.request = 1, .window = 1, .rows = window.rows, .dtype = WireDtype::kI8});
    std::map<uint32_t, std::string> parts;
    for (uint32_t rows = 0; rows < window.rows && !HasFailure();) {
      const ReceivedPart part = events.Next<ReceivedPart>();
      if (part.payload == nullptr) break;
      const std::vector<uint8_t> bytes = Bytes(part);
      parts[part.first_row].assign(bytes.begin(), bytes.end());
      rows += part.rows;
    }
    std::string all;
    for (const auto& [first_row, bytes] : parts) all += bytes;
    return all;
  }

  TempFolder folder_;
  ChessData data_;
  TestCluster cluster_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(HostileClientTest, ForgedConversationsChangeNothingForAnHonestClient) {
  const std::string before = Read();
  ASSERT_FALSE(before.empty());
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Forger forger(data_, seed);
    RawStream stream(channel_);
    for (const std::string& message : forger.Conversation()) {
      if (!stream.Write(message)) break;
    }
    const grpc::Status status = stream.End(/*politely=*/seed % 4 != 0);
    EXPECT_NE(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_NE(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    if (seed % 40 == 39) {
      ASSERT_EQ(Read(), before);
    }
    if (HasFailure()) break;
  }
  EXPECT_EQ(Read(), before);
}

TEST_F(HostileClientTest, RandomBytesAreRefused) {
  CounterRng rng(7);
  for (int i = 0; i < 100; ++i) {
    std::string bytes(1 + rng.Below(300), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.Next());
    RawStream stream(channel_);
    (void)stream.Write(bytes);
    const grpc::Status status = stream.End(/*politely=*/true);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << bytes.size() << " bytes, after " << i << " others: " << status.error_message();
  }
  EXPECT_FALSE(Read().empty());
}

// Swaps a folder beneath the root with a link that leads out of it.
bool Swap(const std::string& inside, const std::string& link) {
  return renameat2(AT_FDCWD, inside.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE) == 0;
}

// Swaps them as fast as possible.
class Swapper {
 public:
  Swapper(const std::string& inside, const std::string& link)
      : thread_([inside, link](std::stop_token stop) {
          while (!stop.stop_requested()) Swap(inside, link);
        }) {}

 private:
  std::jthread thread_;
};

class SwappedLinkTest : public ::testing::Test {
 protected:
  // root/swapped/shard-0.tfrecord belongs to the data root. root/link leads to a folder outside of
  // the root with other shards of the same names.
  SwappedLinkTest() : outside_data_(outside_.path(), {.seed = 2}), cluster_(root_.path()) {
    std::filesystem::create_directory(root_.File("swapped"));
    ChessData(root_.File("swapped"), {.seed = 1});
    std::filesystem::create_directory_symlink(outside_.path(), root_.File("link"));
    outside_.Write("manifest.pb", ManifestText("outside"));
    root_.Write("swapped/manifest.pb", inside_);
    EXPECT_OK(cluster_.Add());
  }

  // Returns the server's answer for swapped/manifest.pb.
  std::string Ask(v1::PieceService::Stub& stub) {
    grpc::ClientContext context;
    v1::ManifestRequest request;
    request.set_path("swapped/manifest.pb");
    auto reader = stub.Manifest(&context, request);
    std::string all;
    for (v1::ManifestPart part; reader->Read(&part);) all += part.data();
    const grpc::Status status = reader->Finish();
    return status.ok() ? all : absl::StrCat("code ", status.error_code());
  }

  const std::string inside_ = ManifestText("inside");
  TempFolder outside_;
  ChessData outside_data_;
  TempFolder root_;
  TestCluster cluster_;
};

TEST_F(SwappedLinkTest, NoBytesOfAManifestOutside) {
  auto stub = v1::PieceService::NewStub(
      grpc::CreateChannel(cluster_.address(0), grpc::InsecureChannelCredentials()));
  Swapper swapper(root_.File("swapped"), root_.File("link"));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int inside = 0;
  int refused = 0;
  // Repeat until both outcomes of the race happened often.
  while ((inside < 200 || refused < 200) && std::chrono::steady_clock::now() < deadline) {
    const std::string answer = Ask(*stub);
    ASSERT_NE(answer, ManifestText("outside"));
    // Calls count until the server has removed them, which takes long on a loaded machine.
    if (answer == absl::StrCat("code ", grpc::StatusCode::RESOURCE_EXHAUSTED)) continue;
    ASSERT_TRUE(answer == inside_ ||
                answer == absl::StrCat("code ", grpc::StatusCode::PERMISSION_DENIED) ||
                answer == absl::StrCat("code ", grpc::StatusCode::UNAVAILABLE))
        << answer;
    ++(answer == inside_ ? inside : refused);
  }
  if (inside < 200 || refused < 200) {
    GTEST_SKIP() << "only " << inside << " manifests came, and " << refused << " were refused";
  }
}

class SwappedShardTest : public SwappedLinkTest {
 protected:
  SwappedShardTest()
      : transport_(ConnectedTransport(cluster_.address(0))),
        stream_(transport_->Connect(outside_data_.Stream(), events_)) {
    events_.Next<ServerInfo>();
    events_.Next<Credit>();
  }

  // Returns the code with which a window over swapped/ fails, or OK if it was loaded. The client
  // knows the sizes and checksums of the outside shards, so that only the path keeps them out.
  absl::StatusCode Open() {
    ++windows_;
    OpenWindow window = outside_data_.Window(windows_, {windows_ % 4});
    for (ShardRef& shard : window.shards) shard.path = absl::StrCat("swapped/", shard.path);
    stream_->OpenWindow(window);
    const Said said = events_.NextOfAnyKind();
    stream_->Release(windows_);
    if (const auto* error = std::get_if<StreamError>(&said)) return error->status.code();
    EXPECT_TRUE(std::holds_alternative<WindowReady>(said)) << said.index();
    return absl::StatusCode::kOk;
  }

  std::unique_ptr<Transport> transport_;
  RecordingEvents events_;
  std::unique_ptr<Stream> stream_;
  uint64_t windows_ = 0;
};

// The inside shard differs from the one that the client knows; the outside shard matches.
constexpr absl::StatusCode kInside = absl::StatusCode::kFailedPrecondition;
constexpr absl::StatusCode kRefused = absl::StatusCode::kPermissionDenied;

TEST_F(SwappedShardTest, ALinkThatWasSwappedInIsSeen) {
  EXPECT_EQ(Open(), kInside);
  ASSERT_TRUE(Swap(root_.File("swapped"), root_.File("link")));
  EXPECT_EQ(Open(), kRefused);
  ASSERT_TRUE(Swap(root_.File("swapped"), root_.File("link")));
  EXPECT_EQ(Open(), kInside);
}

TEST_F(SwappedShardTest, NoWindowOverAShardOutside) {
  Swapper swapper(root_.File("swapped"), root_.File("link"));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int inside = 0;
  int refused = 0;
  // Repeat until both outcomes of the race happened often.
  while ((inside < 200 || refused < 200) && std::chrono::steady_clock::now() < deadline) {
    const absl::StatusCode code = Open();
    // Resolving a path gives up if the path changed too often meanwhile.
    ASSERT_TRUE(code == kInside || code == kRefused || code == absl::StatusCode::kUnavailable)
        << "window " << windows_ << ": " << absl::StatusCodeToString(code);
    inside += code == kInside;
    refused += code == kRefused;
  }
  if (inside < 200 || refused < 200) {
    GTEST_SKIP() << "of " << windows_ << " windows only " << inside << " were opened inside, and "
                 << refused << " refused";
  }
}

}  // namespace
}  // namespace penstock
