// Tests windows under a budget that does not have room for all of them.
#include <algorithm>
#include <chrono>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BudgetTest : public EngineFixture {
 protected:
  // Returns the number of bytes that a window of one chunk takes.
  uint64_t WindowCost() {
    Start();
    Recorder client;
    auto session = Open(client);
    EXPECT_OK(session->OpenWindow(data_->Window(0, {0})));
    EXPECT_TRUE(client.WaitReady(0));
    return engine_->stats().pinned_bytes;
  }
  // Starts an engine with room for `windows` windows of one chunk, for a few definitions, and for
  // parts, which get an eighth.
  void StartWithRoomFor(double windows, EngineLimits limits = {}) {
    const double store = windows * static_cast<double>(WindowCost()) + 3'000;
    const auto budget = static_cast<uint64_t>(store * 8 / 7);
    Start({.memory_budget = budget, .limits = limits});
  }
  void OpenAndFetch(Session& session, Recorder& client, uint64_t number, size_t chunk) {
    const OpenWindow window = data_->Window(number, {chunk});
    ASSERT_OK(session.OpenWindow(window));
    ASSERT_OK(session.Fetch(FetchAll(window, number)));
    ExpectAnswer(client, window, FetchAll(window, number));
  }
  // Returns false after a minute.
  static bool BecomesStarved(const Session& session) {
    for (int i = 0; i < 60'000 && session.stats().starved_windows == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return session.stats().starved_windows > 0;
  }
  // Reads windows of the first `n` chunks, numbered from `first` on, one after the other.
  void ReadAndRelease(Session& session, Recorder& client, uint64_t first, uint64_t n) {
    for (uint64_t w = 0; w < n; ++w) {
      OpenAndFetch(session, client, first + w, w);
      ASSERT_OK(session.Release(first + w));
    }
  }
};

TEST_F(BudgetTest, AWindowLargerThanTheBudgetIsRefusedWithTheNumbers) {
  const ChessData& data = MakeData();
  StartWithRoomFor(1.5);
  Recorder client;
  auto session = Open(client);
  ASSERT_OK(session->OpenWindow(data.Window(1, {0, 1})));
  ASSERT_TRUE(client.WaitErrors(1));
  EXPECT_EQ(client.errors()[0].window, 1u);
  EXPECT_THAT(client.errors()[0].status,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("window 1 takes"), HasSubstr("budget for windows is"))));
}

TEST_F(BudgetTest, WindowsReadSideBySideMustFitTogether) {
  const ChessData& data = MakeData();
  StartWithRoomFor(2.5);
  Recorder client;
  auto session = Open(client);
  OpenAndFetch(*session, client, 1, 0);
  OpenAndFetch(*session, client, 2, 1);
  ASSERT_OK(session->OpenWindow(data.Window(3, {2})));
  ASSERT_OK(session->Fetch({.request = 3, .window = 3, .rows = 1}));
  ASSERT_TRUE(client.WaitErrors(1));
  EXPECT_EQ(client.errors()[0].request, 3u);
  EXPECT_THAT(client.errors()[0].status,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("other windows in use")));
  ASSERT_OK(session->Release(1));
  ASSERT_OK(session->Fetch({.request = 4, .window = 3, .rows = 1}));
  EXPECT_TRUE(client.WaitRows(4, 1));
}

TEST_F(BudgetTest, WindowsOpenedAheadWaitForRoom) {
  const ChessData& data = MakeData();
  StartWithRoomFor(2.5);
  Recorder client;
  auto session = Open(client);
  for (uint64_t w = 1; w <= 3; ++w) ASSERT_OK(session->OpenWindow(data.Window(w, {w})));
  ASSERT_TRUE(client.WaitReady(1) && client.WaitReady(2));
  EXPECT_EQ(engine_->stats().waiting_windows, 1u);
  ASSERT_OK(session->Release(1));
  EXPECT_TRUE(client.WaitReady(3));
}

TEST_F(BudgetTest, WindowsOpenedAheadMakeRoomForTheOneThatIsRead) {
  MakeData();
  StartWithRoomFor(2.5);
  Recorder client;
  auto session = Open(client);
  for (uint64_t w = 1; w <= 4; ++w) ASSERT_OK(session->OpenWindow(data_->Window(w, {w})));
  ASSERT_TRUE(client.WaitReady(1) && client.WaitReady(2));
  const OpenWindow window = data_->Window(4, {4});
  ASSERT_OK(session->Fetch(FetchAll(window, 4)));
  ExpectAnswer(client, window, FetchAll(window, 4));
  EXPECT_EQ(engine_->stats().windows_yielded, 1u);
  ASSERT_OK(session->Release(4));
  // The window that gave up its memory is loaded again when it is read.
  const OpenWindow first = data_->Window(1, {1});
  ASSERT_OK(session->Fetch(FetchAll(first, 1)));
  ExpectAnswer(client, first, FetchAll(first, 1));
}

