// Tests shards that differ from what was indexed.
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DamageTest : public EngineFixture {
 protected:
  static constexpr const char* kShard = "shard-0.tfrecord";

  // Writes in place, because a thread that still reads another chunk must not see a shorter file.
  void FlipByte(uint64_t offset, int mask = 0x10) {
    std::fstream file(folder_.File(kShard), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get() ^ mask);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  }
  // The offset in the file of record `r` of chunk 1.
  uint64_t RecordOffset(uint32_t r) {
    const ChunkRef& chunk = data_->chunks()[1];
    const std::string bytes = folder_.Read(kShard);
    const std::span all(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    size_t offset = chunk.offset;
    for (uint32_t i = 0; i < r; ++i) {
      offset += ParseFrame(all, offset, Verify::kLength).value().size();
    }
    return offset;
  }
  // Opens a window of chunk 1 and returns the error that the client gets.
  StreamError OpenAndFail() { return OpenAndFail(data_->Window(1, {1})); }
  StreamError OpenAndFail(const OpenWindow& window) {
    Start();
    Recorder client;
    auto session = Open(client);
    EXPECT_OK(session->OpenWindow(window));
    EXPECT_TRUE(client.WaitErrors(1));
    const std::vector<StreamError> errors = client.errors();
    return errors.empty() ? StreamError() : errors[0];
  }
  void ExpectChanged(const StreamError& error, const std::string& why) {
    EXPECT_THAT(error.status,
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(kShard), HasSubstr("changed since it was indexed"),
                               HasSubstr("penstock index"), HasSubstr(why))));
    EXPECT_FALSE(error.damage);
  }
};

TEST_F(DamageTest, NamesTheRecordWithADamagedPayload) {
  MakeData();
  FlipByte(RecordOffset(17) + 40);
  const StreamError error = OpenAndFail();
  EXPECT_EQ(error.window, 1u);
  EXPECT_THAT(error.status, StatusIs(absl::StatusCode::kDataLoss,
                                     AllOf(HasSubstr("shard 'shard-0.tfrecord'"),
                                           HasSubstr("record 17"), HasSubstr("payload CRC"))));
  ASSERT_TRUE(error.damage);
  EXPECT_EQ(error.damage->shard, kShard);
  EXPECT_EQ(error.damage->chunk_offset, data_->chunks()[1].offset);
  EXPECT_EQ(error.damage->record, 17u);
  EXPECT_FALSE(error.damage->rest_of_chunk);
}

TEST_F(DamageTest, ABrokenFrameLosesTheRestOfTheChunk) {
  MakeData();
  FlipByte(RecordOffset(9) + 2);
  const StreamError error = OpenAndFail();
  EXPECT_THAT(error.status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("length CRC")));
  ASSERT_TRUE(error.damage);
  EXPECT_EQ(error.damage->record, 9u);
  EXPECT_TRUE(error.damage->rest_of_chunk);
}

TEST_F(DamageTest, ADamagedMemberLosesTheChunk) {
  for (Compression compression : {Compression::kGzip, Compression::kZstd}) {
    MakeData({.compression = compression});
    FlipByte(data_->chunks()[1].offset + data_->chunks()[1].size / 2);
    const StreamError error = OpenAndFail();
    EXPECT_EQ(error.status.code(), absl::StatusCode::kDataLoss) << error.status;
    ASSERT_TRUE(error.damage);
    EXPECT_EQ(error.damage->record, 0u);
    EXPECT_TRUE(error.damage->rest_of_chunk);
  }
}

// Decompressors ignore some header bits. Then all records are sound, and only the CRC of the chunk
// shows the damage.
TEST_F(DamageTest, AnyFlippedBitOfAMembersHeaderLosesTheChunk) {
  for (Compression compression : {Compression::kGzip, Compression::kZstd}) {
    MakeData({.compression = compression});
    Start();
    Recorder client;
    auto session = Open(client);
    uint64_t window = 0;
    uint64_t sound = 0;
    for (uint64_t bit = 0; bit < 12 * 8; ++bit, ++window) {
      const uint64_t offset = data_->chunks()[1].offset + bit / 8;
      FlipByte(offset, 1 << bit % 8);
      ASSERT_OK(session->OpenWindow(data_->Window(window, {1})));
      ASSERT_TRUE(client.WaitErrors(window + 1));
      FlipByte(offset, 1 << bit % 8);
      const StreamError error = client.errors().back();
      EXPECT_EQ(error.status.code(), absl::StatusCode::kDataLoss) << bit << error.status;
      ASSERT_TRUE(error.damage) << bit;
      EXPECT_EQ(error.damage->record, 0u);
      EXPECT_TRUE(error.damage->rest_of_chunk);
      sound += absl::StrContains(error.status.message(), "the records in them are sound");
    }
    EXPECT_GT(sound, 0u);
  }
}

