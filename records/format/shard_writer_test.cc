#include "records/format/shard_writer.h"

#include <string>

#include "base/bytes_of.h"
#include "gtest/gtest.h"
#include "records/format/tfrecord.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

class ShardWriterTest : public ::testing::TestWithParam<Compression> {
 protected:
  std::string WriteShard(size_t chunk_bytes) {
    absl::StatusOr<ShardWriter> writer =
        ShardWriter::Create(folder_.File("shard"), {GetParam(), chunk_bytes});
    EXPECT_OK(writer);
    for (int i = 0; i < 100; ++i) EXPECT_OK(writer->Write(BytesOf("record " + std::to_string(i))));
    EXPECT_EQ(::access(folder_.File("shard").c_str(), F_OK), -1);
    EXPECT_OK(writer->Finish());
    return folder_.Read("shard");
  }
  std::string Raw(const std::string& shard) {
    if (GetParam() == Compression::kNone) return shard;
    absl::StatusOr<std::vector<uint8_t>> raw = Decompress(GetParam(), BytesOf(shard), 1 << 20);
    EXPECT_OK(raw);
    return {raw->begin(), raw->end()};
  }
  TempFolder folder_;
};

TEST_P(ShardWriterTest, WritesFramedRecords) {
  std::string raw = Raw(WriteShard(64));
  std::vector<std::span<const uint8_t>> payloads;
  EXPECT_OK(ParseFrames(BytesOf(raw), Verify::kPayload, payloads));
  ASSERT_EQ(payloads.size(), 100u);
  EXPECT_EQ(std::string(payloads[99].begin(), payloads[99].end()), "record 99");
}

TEST_P(ShardWriterTest, AMemberHoldsWholeRecordsOfAboutAChunk) {
  std::string shard = WriteShard(256);
  if (GetParam() == Compression::kNone) return;
  std::span<const uint8_t> in = BytesOf(shard);
  Decompressor decompressor(GetParam());
  size_t members = 0;
  while (!in.empty()) {
    std::vector<uint8_t> out(1024);
    std::span<uint8_t> room(out);
    EXPECT_THAT(decompressor.Step(in, room), IsOkAndHolds(true));
    out.resize(out.size() - room.size());
    std::vector<std::span<const uint8_t>> payloads;
    EXPECT_OK(ParseFrames(out, Verify::kPayload, payloads));
    ++members;
  }
  EXPECT_EQ(members, 10u);
}

TEST_P(ShardWriterTest, LeavesNoTraceWithoutFinish) {
  {
    ASSERT_OK_AND_ASSIGN(ShardWriter writer,
                         ShardWriter::Create(folder_.File("shard"), {GetParam(), 16}));
    EXPECT_OK(writer.Write(BytesOf("lost")));
  }
  EXPECT_EQ(folder_.NumEntries(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, ShardWriterTest,
                         ::testing::Values(Compression::kNone, Compression::kGzip,
                                           Compression::kZstd),
                         [](const auto& instance) {
                           return std::string(CompressionName(instance.param));
                         });

}  // namespace
}  // namespace penstock