TEST_F(BudgetTest, AWindowThatIsNotReadYieldsToAnotherClient) {
  MakeData();
  StartWithRoomFor(1.5);
  Recorder slow, other;
  auto one = Open(slow), two = Open(other);
  OpenAndFetch(*one, slow, 1, 0);
  OpenAndFetch(*two, other, 1, 1);
  EXPECT_EQ(engine_->stats().windows_yielded, 1u);
  const OpenWindow window = data_->Window(1, {0});
  ASSERT_OK(one->Fetch(FetchAll(window, 2)));
  ExpectAnswer(slow, window, FetchAll(window, 2));
}

TEST_F(BudgetTest, WhatAClientAsksForAndDoesNotReadYieldsToAnother) {
  const ChessData& data = MakeData({.shards = 1, .chunks_per_shard = 2, .records_per_chunk = 2000});
  StartWithRoomFor(
      1.5, {.session_part_bytes = uint64_t{1} << 20, .idle_pin = std::chrono::milliseconds(30)});
  Recorder stopped, other;
  auto one = Open(stopped), two = Open(other);
  stopped.HoldParts();
  const OpenWindow window = data.Window(1, {0});
  ASSERT_OK(one->OpenWindow(window));
  ASSERT_OK(one->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(stopped.WaitParts(1));
  OpenAndFetch(*two, other, 1, 1);
  EXPECT_EQ(engine_->stats().windows_yielded, 1u);
  EXPECT_EQ(stopped.order().size(), 1u);
  // Requests made in the meantime wait too.
  ASSERT_OK(one->Fetch(FetchAll(window, 2)));
  EXPECT_EQ(engine_->stats().waiting_windows, 0u);
  stopped.DropParts();
  ExpectAnswer(stopped, window, FetchAll(window, 1));
  ExpectAnswer(stopped, window, FetchAll(window, 2));
}

TEST_F(BudgetTest, AClientWhoseRowsWaitForMemoryIsCountedAsStarved) {
  const ChessData& data = MakeData();
  StartWithRoomFor(1.5, {.stay = std::chrono::hours(1)});
  Recorder starved, other;
  auto one = Open(starved), two = Open(other);
  OpenAndFetch(*one, starved, 1, 0);
  EXPECT_EQ(one->stats().starved_windows, 0u);
  OpenAndFetch(*two, other, 1, 1);  // This window takes the place of the first, and stays.
  ASSERT_OK(one->Fetch(FetchAll(data.Window(1, {0}), 2)));
  EXPECT_TRUE(BecomesStarved(*one));
  EXPECT_EQ(two->stats().starved_windows, 0u);
  ASSERT_OK(two->Release(1));
  ExpectAnswer(starved, data.Window(1, {0}), FetchAll(data.Window(1, {0}), 2));
  EXPECT_EQ(one->stats().starved_windows, 0u);
}

// Storage that hangs must not look like a lack of memory, for which clients wait without end.
TEST_F(BudgetTest, AWindowThatNoThreadHasLookedAtIsNotStarved) {
  const ChessData& data = MakeData();
  Start({.threads = 1});
  Recorder client;
  auto session = Open(client);
  client.BlockParts();
  ASSERT_OK(session->OpenWindow(data.Window(1, {0})));
  ASSERT_OK(session->Fetch(FetchAll(data.Window(1, {0}), 1)));
  ASSERT_TRUE(client.WaitBlocked());
  ASSERT_OK(session->OpenWindow(data.Window(2, {1})));
  ASSERT_OK(session->Fetch(FetchAll(data.Window(2, {1}), 2)));
  EXPECT_EQ(engine_->stats().waiting_windows, 1u);
  EXPECT_EQ(session->stats().starved_windows, 0u);
  client.UnblockParts();
  ExpectAnswer(client, data.Window(2, {1}), FetchAll(data.Window(2, {1}), 2));
}

// Nothing looks for it any more.
TEST_F(BudgetTest, AClientThatStoppedReadingMayLeave) {
  const ChessData& data = MakeData({.shards = 1, .chunks_per_shard = 2, .records_per_chunk = 2000});
  StartWithRoomFor(
      1.5, {.session_part_bytes = uint64_t{1} << 20, .idle_pin = std::chrono::milliseconds(1)});
  Recorder stopped, other;
  auto one = Open(stopped), two = Open(other);
  stopped.HoldParts();
  ASSERT_OK(one->OpenWindow(data.Window(1, {0})));
  ASSERT_OK(one->Fetch(FetchAll(data.Window(1, {0}), 1)));
  ASSERT_TRUE(stopped.WaitParts(1));
  OpenAndFetch(*two, other, 1, 1);
  one = nullptr;
  stopped.DropParts();
  ASSERT_OK(two->Release(1));
  OpenAndFetch(*two, other, 2, 0);
}

TEST_F(BudgetTest, UnpinnedChunksMakeRoomOldestFirst) {
  const ChessData& data = MakeData();
  StartWithRoomFor(3.5);
  Recorder client;
  auto session = Open(client);
  ReadAndRelease(*session, client, 0, 8);
  EXPECT_LE(engine_->stats().resident_bytes, engine_->stats().budget_bytes);
  const uint64_t read = engine_->stats().bytes_read;
  OpenAndFetch(*session, client, 10, 7);
  EXPECT_EQ(engine_->stats().bytes_read, read);
  OpenAndFetch(*session, client, 11, 0);
  EXPECT_EQ(engine_->stats().bytes_read, read + data.chunks()[0].size);
}

TEST_F(BudgetTest, DefinitionsOfWindowsThatWaitAreInTheBudget) {
  const ChessData& data = MakeData();
  StartWithRoomFor(5.5);
  Recorder client;
  auto session = Open(client);
  ReadAndRelease(*session, client, 0, 4);
  EXPECT_EQ(engine_->stats().chunks_evicted, 0u);
  // None of these windows needs a missing chunk, but chunks are evicted all the same.
  for (uint64_t w = 100; w < 150; ++w) ASSERT_OK(session->OpenWindow(data.Window(w, {0})));
  EXPECT_GT(engine_->stats().chunks_evicted, 0u);
  // The last windows that were pinned may exceed the budget together with the definitions.
  constexpr uint64_t kDefinitions = 54 * 1'000;
  const EngineStats stats = engine_->stats();
  EXPECT_LE(stats.resident_bytes, std::max(stats.budget_bytes, stats.pinned_bytes + kDefinitions));
  // Windows that are read are served all the same.
  ReadAndRelease(*session, client, 200, 4);
  session = nullptr;
  EXPECT_EQ(engine_->stats().pinned_bytes, 0u);
}

TEST_F(BudgetTest, DefinitionsBeyondTheirLimitAreRefusedWithTheNumbers) {
  const ChessData& data = MakeData();
  Start({.limits = {.max_definition_bytes = 100'000}});
  Recorder client, other;
  auto session = Open(client), second = Open(other);
  absl::Status status;
  for (uint64_t w = 0; w < 1000 && status.ok(); ++w) {
    status = session->OpenWindow(data.Window(w, {0}));
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               AllOf(HasSubstr("definitions of open windows and decode specs take"),
                                     HasSubstr("the limit is 97.7 KiB"))));
  session = nullptr;
  EXPECT_OK(second->OpenWindow(data.Window(1, {0})));
}

// A spec whose tables take about 1 MB.
StreamOptions LargeSpec(const std::string& feature) {
  StreamOptions options;
  options.spec.add_tensor()->set_name("x");
  v1::Bits& bits = *options.spec.mutable_tensor(0)->mutable_bits();
  bits.set_feature(feature);
  bits.set_feature_bytes(8192);
  bits.add_dims(65536);
  for (uint32_t bit = 0; bit < 65536; ++bit) {
    if (uint64_t{bit} * bit / 7 % 3 == 0) bits.add_negative(bit);
  }
  return options;
}

TEST_F(BudgetTest, SpecsCountAsDefinitionsOnceForAllTheirClients) {
  MakeData();
  Start({.limits = {.max_definition_bytes = 1'900'000}});
  Recorder client;
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(auto session, engine_->OpenSession(LargeSpec("a"), client));
    sessions.push_back(std::move(session));
  }
  EXPECT_THAT(engine_->OpenSession(LargeSpec("b"), client),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("decode specs take"), HasSubstr("the limit is 1.8 MiB"))));
  EXPECT_GT(engine_->stats().resident_bytes, 800'000u);
  sessions.clear();
  EXPECT_EQ(engine_->stats().resident_bytes, 0u);
  EXPECT_OK(engine_->OpenSession(LargeSpec("b"), client));
}

TEST_F(BudgetTest, TwoClientsThatNeedMoreThanThereIsBothFinish) {
  const ChessData& data = MakeData();
  StartWithRoomFor(2.5, {.stay = std::chrono::milliseconds(1)});
  Recorder first, second;
  auto one = Open(first), two = Open(second);
  for (uint64_t round = 0; round < 20; ++round) {
    for (auto& [session, client] : {std::pair(one.get(), &first), std::pair(two.get(), &second)}) {
      const uint64_t shift = client == &first ? 0 : 4;
      for (uint64_t k = 0; k < 2; ++k) {
        const OpenWindow window = data.Window(2 * round + k, {(round + k) % 4 + shift});
        ASSERT_OK(session->OpenWindow(window));
        ASSERT_OK(session->Fetch(FetchAll(window, window.window)));
      }
    }
    for (auto& [session, client] : {std::pair(one.get(), &first), std::pair(two.get(), &second)}) {
      for (uint64_t k = 0; k < 2; ++k) {
        ASSERT_TRUE(client->WaitRows(2 * round + k, 50));
        ASSERT_OK(session->Release(2 * round + k));
      }
    }
  }
}

}  // namespace
}  // namespace penstock
