// Windows under a budget that does not hold all of them.
#include <algorithm>
#include <chrono>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BudgetTest : public EngineFixture {
 protected:
  // Bytes that a window of one chunk takes.
  uint64_t WindowCost() {
    Start();
    Recorder client;
    auto session = Open(client);
    EXPECT_OK(session->OpenWindow(data_->Window(0, {0})));
    EXPECT_TRUE(client.WaitReady(0));
    return engine_->stats().pinned_bytes;
  }
  // An engine in which so many windows of one chunk fit, beside the definitions of a few and an
  // eighth for parts.
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
  // Windows of the first `n` chunks, numbered from `first` on, one after the other.
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
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("side by side")));
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
  // The one that gave up its memory is loaded again when it is read.
  const OpenWindow first = data_->Window(1, {1});
  ASSERT_OK(session->Fetch(FetchAll(first, 1)));
  ExpectAnswer(client, first, FetchAll(first, 1));
}

TEST_F(BudgetTest, AnIdlePinYieldsToAnotherClient) {
  MakeData();
  StartWithRoomFor(1.5, {.idle_pin = std::chrono::milliseconds(30)});
  Recorder slow, other;
  auto one = Open(slow), two = Open(other);
  OpenAndFetch(*one, slow, 1, 0);
  OpenAndFetch(*two, other, 1, 1);
  EXPECT_EQ(engine_->stats().windows_yielded, 1u);
  const OpenWindow window = data_->Window(1, {0});
  ASSERT_OK(one->Fetch(FetchAll(window, 2)));
  ExpectAnswer(slow, window, FetchAll(window, 2));
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
  // None of them needs a chunk that is not there, and yet chunks go.
  for (uint64_t w = 100; w < 150; ++w) ASSERT_OK(session->OpenWindow(data.Window(w, {0})));
  EXPECT_GT(engine_->stats().chunks_evicted, 0u);
  // Windows that were pinned before the last of them came may exceed the budget together with them.
  constexpr uint64_t kDefinitions = 54 * 1'000;
  const EngineStats stats = engine_->stats();
  EXPECT_LE(stats.resident_bytes, std::max(stats.budget_bytes, stats.pinned_bytes + kDefinitions));
  // What is read is served all the same.
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
                               AllOf(HasSubstr("definitions of open windows take"),
                                     HasSubstr("the limit is 97.7 KiB"))));
  session = nullptr;
  EXPECT_OK(second->OpenWindow(data.Window(1, {0})));
}

TEST_F(BudgetTest, TwoClientsThatNeedMoreThanThereIsBothFinish) {
  const ChessData& data = MakeData();
  StartWithRoomFor(2.5, {.idle_pin = std::chrono::milliseconds(1)});
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
