#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "base/io/unique_fd.h"
#include "base/sha256.h"
#include "cli/feed/feed_memory.h"
#include "cli/feed/feed_requests.h"
#include "cli/feed/feed_session.h"
#include "cli/feed/feed_text.h"
#include "cli/feed/feed_writer.h"
#include "client/loader/loader_shape.h"
#include "client/loader/testing/chess_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock::feed {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct SocketPair {
  SocketPair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    feed = UniqueFd(ends[0]);
    consumer = UniqueFd(ends[1]);
  }
  UniqueFd feed;
  UniqueFd consumer;
};

UniqueFd MakeMemory(size_t bytes, int seals = F_SEAL_SHRINK) {
  UniqueFd memory(memfd_create("slots", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(memory.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(fcntl(memory.get(), F_ADD_SEALS, seals), 0);
  return memory;
}

// Reads the feed's messages like a consumer.
struct Received {
  BatchMessage message;
  std::string text;
};

Received Receive(int socket) {
  Received received;
  EXPECT_EQ(recv(socket, &received.message, sizeof received.message, MSG_WAITALL),
            static_cast<ssize_t>(sizeof received.message));
  if (received.message.kind == ToConsumer::kBatch) return received;
  received.text.resize(received.message.rows);
  if (!received.text.empty()) {
    EXPECT_EQ(recv(socket, received.text.data(), received.text.size(), MSG_WAITALL),
              static_cast<ssize_t>(received.text.size()));
  }
  return received;
}

// A session over 4 slots, which the consumer has mapped.
class FeedSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(shape_, DescribeLoader(data_.Options()));
    ASSERT_OK_AND_ASSIGN(writer_, FeedWriter::Start(sockets_.feed.get()));
    session_ = std::make_unique<FeedSession>(data_.Options(), shape_->slot_bytes, *writer_);
    memory_ = MakeMemory(kSlots * shape_->slot_bytes);
    mapped_ = static_cast<const uint8_t*>(
        mmap(nullptr, kSlots * shape_->slot_bytes, PROT_READ, MAP_SHARED, memory_.get(), 0));
  }
  void Start(uint32_t generation, std::optional<Cursor> cursor = std::nullopt) {
    session_->Start(generation, {cursor, kSlots}, UniqueFd(dup(memory_.get())));
  }
  Received Next() { return Receive(sockets_.consumer.get()); }

  // Returns the digest of the rows from here to the end, as BatchDigest computes it.
  std::string DigestOfTheRest(uint32_t generation) {
    Sha256 hash;
    Received received;
    while ((received = Next()).message.kind == ToConsumer::kBatch) {
      if (received.message.generation != generation) continue;
      for (size_t row = 0; row < received.message.rows; ++row) {
        for (size_t i = 0; i < shape_->tensors.size(); ++i) {
          const size_t bytes = shape_->tensors[i].row_bytes;
          hash.Update({mapped_ + received.message.slot * shape_->slot_bytes + shape_->offsets[i] +
                           row * bytes,
                       bytes});
        }
      }
      last_ = received.message;
      EXPECT_THAT(session_->Release(generation, received.message.slot), IsOk());
    }
    EXPECT_EQ(received.message.kind, ToConsumer::kEnd) << received.text;
    return hash.Hex();
  }

  static constexpr uint32_t kSlots = 4;
  const ChessDataset data_;
  SocketPair sockets_;
  std::optional<LoaderShape> shape_;
  std::unique_ptr<FeedWriter> writer_;
  UniqueFd memory_;
  const uint8_t* mapped_ = nullptr;
  BatchMessage last_;
  std::unique_ptr<FeedSession> session_;
};

TEST_F(FeedSessionTest, UnreadAnswersAreBounded) {
  absl::Status status;
  size_t answers = 0;
  for (; status.ok() && answers < 1'000'000; ++answers) status = session_->AnswerStats(0);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("of answers are unread; the limit is 4.0 MiB")));
  // The thread holds what it is sending besides what waits.
  EXPECT_LT(writer_->waiting_bytes(), size_t{5} << 20);
  ASSERT_EQ(shutdown(sockets_.feed.get(), SHUT_RDWR), 0);  // Or the writer would wait for a reader.
}

TEST_F(FeedSessionTest, TheMemoryHoldsWhatAnEpochHolds) {
  Start(1);
  const LoaderOptions options = data_.Options();
  EXPECT_EQ(DigestOfTheRest(1), data_.Digest(data_.Order(options.plan), options.dtype));
  EXPECT_EQ(last_.flags, kLastOfEpoch);
}