// As if the shard had been packed again into the same number of bytes.
TEST_F(DamageTest, AnotherNumberOfPackedRecordsMeansThatTheShardChanged) {
  const ChessData& data = MakeData({.compression = Compression::kZstd});
  OpenWindow window = data.Window(1, {1});
  window.chunks[0].crc32c ^= 1;
  window.chunks[0].records = window.rows = 49;
  ExpectChanged(OpenAndFail(window), "holds 50 sound records");
}

TEST_F(DamageTest, WhatTheDecompressorRefusesIsDamageOnlyIfTheChecksumSaysSo) {
  for (bool sound : {false, true}) {
    const ChessData& data = MakeData({.compression = Compression::kZstd});
    OpenWindow window = data.Window(1, {1});
    ChunkRef& chunk = window.chunks[0];
    std::string shard = folder_.Read(kShard);
    shard.replace(chunk.offset, 6, std::string("\x28\xb5\x2f\xfd\x00\x90", 6));  // Window: 2^28.
    folder_.Write(kShard, shard);
    const auto* bytes = reinterpret_cast<const uint8_t*>(shard.data()) + chunk.offset;
    if (sound) chunk.crc32c = Crc32c({bytes, chunk.size});
    const StreamError error = OpenAndFail(window);
    EXPECT_EQ(error.status.code(),
              sound ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kDataLoss)
        << error.status;
    EXPECT_EQ(error.damage.has_value(), !sound);
  }
}

TEST_F(DamageTest, OtherSoundRecordsMeanThatTheShardChanged) {
  MakeData({.seed = 2});
  const std::string other = folder_.Read(kShard);
  const ChessData& data = MakeData({.seed = 1});
  // Random scores differ in length, so another shard would have another size. Instead, this keeps
  // the chunk's bytes and changes its checksum.
  OpenWindow window = data.Window(1, {1});
  window.chunks[0].crc32c ^= 1;
  ExpectChanged(OpenAndFail(window), "holds 50 sound records");
}

TEST_F(DamageTest, AnotherSizeMeansThatTheShardChanged) {
  MakeData();
  folder_.Write(kShard, folder_.Read(kShard) + "more");
  ExpectChanged(OpenAndFail(), absl::StrCat("the manifest says ", data_->shards()[0].size));
}

TEST_F(DamageTest, AnotherNumberOfRecordsMeansThatTheShardChanged) {
  const ChessData& data = MakeData();
  for (uint32_t records : {49u, 51u}) {
    OpenWindow window = data.Window(1, {1});
    window.chunks[0].records = window.rows = records;
    ExpectChanged(OpenAndFail(window), absl::StrCat("than the ", records, " records"));
  }
}

TEST_F(DamageTest, AnotherHoldoutCountMeansThatTheShardChanged) {
  const ChessData& data = MakeData({.holdout_threshold = uint32_t{1} << 31});
  OpenWindow window = data.Window(1, {1});
  ++window.chunks[0].holdout;
  ExpectChanged(OpenAndFail(window), "in the holdout split");
}

TEST_F(DamageTest, AShardCutWhileItIsServedIsNamed) {
  const ChessData& data = MakeData();
  Start();
  Recorder client;
  auto session = Open(client);
  ASSERT_OK(session->OpenWindow(data.Window(0, {0})));
  ASSERT_TRUE(client.WaitReady(0));
  std::filesystem::resize_file(folder_.File(kShard), data.chunks()[3].offset + 10);
  ASSERT_OK(session->OpenWindow(data.Window(1, {3})));
  ASSERT_TRUE(client.WaitErrors(1));
  ExpectChanged(client.errors()[0], "");
  // Chunks that were read before the file was cut are still served.
  const OpenWindow window = data.Window(2, {0});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ExpectAnswer(client, window, FetchAll(window, 1));
}

