#include "records/format/shard_writer.h"

#include <string>

#include "absl/strings/str_join.h"
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
  // The content of each member of `shard`. Without compression, the whole file counts as one
  // member.
  std::vector<std::string> Members(const std::string& shard) {
    if (GetParam() == Compression::kNone) return {shard};
    std::vector<std::string> members;
    Decompressor decompressor(GetParam());
    for (std::span<const uint8_t> in = BytesOf(shard); !in.empty();) {
      std::vector<uint8_t> out(1024);
      std::span<uint8_t> room(out);
      EXPECT_THAT(decompressor.Step(in, room), IsOkAndHolds(true));
      members.emplace_back(out.begin(), out.end() - static_cast<ptrdiff_t>(room.size()));
    }
    return members;
  }
  TempFolder folder_;
};

TEST_P(ShardWriterTest, WritesFramedRecords) {
  const std::string raw = absl::StrJoin(Members(WriteShard(64)), "");
  std::vector<std::span<const uint8_t>> payloads;
  EXPECT_OK(ParseFrames(BytesOf(raw), Verify::kPayload, payloads));
  ASSERT_EQ(payloads.size(), 100u);
  EXPECT_EQ(std::string(payloads[99].begin(), payloads[99].end()), "record 99");
}

TEST_P(ShardWriterTest, AMemberHoldsWholeRecordsOfAboutAChunk) {
  if (GetParam() == Compression::kNone) return;
  const std::vector<std::string> members = Members(WriteShard(256));
  EXPECT_EQ(members.size(), 10u);
  for (const std::string& member : members) {
    std::vector<std::span<const uint8_t>> payloads;
    EXPECT_OK(ParseFrames(BytesOf(member), Verify::kPayload, payloads));
  }
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
