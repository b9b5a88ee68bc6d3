// Tests the real engine through gRPC.
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/engine/testing/chess_data.h"
#include "tests/connected_transport.h"
#include "tests/recording_events.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"
#include "tests/test_cluster.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class EngineServiceTest : public ::testing::Test {
 protected:
  EngineServiceTest() : data_(folder_.path(), {}), cluster_(folder_.path()) {
    EXPECT_OK(cluster_.Add());
    transport_ = ConnectedTransport(cluster_.address(0));
  }

  std::unique_ptr<Stream> Connect(RecordingEvents& events) {
    auto stream = transport_->Connect(data_.Stream(/*record_ids=*/true), events);
    events.Next<ServerInfo>();
    events.Next<Credit>();
    return stream;
  }
  static Fetch All(const OpenWindow& window, uint64_t request, WireDtype dtype) {
    return {.request = request, .window = window.window, .rows = window.rows, .dtype = dtype};
  }
  // Returns the rows of the answer to `fetch`, each tensor's row after the other.
  std::vector<std::string> ReadRows(RecordingEvents& events, const Fetch& fetch) {
    std::vector<size_t> row_bytes;
    auto program = Program::Compile(data_.Stream().spec, fetch.dtype).value();
    for (const TensorInfo& tensor : program.tensors()) row_bytes.push_back(tensor.row_bytes);
    row_bytes.push_back(sizeof(int64_t));
    std::vector<std::string> rows(uint64_t{fetch.rows} * fetch.count);
    for (size_t seen = 0; seen < rows.size();) {
      auto part = events.Next<ReceivedPart>();
      if (part.payload == nullptr) break;
      std::vector<uint8_t> bytes = Bytes(part);
      size_t offset = 0;
      for (size_t size : row_bytes) {
        for (uint32_t r = 0; r < part.rows; ++r, offset += size) {
          rows[part.first_row + r].append(bytes.begin() + offset, bytes.begin() + offset + size);
        }
      }
      EXPECT_EQ(part.request, fetch.request);
      EXPECT_EQ(offset, bytes.size());
      seen += part.rows;
    }
    return rows;
  }

  TempFolder folder_;
  ChessData data_;
  TestCluster cluster_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(EngineServiceTest, RowsAreTheEnginesInEveryDtype) {
  RecordingEvents events;
  auto stream = Connect(events);
  OpenWindow window = data_.Window(1, {0, 5, 2}, Split::kAll, /*shuffle=*/true, /*key=*/99);
  stream->OpenWindow(window);
  EXPECT_GT(events.Next<WindowReady>().read_bytes, 0u);
  uint64_t request = 0;
  for (WireDtype dtype : {WireDtype::kPacked, WireDtype::kI8, WireDtype::kF32, WireDtype::kF64}) {
    Fetch fetch = All(window, ++request, dtype);
    stream->Fetch(fetch);
    EXPECT_EQ(ReadRows(events, fetch), data_.Answer(window, fetch, /*record_ids=*/true));
  }
}

TEST_F(EngineServiceTest, PartsCarryTheirChecksumIfAskedTo) {
  for (bool checksums : {false, true}) {
    RecordingEvents events;
    StreamOptions options = data_.Stream(/*record_ids=*/true);
    options.checksums = checksums;
    auto stream = transport_->Connect(options, events);
    events.Next<ServerInfo>();
    events.Next<Credit>();
    OpenWindow window = data_.Window(1, {0, 5, 2});
    stream->OpenWindow(window);
    events.Next<WindowReady>();
    stream->Fetch(All(window, 1, WireDtype::kF32));
    auto part = events.Next<ReceivedPart>();
    ASSERT_EQ(part.crc32c.has_value(), checksums);
    if (checksums) {
      EXPECT_EQ(*part.crc32c, Crc32c(Bytes(part)));
      EXPECT_EQ(*part.crc32c, part.payload->Crc32c());
    }
  }
}

TEST_F(EngineServiceTest, TwoStreamsAreServedAtOnce) {
  RecordingEvents first_events;
  RecordingEvents second_events;
  auto first = Connect(first_events);
  auto second = Connect(second_events);
  OpenWindow window = data_.Window(1, {0, 1});
  for (Stream* stream : {first.get(), second.get()}) stream->OpenWindow(window);
  first_events.Next<WindowReady>();
  second_events.Next<WindowReady>();
  Fetch fetch = All(window, 1, WireDtype::kI8);
  for (Stream* stream : {first.get(), second.get()}) stream->Fetch(fetch);
  EXPECT_EQ(ReadRows(first_events, fetch), data_.Answer(window, fetch, true));
  EXPECT_EQ(ReadRows(second_events, fetch), data_.Answer(window, fetch, true));
}

TEST_F(EngineServiceTest, HostileRangesEndTheirStreamOnly) {
  RecordingEvents good_events;
  auto good = Connect(good_events);
  OpenWindow window = data_.Window(1, {0});
  good->OpenWindow(window);
  good_events.Next<WindowReady>();

  std::vector<Fetch> forged = {
      {.request = 1, .window = 77, .rows = 1},
      {.request = 1, .window = 1, .first_row = ~0u, .rows = 1},
      {.request = 1, .window = 1, .rows = ~0u},
      {.request = 1, .window = 1, .rows = 1, .stride = ~0u, .count = ~0u},
  };
  for (const Fetch& fetch : forged) {
    RecordingEvents events;
    auto bad = Connect(events);
    bad->OpenWindow(window);
    events.Next<WindowReady>();
    bad->Fetch(fetch);
    EXPECT_THAT(events.Next<StreamBroken>().status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(cluster_.address(0))));
  }
  Fetch fetch = All(window, 1, WireDtype::kI8);
  good->Fetch(fetch);
  EXPECT_EQ(ReadRows(good_events, fetch), data_.Answer(window, fetch, true));
}