TEST_F(FeedSessionTest, ABatchStaysUntilItsSlotIsReleased) {
  Start(1);
  std::set<uint32_t> slots;
  for (uint32_t step = 0; step < kSlots; ++step) {
    session_->NoteWaiting(1, step);  // Without this, small batches may come together later.
    slots.insert(Next().message.slot);
  }
  EXPECT_THAT(slots, SizeIs(kSlots));
  char byte = 0;
  EXPECT_EQ(recv(sockets_.consumer.get(), &byte, 1, MSG_DONTWAIT), -1) << "a fifth batch";
  EXPECT_THAT(session_->Release(1, 2), IsOk());
  session_->NoteWaiting(1, kSlots);
  EXPECT_EQ(Next().message.slot, 2u);
}

TEST_F(FeedSessionTest, BeginsAgainAtACursorAndReleasesOfBeforeDoNothing) {
  Start(1);
  const Received first = Next();
  const Cursor after = {shape_->order_fingerprint, first.message.end_epoch,
                        first.message.end_position};
  Start(2, after);
  for (uint32_t slot = 0; slot < kSlots; ++slot) EXPECT_THAT(session_->Release(1, slot), IsOk());
  const LoaderOptions options = data_.Options();
  std::vector<uint64_t> order = data_.Order(options.plan);
  order.erase(order.begin(), order.begin() + first.message.global_rows);
  EXPECT_EQ(DigestOfTheRest(2), data_.Digest(order, options.dtype));
}

TEST_F(FeedSessionTest, AReleaseOfBeforeFreesNoSlot) {
  Start(1);
  Start(2);
  for (uint32_t step = 0; step < kSlots; ++step) {
    session_->NoteWaiting(2, step);
    while (Next().message.generation != 2) {
    }
  }
  EXPECT_THAT(session_->Release(1, 2), IsOk());
  EXPECT_THAT(session_->Release(2, 1), IsOk());
  session_->NoteWaiting(2, kSlots);
  EXPECT_EQ(Next().message.slot, 1u);
}

TEST_F(FeedSessionTest, StepsAreCountedFromTheFirstStepOn) {
  LoaderOptions options = data_.Options();
  options.max_steps = 5;
  session_ = std::make_unique<FeedSession>(std::move(options), shape_->slot_bytes, *writer_);
  session_->Start(1, {std::nullopt, kSlots, 3}, UniqueFd(dup(memory_.get())));
  session_->NoteWaiting(1, 4);
  EXPECT_EQ(Next().message.step, 3u);
  EXPECT_EQ(Next().message.step, 4u);
  EXPECT_EQ(Next().message.kind, ToConsumer::kEnd);
  session_->Start(2, {std::nullopt, kSlots, 5}, UniqueFd());
  EXPECT_EQ(Next().message.kind, ToConsumer::kEnd);
}

TEST_F(FeedSessionTest, BatchesThatAreHeldKeepTheirRowsWhenOtherMemoryComes) {
  Start(1);
  const size_t bytes = shape_->slot_bytes;
  for (uint32_t step = 0; step < kSlots; ++step) {
    session_->NoteWaiting(1, step);
    Next();
  }
  const std::string held(reinterpret_cast<const char*>(mapped_), kSlots * bytes);
  const UniqueFd other = MakeMemory(kSlots * bytes);
  session_->Start(2, {std::nullopt, kSlots}, UniqueFd(dup(other.get())));
  EXPECT_EQ(Next().message.generation, 2u);
  EXPECT_TRUE(held == std::string(reinterpret_cast<const char*>(mapped_), kSlots * bytes));
}

TEST_F(FeedSessionTest, ErrorsBelongToAGenerationAndTheNextOneMayBegin) {
  Start(1, Cursor{.order_fingerprint = 1});
  const Received error = Next();
  EXPECT_EQ(error.message.kind, ToConsumer::kError);
  EXPECT_EQ(error.message.generation, 1u);
  EXPECT_THAT(error.text, HasSubstr("belongs to another order"));
  Start(2);
  EXPECT_EQ(Next().message.kind, ToConsumer::kBatch);
  EXPECT_THAT(session_->Release(2, kSlots),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("")));
}

TEST_F(FeedSessionTest, WaitsAreTheConsumersAlone) {
  Start(1);
  DigestOfTheRest(1);
  session_->NoteWaiting(1, 7);
  EXPECT_THAT(session_->AnswerStats(1), IsOk());
  const auto stats = nlohmann::json::parse(Next().text);
  EXPECT_GT(stats["rows"], 0);
  EXPECT_THAT(stats["servers"], SizeIs(1));
  EXPECT_FALSE(stats.contains("metrics"));
}

