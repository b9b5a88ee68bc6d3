// Tests what a client may do wrong, interrupt or leave undone.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class SessionTest : public EngineFixture {
 protected:
  // Large enough that the i8 parts of a window have one MiB each.
  const ChessData& MakeLargeData() {
    return MakeData({.shards = 1, .chunks_per_shard = 8, .records_per_chunk = 2000});
  }
};

TEST_F(SessionTest, RefusesANumberThatIsInUse) {
  const ChessData& data = MakeData();
  Start();
  Recorder client;
  auto session = Open(client);
  ASSERT_OK(session->OpenWindow(data.Window(1, {0})));
  EXPECT_THAT(session->OpenWindow(data.Window(1, {0})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("window 1 is open already")));
  client.BlockParts();
  ASSERT_OK(session->Fetch({.request = 5, .window = 1, .rows = 1}));
  EXPECT_THAT(session->Fetch({.request = 5, .window = 1, .rows = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("request 5 is in use")));
  client.UnblockParts();
}

TEST_F(SessionTest, RefusesAnUnknownWindow) {
  MakeData();
  Start();
  Recorder client;
  auto session = Open(client);
  EXPECT_THAT(session->Fetch({.window = 9, .rows = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("window 9 is not open")));
  EXPECT_OK(session->Release(9));
  session->Cancel(9);
}

TEST_F(SessionTest, AMillionWindowsMeetTheLimit) {
  const ChessData& data = MakeData();
  Start();
  Recorder client;
  auto session = Open(client);
  OpenWindow window = data.Window(0, {0});
  absl::Status status;
  for (window.window = 0; window.window < 1'000'000 && status.ok(); ++window.window) {
    status = session->OpenWindow(window);
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("1024 windows are open; the limit is 1024")));
}

// The client's plan does not fit, but the stream is not broken.
TEST_F(SessionTest, AWindowBeyondTheLimitFailsAlone) {
  const ChessData& data = MakeData();
  Start({.limits = {.max_chunks_per_window = 3}});
  Recorder client;
  auto session = Open(client);
  ASSERT_OK(session->OpenWindow(data.Window(0, {0, 1, 2, 3})));
  ASSERT_TRUE(client.WaitErrors(1));
  EXPECT_EQ(client.errors()[0].window, 0u);
  EXPECT_THAT(client.errors()[0].status,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the limit is 3")));
  ASSERT_OK(session->Release(0));
  ASSERT_OK(session->OpenWindow(data.Window(1, {0})));
  ASSERT_OK(session->Fetch({.request = 1, .window = 1, .rows = 1}));
  EXPECT_TRUE(client.WaitRows(1, 1));
}

TEST_F(SessionTest, RequestsMeetTheLimit) {
  const ChessData& data = MakeData();
  Start({.limits = {.max_requests = 10}});
  Recorder client;
  auto session = Open(client);
  ASSERT_OK(session->OpenWindow(data.Window(0, {0})));
  client.BlockParts();
  absl::Status status;
  for (uint64_t i = 0; i < 20 && status.ok(); ++i) {
    status = session->Fetch({.request = i, .window = 0, .rows = 1});
  }
  client.UnblockParts();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("limit is 10")));
}

TEST_F(SessionTest, AClientThatDoesNotReadCostsNoMoreThanItsLimit) {
  const ChessData& data = MakeLargeData();
  Start({.limits = {.session_part_bytes = uint64_t{3} << 20}});
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = data.Window(0, {0, 1, 2, 3});
  ASSERT_OK(session->OpenWindow(window));
  client.HoldParts();
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitParts(3));
  // The threads still serve others, and load for this session.
  Recorder other;
  auto second = Open(other);
  ASSERT_OK(second->OpenWindow(window));
  ASSERT_OK(second->Fetch(FetchAll(window, 1)));
  ExpectAnswer(other, window, FetchAll(window, 1));
  EXPECT_EQ(client.order().size(), 3u);
  EXPECT_LE(engine_->stats().part_bytes, uint64_t{3} << 20);
  client.DropParts();
  ExpectAnswer(client, window, FetchAll(window, 1));
}

TEST_F(SessionTest, AllClientsTogetherCostNoMoreThanTheEnginesLimit) {
  const ChessData& data = MakeLargeData();
  Start({.limits = {.session_part_bytes = uint64_t{2} << 20,
                    .engine_part_bytes = uint64_t{3} << 20}});
  Recorder first, second;
  auto one = Open(first), two = Open(second);
  const OpenWindow window = data.Window(0, {0, 1});
  for (auto* client : {&first, &second}) client->HoldParts();
  for (Session* session : {one.get(), two.get()}) {
    ASSERT_OK(session->OpenWindow(window));
    ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  }
  ASSERT_TRUE(first.WaitParts(1) && second.WaitParts(1));
  EXPECT_LE(first.order().size() + second.order().size(), 3u);
  first.DropParts();
  second.DropParts();
  ExpectAnswer(first, window, FetchAll(window, 1));
  ExpectAnswer(second, window, FetchAll(window, 1));
}

