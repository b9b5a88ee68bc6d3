// Tests sessions that read the same windows.
#include "records/engine/strip_cache.h"

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"

namespace penstock {
namespace {

class StripCacheTest : public EngineFixture {
 protected:
  StripCacheTest() { strip_cache_ = uint64_t{8} << 20; }

  // Opens `window` in as many sessions, so that all of them share it.
  void OpenAll(size_t sessions, const OpenWindow& window, bool record_ids = true) {
    for (size_t i = 0; i < sessions; ++i) {
      clients_.push_back(std::make_unique<Recorder>());
      sessions_.push_back(Open(*clients_.back(), record_ids));
      ASSERT_OK(sessions_.back()->OpenWindow(window));
      ASSERT_TRUE(clients_.back()->WaitReady(window.window));
    }
  }
  // Declared first, because events may come until a session ends.
  std::vector<std::unique_ptr<Recorder>> clients_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

// Every number of ranks cuts the rows in other places, contiguously or in strips.
TEST_F(StripCacheTest, JobsOfDifferentRanksGetTheirRowsDecodedOnce) {
  strip_cache_ = uint64_t{32} << 20;
  MakeData({.shards = 2, .chunks_per_shard = 4, .records_per_chunk = 500});
  Start({.memory_budget = uint64_t{256} << 20});
  const OpenWindow window = data_->Window(1, {0, 1, 2, 3, 4, 5, 6, 7}, Split::kAll, true, 3);
  OpenAll(6, window);
  for (WireDtype dtype : {WireDtype::kBf16, WireDtype::kI8, WireDtype::kF32}) {
    std::vector<Fetch> fetches;
    for (uint32_t ranks = 1; ranks <= 3; ++ranks) {
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        const uint32_t rows = 48 / ranks;
        fetches.push_back({.request = 10 * static_cast<uint64_t>(dtype) + fetches.size(),
                           .window = 1,
                           .first_row = rank * rows,
                           .rows = rows,
                           .stride = 48,
                           .count = window.rows / 48,
                           .dtype = dtype});
      }
    }
    for (size_t i = 0; i < fetches.size(); ++i) ASSERT_OK(sessions_[i]->Fetch(fetches[i]));
    for (size_t i = 0; i < fetches.size(); ++i) {
      ExpectAnswer(*clients_[i], window, fetches[i], /*record_ids=*/true);
    }
  }
  const uint64_t rows = window.rows - window.rows % 48;
  ASSERT_TRUE(WaitUntil([&] { return engine_->stats().strip_rows == 3 * 3 * rows; }));
  EXPECT_LE(engine_->stats().strip_rows_decoded, 3 * window.rows);
  EXPECT_EQ(engine_->stats().waiting_bytes, 0u);
}

TEST_F(StripCacheTest, AWindowThatOneSessionReadsIsNotCached) {
  MakeData({.records_per_chunk = 500});
  Start();
  const OpenWindow window = data_->Window(1, {0, 1});
  OpenAll(1, window, /*record_ids=*/false);
  ASSERT_OK(sessions_[0]->Fetch(FetchAll(window, 1)));
  ExpectAnswer(*clients_[0], window, FetchAll(window, 1));
  EXPECT_EQ(engine_->stats().strip_bytes, 0u);
  ASSERT_TRUE(WaitUntil([&] { return engine_->stats().rows_decoded == window.rows; }));
  EXPECT_EQ(engine_->stats().strip_rows, 0u);
}

TEST_F(StripCacheTest, ShortRunsOfRowsAreDecodedAgain) {
  MakeData({.records_per_chunk = 500});
  Start();
  const OpenWindow window = data_->Window(1, {0, 1});
  OpenAll(2, window);
  const Fetch fetch = {
      .request = 1, .window = 1, .rows = 8, .stride = 16, .count = 20, .dtype = WireDtype::kPacked};
  for (auto& session : sessions_) ASSERT_OK(session->Fetch(fetch));
  for (auto& client : clients_) ExpectAnswer(*client, window, fetch, /*record_ids=*/true);
  ASSERT_TRUE(WaitUntil([&] { return engine_->stats().rows_decoded == 320; }));
  EXPECT_EQ(engine_->stats().strip_rows, 0u);
}

// Separate memory that never has room.
class NoRoom : public PartMemory {
 public:
  size_t size() const override { return 4 * PartBuffer::kMaxPartBytes; }
  std::span<uint8_t> Take(size_t) override { return {}; }
  bool Holds(const uint8_t*) const override { return false; }
  void Return(std::span<uint8_t>) override {}
};

TEST_F(StripCacheTest, ASessionWithMemoryOfItsOwnSharesNothing) {
  MakeData({.records_per_chunk = 500});
  Start();
  const OpenWindow window = data_->Window(1, {0, 1});
  OpenAll(2, window);
  sessions_[1]->UsePartMemory(std::make_shared<NoRoom>());
  for (auto& session : sessions_) ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  for (auto& client : clients_) ExpectAnswer(*client, window, FetchAll(window, 1), true);
  ASSERT_TRUE(WaitUntil([&] { return engine_->stats().rows_decoded == 2 * window.rows; }));
  EXPECT_EQ(engine_->stats().strip_rows, 0u);
}

// The ranks of a job that cuts strips. Each row is sent to one of them.
TEST_F(StripCacheTest, SharingEndsWhereNobodySavesAnything) {
  strip_cache_ = uint64_t{2} << 20;
  MakeData({.records_per_chunk = 1000});
  Start();
  OpenWindow window = data_->Window(1, {0, 1, 2, 3});
  for (int i = 0; i < 2; ++i) {
    clients_.push_back(std::make_unique<Recorder>());
    sessions_.push_back(Open(*clients_.back()));
  }
  uint64_t rows = 0;
  const auto read_window = [&] {
    for (uint32_t i = 0; i < 2; ++i) {
      ASSERT_OK(sessions_[i]->OpenWindow(window));
      ASSERT_TRUE(clients_[i]->WaitReady(window.window));
    }
    for (uint32_t i = 0; i < 2; ++i) {
      ASSERT_OK(sessions_[i]->Fetch({.request = window.window,
                                     .window = window.window,
                                     .first_row = 16 * i,
                                     .rows = 16,
                                     .stride = 32,
                                     .count = window.rows / 32,
                                     .dtype = WireDtype::kF32}));
    }
    for (uint32_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(clients_[i]->WaitRows(window.window, window.rows / 2));
      ASSERT_OK(sessions_[i]->Release(window.window));
    }
    rows += window.rows;
    ASSERT_TRUE(WaitUntil([&] { return engine_->stats().rows_decoded == rows; }));
  };
  const auto shares = [&] {
    const uint64_t before = engine_->stats().strip_rows;
    ++window.window;
    window.key = window.window;
    read_window();
    return engine_->stats().strip_rows > before;
  };
  EXPECT_TRUE(shares());
  for (int i = 0; i < 3; ++i) shares();
  int shared = 0;
  for (int i = 0; i < 32; ++i) shared += shares();
  EXPECT_EQ(shared, 1);  // Tests whether sharing would pay by now.
}

TEST_F(StripCacheTest, OtherKeysSplitsAndSpecsShareNothing) {
  MakeData({.records_per_chunk = 500, .holdout_threshold = uint32_t{1} << 31});
  Start();
  std::vector<OpenWindow> windows;
  for (uint64_t key : {1, 2}) windows.push_back(data_->Window(1, {0, 1}, Split::kAll, true, key));
  windows.push_back(data_->Window(1, {0, 1}, Split::kTrain, true, 1));
  windows.push_back(data_->Window(1, {1, 0}, Split::kAll, true, 1));
  windows.push_back(data_->Window(1, {0, 1}, Split::kAll, false, 1));
  windows.push_back(windows[0]);
  windows.back().damaged = {{0, 3}};
  for (const OpenWindow& window : windows) OpenAll(1, window);
  OpenAll(1, windows[0], /*record_ids=*/false);
  for (size_t i = 0; i < windows.size(); ++i) {
    ASSERT_OK(sessions_[i]->Fetch(FetchAll(windows[i], 1)));
    ASSERT_TRUE(clients_[i]->WaitRows(1, windows[i].rows));
    if (windows[i].damaged.empty()) {
      ExpectAnswer(*clients_[i], windows[i], FetchAll(windows[i], 1), true);
    }
  }
  EXPECT_EQ(engine_->stats().strip_rows, 0u);
}

TEST_F(StripCacheTest, BlocksStayWithinTheirBudget) {
  strip_cache_ = uint64_t{1} << 20;
  MakeData({.records_per_chunk = 1000});
  Start();
  const OpenWindow window = data_->Window(1, {0, 1, 2, 3});
  OpenAll(2, window, /*record_ids=*/false);
  const Fetch fetch = FetchAll(window, 1, WireDtype::kF32);
  ASSERT_OK(sessions_[0]->Fetch(fetch));
  ExpectAnswer(*clients_[0], window, fetch);
  EXPECT_GT(engine_->stats().strip_bytes, 0u);
  EXPECT_TRUE(WaitUntil([&] { return engine_->stats().strip_bytes <= uint64_t{1} << 20; }));
}

TEST_F(StripCacheTest, PartsOfASharedBlockOutliveSessionsAndEngine) {
  MakeData({.records_per_chunk = 500});
  Start();
  const OpenWindow window = data_->Window(1, {0, 1});
  OpenAll(2, window, /*record_ids=*/false);
  for (size_t i : {0, 1}) {
    clients_[i]->HoldParts();
    ASSERT_OK(sessions_[i]->Fetch(FetchAll(window, 1)));
    ASSERT_TRUE(clients_[i]->WaitRows(1, window.rows));
  }
  sessions_.clear();
  engine_ = nullptr;
  for (auto& client : clients_) client->DropParts();
}

TEST_F(StripCacheTest, PartsThatReturnedCountForNobody) {
  MakeData({.records_per_chunk = 500});
  Start();
  const OpenWindow window = data_->Window(1, {0, 1});
  OpenAll(3, window, /*record_ids=*/false);
  for (size_t i = 0; i < 3; ++i) {
    clients_[i]->HoldParts();
    ASSERT_OK(sessions_[i]->Fetch(FetchAll(window, 1)));
    ASSERT_TRUE(clients_[i]->WaitRows(1, window.rows));
  }
  EXPECT_GT(engine_->stats().part_bytes, 0u);
  for (auto& client : clients_) client->DropParts();
  EXPECT_TRUE(WaitUntil([&] { return engine_->stats().part_bytes == 0; }));
}

// Otherwise a few sessions would take all memory that the engine allows, and its threads would
// wait.
TEST_F(StripCacheTest, PartsOfOneBlockTakeItsMemoryOnce) {
  MakeData({.records_per_chunk = 500});
  Start();
  const OpenWindow window = data_->Window(1, {0, 1});
  OpenAll(3, window, /*record_ids=*/false);
  std::vector<uint64_t> outside;
  for (size_t i = 0; i < 3; ++i) {
    clients_[i]->HoldParts();
    ASSERT_OK(sessions_[i]->Fetch(FetchAll(window, 1)));
    ASSERT_TRUE(clients_[i]->WaitRows(1, window.rows));
    outside.push_back(engine_->stats().part_bytes);
    EXPECT_EQ(sessions_[i]->stats().part_bytes, outside[0]);
  }
  EXPECT_GT(outside[0], 0u);
  EXPECT_THAT(outside, ::testing::Each(outside[0]));
  clients_[0]->DropParts();
  EXPECT_EQ(engine_->stats().part_bytes, outside[0]);
}

// Leaders and followers, of one thread and of several.
TEST_F(StripCacheTest, NothingIsLeftOfPartsThatManyAskedForAtOnce) {
  MakeData({.records_per_chunk = 500});
  Start({.threads = 3});
  const OpenWindow window = data_->Window(1, {0, 1, 2, 3});
  OpenAll(6, window, /*record_ids=*/false);
  for (uint64_t round = 1; round <= 10; ++round) {
    for (auto& session : sessions_) {
      ASSERT_OK(session->Fetch(FetchAll(window, round, WireDtype::kF32)));
    }
    for (auto& client : clients_) ASSERT_TRUE(client->WaitRows(round, window.rows));
    EXPECT_TRUE(WaitUntil([&] { return engine_->stats().part_bytes == 0; }));
    for (auto& session : sessions_) EXPECT_EQ(session->stats().part_bytes, 0u);
  }
}

// Sessions come and go while others read the same rows.
TEST_F(StripCacheTest, ASessionMayLeaveWhileItsRowsAreDecodedForIt) {
  MakeData({.records_per_chunk = 500});
  Start();
  const OpenWindow window = data_->Window(1, {0, 1, 2, 3});
  OpenAll(1, window, /*record_ids=*/false);
  for (uint64_t round = 1; round <= 20; ++round) {
    Recorder leaving;
    auto session = Open(leaving);
    ASSERT_OK(session->OpenWindow(window));
    ASSERT_TRUE(leaving.WaitReady(1));
    ASSERT_OK(sessions_[0]->Fetch(FetchAll(window, round, WireDtype::kF32)));
    ASSERT_OK(session->Fetch(FetchAll(window, 1, WireDtype::kF32)));
    if (round % 2 == 0) session->Cancel(1);
    session.reset();
    ASSERT_TRUE(clients_[0]->WaitRows(round, window.rows));
  }
  ExpectAnswer(*clients_[0], window, FetchAll(window, 20, WireDtype::kF32));
}

// Only the cache, of blocks of one row.
class BlocksTest : public ::testing::Test {
 protected:
  // A decoding with its own StripUse.
  static Decoding MakeDecoding() {
    const TempFolder folder;
    const ChessData data(folder.path(), {.shards = 1, .chunks_per_shard = 1});
    return *Decodings::Compile(data.Stream()).value().For(WireDtype::kPacked);
  }
  // Sends block `number` once, and decodes it before if it is not there.
  static void Send(uint32_t number, const Decoding& decoding, StripCache& cache) {
    RequestState request;
    request.decoding = &decoding;
    std::vector<Job> jobs = {
        {.kind = Job::Kind::kDecode, .request = &request, .rows = 1, .block = {number, 1}}};
    const StripCache::Key key{.window = 1, .decoding = &decoding, .block = number};
    std::span<uint8_t> memory;
    BlockResult result;
    if (cache.Claim(key, jobs, memory, result) == StripCache::Answer::kDecode) {
      cache.Publish(key, jobs, result);
    }
    cache.Release(key, 1);
  }

