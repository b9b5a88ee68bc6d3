// Tests client and service on one machine: parts through shared memory, and peers that misuse it.
#include <deque>
#include <filesystem>
#include <map>

#include "base/bounded_queue.h"
#include "client/transport/shm/shared_memory_request.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "proto/pieces.grpc.pb.h"
#include "records/engine/part_pool.h"
#include "records/engine/testing/chess_data.h"
#include "records/wire/client_message.h"
#include "server/server.h"
#include "tests/connected_transport.h"
#include "tests/recording_events.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

size_t NumDescriptors() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                           std::filesystem::directory_iterator()));
}

// Uses the protocol's generated code, so that it can send messages that our client never would.
class RawClient {
 public:
  RawClient(const std::string& address, const v1::DecodeSpec& spec)
      : stub_(v1::PieceService::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))),
        stream_(stub_->Pieces(&context_)) {
    v1::ClientMessage message;
    message.mutable_hello()->set_protocol_version(wire::kProtocolVersion);
    *message.mutable_hello()->mutable_spec() = spec;
    Say(message);
    hello_ = Hear().hello();
    EXPECT_TRUE(Hear().has_credit());
  }
  ~RawClient() {
    context_.TryCancel();
    if (!finished_) stream_->Finish();
  }

  const v1::ServerHello& hello() const { return hello_; }
  void Say(const v1::ClientMessage& message) { EXPECT_TRUE(stream_->Write(message)); }
  v1::ServerMessage Hear() {
    v1::ServerMessage message;
    EXPECT_TRUE(stream_->Read(&message));
    return message;
  }
  void SayMapped() {
    v1::ClientMessage message;
    message.mutable_shared_memory_mapped();
    Say(message);
  }
  void Acknowledge(uint64_t offset) {
    v1::ClientMessage message;
    message.mutable_ack()->set_offset(offset);
    Say(message);
  }
  // Fetches the pool with its ticket.
  std::shared_ptr<const SharedMapping> FetchPool() {
    BoundedQueue<absl::StatusOr<std::shared_ptr<const SharedMapping>>> done(1);
    SharedMemoryRequest request(hello_.shm_socket(), hello_.shm_ticket(),
                                [&](auto mapping) { done.Push(std::move(mapping)); });
    auto mapping = *done.Pop();
    EXPECT_OK(mapping);
    return mapping.ok() ? *mapping : nullptr;
  }
  void Open(const OpenWindow& window) { Send(window); }
  void Fetch(const struct Fetch& fetch) { Send(fetch); }
  grpc::Status Finish() {
    finished_ = true;
    for (v1::ServerMessage message; stream_->Read(&message);) continue;
    return stream_->Finish();
  }

 private:
  void Send(const wire::ClientMessage& message) {
    v1::ClientMessage parsed;
    EXPECT_TRUE(parsed.ParseFromString(wire::Encode(message)));
    Say(parsed);
  }

  grpc::ClientContext context_;
  std::unique_ptr<v1::PieceService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ClientMessage, v1::ServerMessage>> stream_;
  v1::ServerHello hello_;
  bool finished_ = false;
};

