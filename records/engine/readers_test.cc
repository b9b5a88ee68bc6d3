// Chunks that more threads read while storage is slow. Where no read may take any time, all is.
#include <cstdio>

#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"

namespace penstock {
namespace {

constexpr EngineLimits kSlow = {.slow_read = std::chrono::nanoseconds(-1'000'000'000)};
constexpr EngineLimits kFast = {.slow_read = std::chrono::hours(1)};

class ReadersTest : public EngineFixture {
 protected:
  // Windows of two chunks each, read side by side.
  void ReadAll(uint64_t windows) {
    Recorder client;
    auto session = Open(client);
    std::vector<OpenWindow> opened;
    for (uint64_t number = 1; number <= windows; ++number) {
      opened.push_back(data_->Window(number, {2 * number - 2, 2 * number - 1}));
      ASSERT_OK(session->OpenWindow(opened.back()));
      ASSERT_OK(session->Fetch(FetchAll(opened.back(), number)));
    }
    for (const OpenWindow& window : opened) {
      ExpectAnswer(client, window, FetchAll(window, window.window));
    }
  }
};

TEST_F(ReadersTest, GiveTheSameRows) {
  MakeData({.shards = 4, .chunks_per_shard = 16});
  Start({.threads = 1, .read_threads = 8, .limits = kSlow});
  ReadAll(32);
  EXPECT_EQ(engine_->stats().slow_reads, 64u);
  EXPECT_EQ(engine_->stats().chunks_loaded, 64u);
}

TEST_F(ReadersTest, OthersReadWhereThereAreNone) {
  MakeData({.shards = 4, .chunks_per_shard = 16});
  Start({.threads = 1, .read_threads = 0, .limits = kSlow});
  ReadAll(32);
  EXPECT_EQ(engine_->stats().slow_reads, 64u);
}

// The first slow read is that of a thread which decodes too.
TEST_F(ReadersTest, TakeTheLoadsOfThreadsThatDecode) {
  MakeData({.shards = 4, .chunks_per_shard = 16});
  Start({.threads = 1, .read_threads = 8, .limits = kSlow});
  ReadAll(1);
  const double before = engine_->stats().read_seconds;
  ReadAll(32);
  EXPECT_GT(engine_->stats().read_seconds, before);
}

TEST_F(ReadersTest, ASessionEndsWhileTheyRead) {
  MakeData({.shards = 4, .chunks_per_shard = 16});
  Start({.threads = 1, .read_threads = 8, .limits = kSlow});
  ReadAll(1);
  for (int round = 0; round < 20; ++round) {
    Recorder client;
    auto session = Open(client);
    for (uint64_t number = 1; number <= 32; ++number) {
      ASSERT_OK(session->OpenWindow(data_->Window(number, {2 * number - 2, 2 * number - 1})));
    }
    ASSERT_TRUE(client.WaitReady(1));
  }
  engine_.reset();  // With loads that nobody waits for any more, perhaps.
}

TEST_F(ReadersTest, SleepWhereReadsAreFast) {
  MakeData({.shards = 4, .chunks_per_shard = 16});
  Start({.threads = 1, .read_threads = 8, .limits = kFast});
  ReadAll(32);
  EXPECT_EQ(engine_->stats().slow_reads, 0u);
  EXPECT_EQ(engine_->stats().read_seconds, 0.0);
}

TEST_F(ReadersTest, OneChunkIsReadHoweverLargeItIs) {
  MakeData({.shards = 4, .chunks_per_shard = 16});
  EngineLimits limits = kSlow;
  limits.reading_bytes = 1;
  Start({.threads = 1, .read_threads = 8, .limits = limits});
  ReadAll(32);
}

TEST_F(ReadersTest, AMissingShardFailsTheWindow) {
  const ChessData& data = MakeData({.shards = 4, .chunks_per_shard = 16});
  Start({.threads = 1, .read_threads = 8, .limits = kSlow});
  ReadAll(1);
  std::remove(folder_.File(data.shards()[3].path).c_str());
  Recorder client;
  auto session = Open(client);
  OpenWindow window = data.Window(1, {4, 60});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  EXPECT_TRUE(client.WaitErrors(1));
}

}  // namespace
}  // namespace penstock