  const Decoding decoding_ = MakeDecoding(), other_ = MakeDecoding();
  std::shared_ptr<PartPool> pool_ =
      std::make_shared<PartPool>(std::make_shared<PageMemory>(0, 0), 1 << 20, 0, nullptr);
  StripCache one_block_{*pool_, /*budget_bytes=*/4096};
};

// StripUse learns from 64 dropped blocks.
TEST_F(BlocksTest, BlocksThatWereSentToAllAreDropped) {
  StripCache cache(*pool_, 8 * 4096);
  const auto send_twice = [&](uint32_t block) {
    for (int i = 0; i < 2; ++i) Send(block, decoding_, cache);
  };
  for (uint32_t block = 0; block < 8 + 63; ++block) send_twice(block);
  EXPECT_EQ(cache.bytes(), 8u * 4096);
  send_twice(8 + 63);
  EXPECT_EQ(cache.bytes(), 0u);
  Send(100, decoding_, cache);
  EXPECT_EQ(cache.bytes(), 4096u);
  Send(100, decoding_, cache);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST_F(BlocksTest, ABlockThatComesBackWasSentAsOftenAsBefore) {
  for (int i = 0; i < 32; ++i) {
    for (const uint32_t block : {0, 1}) Send(block, decoding_, one_block_);
  }
  Send(0, decoding_, one_block_);
  EXPECT_FALSE(decoding_.use->Suffices(31));
  EXPECT_TRUE(decoding_.use->Suffices(32));
}

TEST_F(BlocksTest, WhatWasDroppedLongAgoIsForgotten) {
  Send(0, decoding_, one_block_);
  for (uint32_t block = 0; block < 4097; ++block) Send(block, other_, one_block_);
  for (uint32_t block = 1; block <= 62; ++block) Send(block, decoding_, one_block_);
  Send(0, decoding_, one_block_);
  Send(0, other_, one_block_);
  EXPECT_TRUE(decoding_.use->Suffices(1));
}

}  // namespace
}  // namespace penstock