TEST_F(DamageTest, AShardReplacedAndIndexedAgainIsServed) {
  MakeData({.seed = 1});
  Start();
  Recorder client;
  auto session = Open(client);
  ASSERT_OK(session->OpenWindow(data_->Window(0, {0})));
  ASSERT_TRUE(client.WaitReady(0));
  // Puts a new file under the name while the engine still has the old file open.
  std::filesystem::remove(folder_.File(kShard));
  const ChessData& data = MakeData({.seed = 2});
  const OpenWindow window = data.Window(1, {0, 1});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ExpectAnswer(client, window, FetchAll(window, 1));
}

TEST_F(DamageTest, AMissingShardIsNotFound) {
  MakeData();
  std::filesystem::remove(folder_.File(kShard));
  EXPECT_THAT(OpenAndFail().status, StatusIs(absl::StatusCode::kNotFound, HasSubstr(kShard)));
}

TEST_F(DamageTest, PathsCannotLeaveTheRoot) {
  const ChessData& data = MakeData();
  std::filesystem::create_symlink("/etc/passwd", folder_.File("link"));
  for (const char* path : {"../shard-0.tfrecord", "/etc/passwd", "link"}) {
    OpenWindow window = data.Window(1, {1});
    window.shards[0].path = path;
    EXPECT_EQ(OpenAndFail(window).status.code(), absl::StatusCode::kPermissionDenied) << path;
  }
}

TEST_F(DamageTest, AMissingFeatureIsTheSpecsFault) {
  const ChessData& data = MakeData();
  Start();
  StreamOptions options = data.Stream();
  for (v1::TensorSpec& tensor : *options.spec.mutable_tensor()) {
    if (tensor.has_mate_score()) tensor.mutable_mate_score()->set_feature("score");
  }
  Recorder client;
  ASSERT_OK_AND_ASSIGN(auto session, engine_->OpenSession(options, client));
  ASSERT_OK(session->OpenWindow(data.Window(1, {1})));
  ASSERT_TRUE(client.WaitErrors(1));
  EXPECT_THAT(client.errors()[0].status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("record 0"), HasSubstr("'score'"))));
}

TEST_F(DamageTest, AFailedWindowCanBeOpenedAgainWithoutARelease) {
  MakeData();
  const uint64_t offset = RecordOffset(3) + 40;
  FlipByte(offset);
  Start();
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = data_->Window(1, {0, 1});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_TRUE(client.WaitErrors(1));
  FlipByte(offset);
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ExpectAnswer(client, window, FetchAll(window, 1));
}

TEST_F(DamageTest, FailedWindowsDoNotAddUpToTheLimit) {
  MakeData();
  FlipByte(RecordOffset(3) + 40);
  Start({.limits = {.max_windows = 2}});
  Recorder client;
  auto session = Open(client);
  for (uint64_t w = 0; w < 10; ++w) {
    ASSERT_OK(session->OpenWindow(data_->Window(w, {1})));
    ASSERT_TRUE(client.WaitErrors(w + 1));
  }
  EXPECT_LE(engine_->stats().windows, 3u);
}

TEST_F(DamageTest, RequestsOfAFailedWindowFailToo) {
  MakeData();
  FlipByte(RecordOffset(3) + 40);
  Start();
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = data_->Window(1, {0, 1});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 8)));
  ASSERT_TRUE(client.WaitErrors(2));
  ASSERT_OK(session->Fetch(FetchAll(window, 9)));
  ASSERT_TRUE(client.WaitErrors(3));
  EXPECT_EQ(client.errors()[0].window, 1u);
  for (const StreamError& error : client.errors()) {
    EXPECT_NE(error.window.has_value(), error.request.has_value());
    EXPECT_TRUE(error.damage);
  }
  ASSERT_OK(session->Release(1));
  EXPECT_EQ(engine_->stats().pinned_bytes, 0u);
}

}  // namespace
}  // namespace penstock