TEST_F(FeedSessionTest, GivesItsMetricsOnRequest) {
  EXPECT_THAT(session_->AnswerStats(0, /*with_metrics=*/true), IsOk());
  const auto stats = nlohmann::json::parse(Next().text);
  EXPECT_THAT(stats["metrics"], HasSubstr("\npenstock_client_rows_total 0\n"));
  EXPECT_THAT(stats["metrics"], HasSubstr("\npenstock_client_batch_wait_seconds_count 0\n"));
}

TEST(FeedMemoryTest, RefusesWhatCouldShrinkOrIsTooSmall) {
  EXPECT_THAT(FeedMemory::Map(MakeMemory(4096, F_SEAL_GROW), 4096),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("F_SEAL_SHRINK")));
  EXPECT_THAT(FeedMemory::Map(MakeMemory(4096), 4097),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4097")));
  SocketPair sockets;
  EXPECT_THAT(FeedMemory::Map(std::move(sockets.feed), 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("")));
}

TEST(FeedRequestsTest, CutsWhatComesInPieces) {
  const SocketPair sockets;
  FeedRequests requests(sockets.feed.get());
  const std::string text = R"({"cursor": "", "slots": 8})";
  const RequestMessage start = {.kind = ToFeed::kStart, .generation = 3, .value = text.size()};
  const RequestMessage release = {.kind = ToFeed::kRelease, .generation = 3, .value = 5};
  std::string bytes(reinterpret_cast<const char*>(&start), sizeof start);
  bytes += text;
  bytes.append(reinterpret_cast<const char*>(&release), sizeof release);
  ASSERT_EQ(send(sockets.consumer.get(), bytes.data(), 20, 0), 20);
  std::vector<Request> cut;
  EXPECT_THAT(requests.Next(cut), IsOkAndHolds(true));
  EXPECT_THAT(cut, IsEmpty());
  send(sockets.consumer.get(), bytes.data() + 20, bytes.size() - 20, 0);
  EXPECT_THAT(requests.Next(cut), IsOkAndHolds(true));
  ASSERT_THAT(cut, SizeIs(2));
  EXPECT_EQ(cut[0].text, text);
  EXPECT_EQ(cut[1].message.value, 5u);
  shutdown(sockets.consumer.get(), SHUT_RDWR);
  EXPECT_THAT(requests.Next(cut), IsOkAndHolds(false));
}

TEST(FeedRequestsTest, AConsumerThatEndsWithoutReadingEverythingIsNoError) {
  SocketPair sockets;
  FeedRequests requests(sockets.feed.get());
  ASSERT_EQ(send(sockets.feed.get(), "unread", 6, 0), 6);
  sockets.consumer.Reset();  // The feed's end then reports ECONNRESET.
  std::vector<Request> cut;
  EXPECT_THAT(requests.Next(cut), IsOkAndHolds(false));
}

TEST(FeedRequestsTest, RefusesNonsense) {
  const SocketPair sockets;
  FeedRequests requests(sockets.feed.get());
  std::vector<Request> cut;
  RequestMessage wrong = {.kind = ToFeed::kStart, .value = kMaxStartBytes + 1};
  ASSERT_GT(send(sockets.consumer.get(), &wrong, sizeof wrong, 0), 0);
  EXPECT_THAT(requests.Next(cut), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4096")));
  FeedRequests others(sockets.feed.get());
  wrong.kind = static_cast<ToFeed>(9);
  ASSERT_GT(send(sockets.consumer.get(), &wrong, sizeof wrong, 0), 0);
  EXPECT_THAT(others.Next(cut), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kind 9")));
}

TEST(FeedTextTest, DamageHasItsPlaceInFields) {
  const auto error = nlohmann::json::parse(ErrorText(absl::DataLossError(
      "/data/a b.tfrecord: chunk at offset 4096, record 17 (record 90 of the shard) was "
      "damaged after it was indexed")));
  EXPECT_EQ(error["shard"], "/data/a b.tfrecord");
  EXPECT_EQ(error["code"], "DATA_LOSS");
  EXPECT_EQ(error["offset"], 4096);
  EXPECT_EQ(error["record"], 17);
}

TEST(FeedTextTest, StartIsChecked) {
  EXPECT_EQ(ParseStartText(R"({"cursor": "", "slots": 8})")->slots, 8u);
  EXPECT_EQ(ParseStartText(R"({"cursor": "", "slots": 8, "step": 7})")->step, 7u);
  for (const char* wrong :
       {"", "[]", R"({"cursor": "", "slots": 8, "step": "7"})", R"({"slots": 8})",
        R"({"cursor": "", "slots": 1})", R"({"cursor": "ps1-", "slots": 8})",
        R"({"cursor": "", "slots": -4})"}) {
    EXPECT_THAT(ParseStartText(wrong), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("")))
        << wrong;
  }
}

}  // namespace
}  // namespace penstock::feed
