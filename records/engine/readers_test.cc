// Tests chunks that additional threads read while storage is slow. A limit of zero makes all
// storage slow.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "base/process/start_thread.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"

namespace penstock {
namespace {

constexpr EngineLimits kSlow = {.slow_read = std::chrono::nanoseconds(-1'000'000'000)};
constexpr EngineLimits kFast = {.slow_read = std::chrono::hours(1)};

class ReadersTest : public EngineFixture {
 protected:
  // Reads windows of two chunks each, side by side.
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

// The first slow read is that of a thread that also decodes.
TEST_F(ReadersTest, TakeTheLoadsOfThreadsThatDecode) {
  MakeData({.shards = 4, .chunks_per_shard = 16});
  Start({.threads = 1, .read_threads = 8, .limits = kSlow});
  ReadAll(1);
  const double before = engine_->stats().read_seconds;
  ReadAll(32);
  EXPECT_GT(engine_->stats().read_seconds, before);
}

// The limit does not apply to root, so this test uses a user id that nothing else uses.
void AllowThreads(size_t count) {
  const rlimit limit = {count, count};
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) std::abort();
  if (getuid() == 0 && setuid(100'000 + static_cast<uid_t>(getpid())) != 0) std::abort();
}

// Threads that have ended count until the kernel has removed them.
bool GrpcGetsItsThreads() {
  for (int attempt = 0; attempt < 10'000; ++attempt) {
    if (ThreadsOfGrpc::Reserve().ok()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// There is one engine thread. When it has read again, it has started the readers.
TEST_F(ReadersTest, LeaveGrpcItsThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  MakeData({.shards = 4, .chunks_per_shard = 16});
  chmod(folder_.path().c_str(), 0755);
  EXPECT_EXIT(
      {
        AllowThreads(2 + ThreadsOfGrpc::Most() + 4);
        Start({.threads = 1, .read_threads = 8, .limits = kSlow});
        ReadAll(1);
        ReadAll(1);
        _exit(GrpcGetsItsThreads() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
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
  engine_.reset();  // Some loads may not be awaited any more.
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
