#include "records/engine/engine.h"

#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"
#include "tests/recorded_spans.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

class EngineTest : public EngineFixture {
 protected:
  uint64_t next_request_ = 0;
};

TEST_F(EngineTest, AnswersTheRowsOfAWindow) {
  const ChessData& data = MakeData();
  Start();
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = data.Window(7, {0, 3, 6});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_TRUE(client.WaitReady(7));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ExpectAnswer(client, window, FetchAll(window, 1));
}

TEST_F(EngineTest, AnswersEveryDtype) {
  const ChessData& data = MakeData();
  Start();
  Recorder client;
  auto session = Open(client, /*record_ids=*/true);
  const OpenWindow window = data.Window(0, {5, 1}, Split::kAll, true, 99);
  ASSERT_OK(session->OpenWindow(window));
  for (WireDtype dtype :
       {WireDtype::kPacked, WireDtype::kI8, WireDtype::kBf16, WireDtype::kF32, WireDtype::kF64}) {
    const Fetch fetch = FetchAll(window, static_cast<uint64_t>(dtype), dtype);
    ASSERT_OK(session->Fetch(fetch));
    ExpectAnswer(client, window, fetch, /*record_ids=*/true);
  }
}

TEST_F(EngineTest, ThreadsTellWhatTheyDo) {
  const ChessData& data = MakeData();
  RecordedSpans spans;
  Start({.threads = 1, .spans = &spans});
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = data.Window(7, {0, 3, 6});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ExpectAnswer(client, window, FetchAll(window, 1));
  session.reset();
  engine_.reset();
  EXPECT_THAT(spans.Of("engine thread 0"),
              IsSupersetOf({"read chunk", "build window", "decode piece"}));
  EXPECT_TRUE(spans.in_order());
}

class EngineSplitTest : public EngineFixture, public ::testing::WithParamInterface<Compression> {};

// Compares random windows, splits, strides and dtypes with the definition, written out.
TEST_P(EngineSplitTest, RowsEqualNaiveDecode) {
  const ChessData& data =
      MakeData({.compression = GetParam(), .holdout_threshold = uint32_t{1} << 30});
  Start();
  Recorder client;
  auto session = Open(client, /*record_ids=*/true);
  CounterRng rng(5);
  for (uint64_t i = 0; i < 40; ++i) {
    std::vector<size_t> chunks(1 + rng.Below(5));
    for (size_t& chunk : chunks) chunk = rng.Below(8);
    const OpenWindow window =
        data.Window(i, chunks, static_cast<Split>(rng.Below(3)), rng.Below(4) > 0, rng.Next());
    ASSERT_OK(session->OpenWindow(window));
    Fetch fetch{.request = i, .window = i, .dtype = static_cast<WireDtype>(1 + rng.Below(5))};
    if (window.rows == 0) continue;
    fetch.rows = static_cast<uint32_t>(1 + rng.Below(window.rows));
    fetch.first_row = static_cast<uint32_t>(rng.Below(window.rows - fetch.rows + 1));
    fetch.stride = fetch.rows + static_cast<uint32_t>(rng.Below(5));
    fetch.count = 1 + (window.rows - fetch.first_row - fetch.rows) / fetch.stride;
    ASSERT_OK(session->Fetch(fetch));
    ExpectAnswer(client, window, fetch, /*record_ids=*/true);
    ASSERT_OK(session->Release(i));
  }
}

INSTANTIATE_TEST_SUITE_P(Compressions, EngineSplitTest,
                         ::testing::Values(Compression::kNone, Compression::kGzip,
                                           Compression::kZstd),
                         [](const auto& test) { return std::string(CompressionName(test.param)); });

TEST_F(EngineTest, SplitsLargeAnswersIntoPartsOfOneMebibyte) {
  const ChessData& data = MakeData({.shards = 1, .chunks_per_shard = 1, .records_per_chunk = 1000});
  Start();
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = data.Window(0, {0});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1, WireDtype::kF32)));
  ExpectAnswer(client, window, FetchAll(window, 1, WireDtype::kF32));
  EXPECT_THAT(client.order(), SizeIs(6));  // 169 rows of 6,188 bytes each.
}

TEST_F(EngineTest, AnswersInOrderOfNeedOverAllWindows) {
  const ChessData& data = MakeData();
  Start({.threads = 1});
  Recorder client;
  auto session = Open(client);
  ASSERT_OK(session->OpenWindow(data.Window(1, {0})));
  ASSERT_OK(session->OpenWindow(data.Window(2, {1})));
  ASSERT_TRUE(client.WaitReady(1) && client.WaitReady(2));
  client.BlockParts();  // The only thread stays in the first part while the other parts queue up.
  ASSERT_OK(session->Fetch({.request = 1, .window = 1, .rows = 1}));
  ASSERT_TRUE(client.WaitBlocked());
  for (uint64_t need : {40, 20, 90, 10, 20}) {
    ++next_request_;
    ASSERT_OK(session->Fetch({.request = next_request_ + 1,
                              .window = 1 + next_request_ % 2,
                              .rows = 1,
                              .needed_at = need}));
  }
  client.UnblockParts();
  ASSERT_TRUE(client.WaitParts(6));
  EXPECT_THAT(client.order(), ElementsAre(1, 5, 3, 6, 2, 4));
}

TEST_F(EngineTest, TwoSessionsReadChunksOnce) {
  const ChessData& data = MakeData();
  Start();
  Recorder first, second;
  auto one = Open(first), two = Open(second);
  const OpenWindow window = data.Window(1, {0, 1, 2, 3});
  ASSERT_OK(one->OpenWindow(window));
  ASSERT_OK(two->OpenWindow(window));
  ASSERT_TRUE(first.WaitReady(1));
  ASSERT_TRUE(second.WaitReady(1));
  EXPECT_EQ(first.read_bytes(1) + second.read_bytes(1), data.shards()[0].size);
  EXPECT_EQ(engine_->stats().bytes_read, data.shards()[0].size);
}

TEST_F(EngineTest, SecondEpochReadsNothing) {
  const ChessData& data = MakeData();
  Start();
  Recorder client;
  auto session = Open(client);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (uint64_t w = 0; w < 4; ++w) {
      const OpenWindow window = data.Window(epoch * 4 + w, {w, w + 4}, Split::kAll, true, epoch);
      ASSERT_OK(session->OpenWindow(window));
      ASSERT_OK(session->Fetch(FetchAll(window, window.window)));
      ExpectAnswer(client, window, FetchAll(window, window.window));
      ASSERT_OK(session->Release(window.window));
    }
  }
  EXPECT_EQ(engine_->stats().bytes_read, data.file_bytes());
}

TEST_F(EngineTest, RefusesSessionsBeyondTheLimit) {
  MakeData();
  Start({.limits = {.max_sessions = 1}});
  Recorder client;
  auto session = Open(client);
  EXPECT_THAT(engine_->OpenSession(data_->Stream(), client),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the limit is 1")));
}

TEST_F(EngineTest, DescribesItself) {
  MakeData();
  Start({.threads = 3});
  Recorder client;
  const ServerInfo info = Open(client)->info();
  EXPECT_EQ(info.cores, 3u);
  EXPECT_EQ(info.decoder_version, kDecoderVersion);
  EXPECT_NE(info.spec_fingerprint, 0u);
}

TEST(EngineCreateTest, NamesAMissingRoot) {
  EXPECT_THAT(Engine::Create({.data_root = "/nonexistent"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nonexistent")));
}

}  // namespace
}  // namespace penstock