TEST_F(SessionTest, WhereOthersHoldAllPartsAreSmall) {
  const ChessData& data = MakeLargeData();
  Start({.limits = {.session_part_bytes = uint64_t{2} << 20,
                    .engine_part_bytes = uint64_t{2} << 20}});
  Recorder greedy, other;
  auto one = Open(greedy), two = Open(other);
  const OpenWindow window = data.Window(0, {0, 1});
  greedy.HoldParts();
  ASSERT_OK(one->OpenWindow(window));
  ASSERT_OK(one->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(greedy.WaitParts(2));
  other.HoldParts();
  ASSERT_OK(two->OpenWindow(window));
  ASSERT_OK(two->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(other.WaitParts(1));
  EXPECT_LE(engine_->stats().part_bytes, (uint64_t{2} << 20) + (64 << 10));
  other.DropParts();
  ExpectAnswer(other, window, FetchAll(window, 1));
  greedy.DropParts();
  ExpectAnswer(greedy, window, FetchAll(window, 1));
}

TEST_F(SessionTest, BlocksThatSessionsShareAreWithinTheEnginesLimit) {
  strip_cache_ = uint64_t{8} << 20;
  const ChessData& data = MakeLargeData();
  Start({.limits = {.session_part_bytes = uint64_t{2} << 20,
                    .engine_part_bytes = uint64_t{2} << 20}});
  const OpenWindow window = data.Window(0, {0, 1, 2, 3});
  constexpr size_t kClients = 10;
  Recorder clients[kClients];
  std::vector<std::unique_ptr<Session>> sessions;
  for (Recorder& client : clients) {
    client.HoldParts();
    sessions.push_back(Open(client));
    ASSERT_OK(sessions.back()->OpenWindow(window));
    ASSERT_TRUE(client.WaitReady(0));
  }
  for (uint32_t i = 0; i < kClients; ++i) {  // Each client reads another block.
    const Fetch fetch = {.request = 1, .window = 0, .first_row = 8 + i * 656, .rows = 40};
    ASSERT_OK(sessions[i]->Fetch(fetch));
    ExpectAnswer(clients[i], window, fetch);
  }
  EXPECT_LE(engine_->stats().part_bytes, (uint64_t{2} << 20) + (kClients - 2) * (64 << 10));
  for (Recorder& client : clients) client.DropParts();
}

TEST_F(SessionTest, ReleaseAndCancelWhileLoading) {
  const ChessData& data = MakeLargeData();
  Start();
  Recorder client;
  auto session = Open(client);
  for (uint64_t i = 0; i < 100; ++i) {
    const OpenWindow window = data.Window(i, {i % 8, (i + 3) % 8});
    ASSERT_OK(session->OpenWindow(window));
    ASSERT_OK(session->Fetch(FetchAll(window, i)));
    if (i % 2 == 0) session->Cancel(i);
    if (i % 3 == 0) {
      ASSERT_OK(session->Release(i));
    }
  }
  const OpenWindow last = data.Window(1000, {7, 2, 5});
  ASSERT_OK(session->OpenWindow(last));
  ASSERT_OK(session->Fetch(FetchAll(last, 1000)));
  ExpectAnswer(client, last, FetchAll(last, 1000));
}

TEST_F(SessionTest, ReleaseWhileDecodingKeepsTheRunningPartWhole) {
  const ChessData& data = MakeLargeData();
  Start({.threads = 1});
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = data.Window(0, {0, 1});
  client.BlockParts();
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitBlocked());
  ASSERT_OK(session->Release(0));
  ASSERT_OK(session->OpenWindow(window));  // The number is free again.
  client.UnblockParts();
  ASSERT_OK(session->Fetch(FetchAll(window, 2)));
  ExpectAnswer(client, window, FetchAll(window, 2));
}

TEST_F(SessionTest, DestructionMidFlightEndsAllEvents) {
  const ChessData& data = MakeLargeData();
  Start();
  for (uint64_t i = 0; i < 30; ++i) {
    auto client = std::make_unique<Recorder>();
    auto session = Open(*client);
    for (uint64_t w = 0; w < 4; ++w) {
      const OpenWindow window = data.Window(w, {w, w + 4});
      ASSERT_OK(session->OpenWindow(window));
      ASSERT_OK(session->Fetch(FetchAll(window, w)));
    }
    ASSERT_TRUE(client->WaitParts(i % 5));
    session.reset();
    client.reset();  // Any later event would use freed memory.
  }
  EXPECT_EQ(engine_->stats().sessions, 0u);
  EXPECT_EQ(engine_->stats().pinned_bytes, 0u);
}

TEST_F(SessionTest, PartsOutliveSessionAndEngine) {
  const ChessData& data = MakeLargeData();
  Start();
  Recorder client;
  client.HoldParts();
  auto session = Open(client);
  const OpenWindow window = data.Window(0, {0});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitRows(1, window.rows));
  session.reset();
  EXPECT_GT(engine_->stats().part_bytes, 0u);
  engine_.reset();
  client.DropParts();
}

TEST_F(SessionTest, SessionsTakeTurns) {
  const ChessData& data = MakeLargeData();
  Start({.threads = 1});
  Recorder greedy, modest;
  auto one = Open(greedy), two = Open(modest);
  const OpenWindow large = data.Window(0, {0, 1, 2, 3, 4, 5, 6, 7}), small = data.Window(0, {0});
  ASSERT_OK(one->OpenWindow(large));
  ASSERT_OK(two->OpenWindow(small));
  ASSERT_TRUE(greedy.WaitReady(0) && modest.WaitReady(0));
  greedy.BlockParts();
  ASSERT_OK(one->Fetch(FetchAll(large, 1)));
  ASSERT_TRUE(greedy.WaitBlocked());
  ASSERT_OK(two->Fetch({.request = 1, .window = 0, .rows = 676, .needed_at = 1 << 30}));
  modest.BlockParts();
  greedy.UnblockParts();
  ASSERT_TRUE(modest.WaitBlocked());
  // At most two turns' worth of the 24 parts that the first session requested came before the
  // other's.
  EXPECT_LE(greedy.order().size(), 3u);
  modest.UnblockParts();
  ExpectAnswer(greedy, large, FetchAll(large, 1));
}

}  // namespace
}  // namespace penstock
