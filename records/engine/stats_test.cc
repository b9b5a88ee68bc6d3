// Tests the statistics of an engine and its sessions.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"

namespace penstock {
namespace {

using StatsTest = EngineFixture;

TEST_F(StatsTest, TellsWhereTheTimeOfTheThreadsWent) {
  const ChessData& data = MakeData();
  Start({.threads = 2});
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = data.Window(1, {0, 1, 2});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitRows(1, window.rows));
  // A job is counted when it has ended, which is after its effects.
  EngineStats stats;
  ASSERT_TRUE(WaitUntil([&] {
    stats = engine_->stats();
    return stats.load_seconds > 0 && stats.build_seconds > 0 && stats.decode_seconds > 0 &&
           stats.send_seconds > 0;
  }));
  EXPECT_LE(stats.load_seconds + stats.build_seconds + stats.decode_seconds + stats.send_seconds,
            stats.capacity_seconds);
  EXPECT_EQ(stats.threads, 2u);
  EXPECT_EQ(stats.instance, session->info().instance);
}

TEST_F(StatsTest, TimeInsideAnEventIsSendingNotDecoding) {
  const ChessData& data = MakeData();
  Start({.threads = 1});
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = data.Window(1, {0});
  ASSERT_OK(session->OpenWindow(window));
  client.BlockParts();
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitRows(1, 1));
  const double before = engine_->stats().capacity_seconds;
  ASSERT_TRUE(WaitUntil([&] { return engine_->stats().capacity_seconds > before + 0.2; }));
  client.UnblockParts();
  ASSERT_TRUE(client.WaitRows(1, window.rows));
  EXPECT_TRUE(WaitUntil([&] { return engine_->stats().send_seconds >= 0.2; }));
}

TEST_F(StatsTest, TellsWhatASessionWaitsForUntilItHasIt) {
  const ChessData& data = MakeData();
  Start();
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = data.Window(1, {0, 1});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_TRUE(client.WaitReady(1));
  client.HoldParts();
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitRows(1, window.rows));
  ASSERT_TRUE(WaitUntil([&] { return session->stats().waiting_requests == 0; }));
  EXPECT_EQ(session->stats().windows, 1u);
  EXPECT_EQ(session->stats().waiting_bytes, 0u);
  EXPECT_GT(session->stats().part_bytes, 0u);
  client.DropParts();
  EXPECT_TRUE(WaitUntil([&] { return session->stats().part_bytes == 0; }));
}

TEST_F(StatsTest, WaitingBytesAreOfRowsNotTakenAndGoWithACancel) {
  const ChessData& data = MakeData();
  // There is memory for one part, which the client keeps, so the rest of the request must wait.
  Start({.threads = 1,
         .limits = {.session_part_bytes = uint64_t{1} << 20,
                    .engine_part_bytes = uint64_t{1} << 20}});
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = data.Window(1, {0, 1, 2, 3, 4, 5});
  ASSERT_OK(session->OpenWindow(window));
  client.HoldParts();
  ASSERT_OK(session->Fetch(FetchAll(window, 1, WireDtype::kF64)));
  ASSERT_OK(session->Fetch(FetchAll(window, 2, WireDtype::kF64)));
  ASSERT_TRUE(client.WaitRows(1, 1));
  const uint64_t waiting = session->stats().waiting_bytes;
  EXPECT_GT(waiting, 0u);
  EXPECT_EQ(engine_->stats().waiting_bytes, waiting);
  EXPECT_EQ(engine_->stats().waiting_requests, session->stats().waiting_requests);
  session->Cancel(2);
  EXPECT_LT(session->stats().waiting_bytes, waiting);
  session->Cancel(1);
  EXPECT_EQ(session->stats().waiting_bytes, 0u);
  EXPECT_EQ(session->stats().waiting_requests, 0u);
  client.DropParts();
}

}  // namespace
}  // namespace penstock