TEST_F(EngineServiceTest, ForgedChunksEndTheirStreamOnly) {
  RecordingEvents good_events;
  auto good = Connect(good_events);
  for (int forgery = 0; forgery < 3; ++forgery) {
    OpenWindow window = data_.Window(1, {0});
    if (forgery == 0) window.chunks[0].offset = ~uint64_t{0};
    if (forgery == 1) window.chunks[0].size = ~0u;
    if (forgery == 2) window.chunks[0].records = ~0u;
    RecordingEvents events;
    auto bad = Connect(events);
    bad->OpenWindow(window);
    EXPECT_THAT(events.Next<StreamBroken>().status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("window 1")))
        << forgery;
  }
  OpenWindow window = data_.Window(1, {0});
  good->OpenWindow(window);
  good_events.Next<WindowReady>();
}

TEST_F(EngineServiceTest, AMillionOpenWindowsMeetALimit) {
  RecordingEvents events;
  auto stream = Connect(events);
  absl::Status broken;
  for (uint64_t number = 1; number <= 1'000'000 && broken.ok(); ++number) {
    stream->OpenWindow(data_.Window(number, {number % 8}));
    if (number % 1000 != 0) continue;
    // Answers come until the limit is reached; the client stops sending once it knows.
    Said said = events.NextOfAnyKind();
    if (auto* end = std::get_if<StreamBroken>(&said)) broken = end->status;
    if (number < 3000) continue;
    while (broken.ok()) {
      said = events.NextOfAnyKind();
      if (auto* end = std::get_if<StreamBroken>(&said)) broken = end->status;
    }
  }
  EXPECT_THAT(broken.message(), HasSubstr("window"));
  RecordingEvents again;
  EXPECT_NE(Connect(again), nullptr);
}

TEST_F(EngineServiceTest, AMissingShardIsAnErrorOfItsWindow) {
  RecordingEvents events;
  auto stream = Connect(events);
  for (const char* path : {"none.tfrecord", "../escape", "/etc/passwd"}) {
    OpenWindow window = data_.Window(1, {0});
    window.shards[0].path = path;
    stream->OpenWindow(window);
    Said said = events.NextOfAnyKind();
    auto* error = std::get_if<StreamError>(&said);
    ASSERT_NE(error, nullptr) << path;
    EXPECT_EQ(error->window, 1u);
    EXPECT_THAT(error->status.message(), HasSubstr(path));
    stream->Release(1);
  }
}

TEST_F(EngineServiceTest, AWindowThatFailedLongAgoMayBeReleased) {
  RecordingEvents events;
  auto stream = Connect(events);
  OpenWindow window = data_.Window(1, {0});
  window.shards[0].path = "none.tfrecord";
  for (; window.window <= 1200; ++window.window) {
    stream->OpenWindow(window);
    EXPECT_EQ(events.Next<StreamError>().window, window.window);
  }
  stream->Release(1);
  stream->OpenWindow(data_.Window(window.window, {0}));
  events.Next<WindowReady>();
}

// File names are bytes.
TEST_F(EngineServiceTest, ErrorsNameShardsWhoseNamesAreNotUtf8) {
  OpenWindow window = data_.Window(1, {0});
  std::string bytes = folder_.Read(window.shards[0].path);
  bytes[window.chunks[0].offset + 20] ^= 1;
  RecordingEvents events;
  auto stream = Connect(events);
  for (const std::string path : {"none\xff.tfrecord", "damaged\xff.tfrecord"}) {
    if (path[0] == 'd') folder_.Write(path, bytes);
    window.shards[0].path = path;
    stream->OpenWindow(window);
    const auto error = events.Next<StreamError>();
    EXPECT_THAT(error.status.message(), HasSubstr(path));
    EXPECT_EQ(error.damage.value_or(Damage{.shard = "none"}).shard,
              path[0] == 'd' ? path : std::string("none"));
  }
}

TEST_F(EngineServiceTest, ABadSpecIsRefusedWithItsReason) {
  StreamOptions options = data_.Stream();
  options.spec.mutable_tensor(0)->clear_op();
  RecordingEvents events;
  auto stream = transport_->Connect(options, events);
  EXPECT_THAT(
      events.Next<StreamBroken>().status,
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(options.spec.tensor(0).name())));
}

TEST_F(EngineServiceTest, AKilledServerServesAgainAfterItsRestart) {
  RecordingEvents events;
  auto stream = Connect(events);
  cluster_.Kill(0);
  events.Next<StreamBroken>();
  ASSERT_OK(cluster_.Restart(0));
  transport_ = ConnectedTransport(cluster_.address(0));
  RecordingEvents again;
  auto second = Connect(again);
  OpenWindow window = data_.Window(1, {3});
  second->OpenWindow(window);
  again.Next<WindowReady>();
}

}  // namespace
}  // namespace penstock