class SharedMemoryTest : public ::testing::Test {
 protected:
  SharedMemoryTest() : data_(folder_.path(), {}) {}
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(server_, Server::Start({.listen = "127.0.0.1:0",
                                                 .data_root = folder_.path(),
                                                 .threads = 2,
                                                 .memory_budget = uint64_t{256} << 20,
                                                 .shm_socket = socket_}));
  }

  OpenWindow Window() const { return data_.Window(1, {0, 5, 2}, Split::kAll, true, 99); }
  static Fetch All(const OpenWindow& window, uint64_t request) {
    return {
        .request = request, .window = window.window, .rows = window.rows, .dtype = WireDtype::kI8};
  }
  // Returns all bytes of an answer, part by part.
  std::string ReadAll(RecordingEvents& events, uint64_t rows) {
    std::map<uint32_t, std::string> parts;
    for (uint64_t seen = 0; seen < rows;) {
      auto part = events.Next<ReceivedPart>();
      if (part.payload == nullptr) break;
      std::vector<uint8_t> bytes = Bytes(part);
      parts[part.first_row].assign(bytes.begin(), bytes.end());
      seen += part.rows;
    }
    std::string all;
    for (const auto& [first_row, bytes] : parts) all += bytes;
    return all;
  }
  std::string Answer(bool shared_memory) {
    auto transport = ConnectedTransport(server_->address(), {.shared_memory = shared_memory});
    RecordingEvents events;
    auto stream = transport->Connect(data_.Stream(), events);
    events.Next<ServerInfo>();
    events.Next<Credit>();
    if (shared_memory) {
      EXPECT_OK(events.SharedMemory());
    }
    const OpenWindow window = Window();
    stream->OpenWindow(window);
    events.Next<WindowReady>();
    std::string all;
    for (uint64_t request = 1; request <= 20; ++request) {
      stream->Fetch(All(window, request));
      all += ReadAll(events, window.rows);
    }
    return all;
  }
  RawClient Connect() { return RawClient(server_->address(), data_.Stream().spec); }
  // Waits until there are at most a few descriptors more than `before`, because gRPC's own come and
  // go.
  void WaitUntilDescriptorsAreAsFewAs(size_t before) {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    while (NumDescriptors() > before + 8 && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_LE(NumDescriptors(), before + 8);
  }
  void WaitUntilNoStreams() {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    while (server_->num_streams() > 0 && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_EQ(server_->num_streams(), 0u);
  }

  TempFolder folder_;
  ChessData data_;
  const std::string socket_ = folder_.path() + "/door";
  std::unique_ptr<Server> server_;
};

TEST_F(SharedMemoryTest, TheSameRowsArriveEitherWay) {
  const std::string shared = Answer(true);
  EXPECT_FALSE(shared.empty());
  EXPECT_TRUE(shared == Answer(false));
}

TEST_F(SharedMemoryTest, PartsLieInThePoolAndNotInTheMessage) {
  RawClient client = Connect();
  auto pool = client.FetchPool();
  client.SayMapped();
  const OpenWindow window = Window();
  client.Open(window);
  EXPECT_TRUE(client.Hear().has_window_ready());
  client.Fetch(All(window, 7));
  const v1::Part part = client.Hear().part();
  EXPECT_THAT(part.data(), IsEmpty());
  ASSERT_GT(part.shared_size(), 0u);
  ASSERT_EQ(part.rows(), window.rows);
  const auto bytes = pool->bytes().subspan(part.shared_offset(), part.shared_size());
  std::string expected;
  // The answer has the tensors one after the other.
  const std::vector<std::string> rows = data_.Answer(window, All(window, 7), false);
  for (auto [begin, size] : {std::pair<size_t, size_t>{0, 1536}, {1536, 10}, {1546, 4}}) {
    for (const std::string& row : rows) expected += row.substr(begin, size);
  }
  EXPECT_TRUE(expected == std::string(bytes.begin(), bytes.end()));
  client.Acknowledge(part.shared_offset());
}

TEST_F(SharedMemoryTest, OffersNothingWithoutADoor) {
  ASSERT_OK_AND_ASSIGN(server_, Server::Start({.listen = "127.0.0.1:0",
                                               .data_root = folder_.path(),
                                               .threads = 1,
                                               .memory_budget = uint64_t{64} << 20}));
  RawClient client = Connect();
  EXPECT_THAT(client.hello().shm_socket(), IsEmpty());
  EXPECT_THAT(client.hello().shm_ticket(), IsEmpty());
}

TEST_F(SharedMemoryTest, ADoorThatIsGoneLeavesPartsInTheStream) {
  std::filesystem::remove(socket_);
  auto transport = ConnectedTransport(server_->address());
  RecordingEvents events;
  auto stream = transport->Connect(data_.Stream(), events);
  events.Next<ServerInfo>();
  events.Next<Credit>();
  EXPECT_THAT(events.SharedMemory(), StatusIs(absl::StatusCode::kNotFound, HasSubstr(socket_)));
  const OpenWindow window = Window();
  stream->OpenWindow(window);
  events.Next<WindowReady>();
  stream->Fetch(All(window, 1));
  EXPECT_EQ(ReadAll(events, window.rows).size(), window.rows * 1550u);
}

TEST_F(SharedMemoryTest, AnAckOfNothingEndsTheStream) {
  RawClient client = Connect();
  client.Acknowledge(0);
  EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(SharedMemoryTest, ASecondAckEndsTheStream) {
  RawClient client = Connect();
  auto pool = client.FetchPool();
  client.SayMapped();
  const OpenWindow window = Window();
  client.Open(window);
  client.Fetch(All(window, 1));
  EXPECT_TRUE(client.Hear().has_window_ready());
  const v1::Part part = client.Hear().part();
  client.Acknowledge(part.shared_offset());
  client.Acknowledge(part.shared_offset());
  const grpc::Status status = client.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("no part is outstanding"));
}

TEST_F(SharedMemoryTest, MappedWithoutAPoolEndsTheStream) {
  RawClient early = Connect();
  early.SayMapped();
  EXPECT_EQ(early.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  RawClient twice = Connect();
  auto pool = twice.FetchPool();
  twice.SayMapped();
  twice.SayMapped();
  EXPECT_EQ(twice.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(SharedMemoryTest, WhoNeverAcknowledgesHoldsUpNobodyElse) {
  RawClient client = Connect();
  auto pool = client.FetchPool();
  client.SayMapped();
  const OpenWindow window = Window();
  client.Open(window);
  EXPECT_TRUE(client.Hear().has_window_ready());
  const size_t fit = pool->bytes().size() / PartPool::Capacity(window.rows * 1550u);
  for (uint64_t request = 1; request <= 3 * fit; ++request) client.Fetch(All(window, request));
  std::deque<uint64_t> held;
  while (held.size() < fit) held.push_back(client.Hear().part().shared_offset());
  EXPECT_LE(server_->stats().stream(0).part_bytes(), pool->bytes().size());
  EXPECT_FALSE(Answer(true).empty());
  // Each part comes only after the acknowledgement of another.
  for (size_t more = 2 * fit; more > 0; --more) {
    client.Acknowledge(held.front());
    held.pop_front();
    const v1::Part part = client.Hear().part();
    EXPECT_GT(part.shared_size(), 0u);
    held.push_back(part.shared_offset());
  }
}

TEST_F(SharedMemoryTest, ClientsThatDieLeakNothing) {
  auto visit = [this](bool mapped) {
    RawClient client = Connect();
    auto pool = client.FetchPool();
    if (!mapped) return;
    client.SayMapped();
    const OpenWindow window = Window();
    client.Open(window);
    client.Fetch(All(window, 1));
    EXPECT_TRUE(client.Hear().has_window_ready());
    EXPECT_GT(client.Hear().part().shared_size(), 0u);
  };
  visit(true);
  WaitUntilNoStreams();
  const size_t before = NumDescriptors();
  for (int i = 0; i < 50; ++i) visit(i % 2 == 0);
  WaitUntilNoStreams();
  WaitUntilDescriptorsAreAsFewAs(before);
}

TEST_F(SharedMemoryTest, TwoHundredClientsLeakNoDescriptor) {
  auto visit = [this] {
    auto transport = ConnectedTransport(server_->address());
    RecordingEvents events;
    auto stream = transport->Connect(data_.Stream(), events);
    EXPECT_OK(events.SharedMemory());
  };
  visit();
  WaitUntilNoStreams();
  const size_t before = NumDescriptors();
  for (int i = 0; i < 200; ++i) visit();
  WaitUntilNoStreams();
  WaitUntilDescriptorsAreAsFewAs(before);
}

}  // namespace
}  // namespace penstock
