// Tests ScanShard() with compressed shards.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/shard_scan.h"
#include "records/dataset/testing/scanned_shards.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CompressedScanTest : public ::testing::TestWithParam<Compression> {};

TEST_P(CompressedScanTest, ChunksAreMembersUpToTheTarget) {
  std::vector<uint8_t> members = Members(GetParam(), 10, 5);
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(MemorySource("s", members), Target(1000)));
  ASSERT_EQ(scan.chunks.size(), 5u);
  EXPECT_EQ(scan.container, ContainerOf(GetParam()));
  EXPECT_EQ(scan.chunks[1].records, 10u);
  EXPECT_EQ(scan.chunks[1].raw_size, 1000u);
  EXPECT_EQ(scan.chunks[1].first_record, 10u);
  EXPECT_EQ(scan.chunks[1].size, members.size() / 5);
  EXPECT_EQ(scan.chunks[0].crc32c, Crc32c(std::span(members).first(members.size() / 5)));
}

TEST_P(CompressedScanTest, MembersThatShareARecordStayTogether) {
  ShardBuilder shard = SmallShard(10);
  std::vector<uint8_t> members;
  for (size_t begin = 0; begin < 1000; begin += 125) {
    EXPECT_OK(CompressMember(GetParam(), std::span(shard.bytes()).subspan(begin, 125), members));
  }
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(MemorySource("s", members), Target(100)));
  ASSERT_EQ(scan.chunks.size(), 2u);
  EXPECT_EQ(scan.chunks[0].raw_size, 500u);
  EXPECT_EQ(Records(scan), 10u);
}

TEST_P(CompressedScanTest, ReportsACutAtEveryByteOfItsLastMember) {
  const std::vector<uint8_t> members = Members(GetParam(), 3, 5);
  for (size_t size = members.size() * 2 / 3 + 1; size < members.size(); ++size) {
    MemorySource cut("s", {members.begin(), members.begin() + static_cast<ptrdiff_t>(size)});
    EXPECT_THAT(ScanShard(cut, Target(1000)),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr(absl::StrCat("cut after compressed byte ", size))));
    ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(cut, Collecting(10'000)));
    EXPECT_EQ(Records(scan), 10u);
    EXPECT_EQ(scan.damage.listed().size(), 1u);
  }
}

TEST_P(CompressedScanTest, RefusesABombByItsLimit) {
  std::vector<uint8_t> bomb;
  ASSERT_OK(CompressMember(GetParam(), std::vector<uint8_t>(64 << 20), bomb));
  ScanOptions options = Collecting(1000);
  options.max_raw_chunk_bytes = 1 << 20;
  EXPECT_THAT(ScanShard(MemorySource("bomb.gz", bomb), options),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("bomb.gz: cannot be cut into chunks"), HasSubstr("1.0 MiB"),
                             HasSubstr("penstock pack --from tfrecord 'bomb.gz' -o OUT"))));
}

TEST_P(CompressedScanTest, TheLimitHoldsToTheByte) {
  const std::vector<uint8_t> members = Members(GetParam(), 1, 10);
  ScanOptions options = Target(10'000);
  options.max_raw_chunk_bytes = 1000;
  EXPECT_OK(ScanShard(MemorySource("s", members), options));
  options.max_raw_chunk_bytes = 999;
  EXPECT_THAT(ScanShard(MemorySource("s", members), options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("more than 999 ")));
}

// 500 bytes are below the target; 1000 bytes exceed the limit.
TEST_P(CompressedScanTest, AChunkEndsBeforeAMemberWithWhichItWouldPassTheLimit) {
  const std::vector<uint8_t> members = Members(GetParam(), 6, 5);
  ScanOptions options = Target(600);
  options.max_raw_chunk_bytes = 999;
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(MemorySource("s", members), options));
  ASSERT_EQ(scan.chunks.size(), 6u);
  const size_t size = members.size() / 6;
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(scan.chunks[i].first_record, 5 * i);
    EXPECT_EQ(scan.chunks[i].records, 5u);
    EXPECT_EQ(scan.chunks[i].raw_size, 500u);
    EXPECT_EQ(scan.chunks[i].size, size);
    EXPECT_EQ(scan.chunks[i].gap, 0u);
    EXPECT_EQ(scan.chunks[i].crc32c, Crc32c(std::span(members).subspan(i * size, size)));
  }
}

TEST_P(CompressedScanTest, ADamagedRecordTakesItsChunkWithIt) {
  std::vector<uint8_t> members = Members(GetParam(), 1, 5);
  ShardBuilder bad = SmallShard(5);
  bad.FlipBitInPayload(2);
  ASSERT_OK(CompressMember(GetParam(), bad.bytes(), members));
  std::vector<uint8_t> good = Members(GetParam(), 1, 5);
  members.insert(members.end(), good.begin(), good.end());
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(MemorySource("s", members), Collecting(400)));
  EXPECT_EQ(Records(scan), 10u);
  ASSERT_EQ(scan.damage.listed().size(), 1u);
  EXPECT_EQ(scan.damage.listed()[0].record, 7u);
  EXPECT_THAT(scan.damage.listed()[0].reason, HasSubstr("payload CRC"));
  EXPECT_EQ(scan.damage.listed()[0].records, 5u);
  EXPECT_TRUE(scan.damage.listed()[0].all_counted);
  EXPECT_FALSE(scan.damage.listed()[0].to_end);
  EXPECT_EQ(scan.chunks.back().first_record, 10u);
}

TEST_P(CompressedScanTest, AMemberThatCannotBeReadTakesTheRestWithIt) {
  std::vector<uint8_t> members = Members(GetParam(), 3, 5);
  const size_t second = members.size() / 3;
  members[second] ^= 0xff;
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(MemorySource("s", members), Collecting(400)));
  EXPECT_EQ(Records(scan), 5u);
  ASSERT_EQ(scan.damage.listed().size(), 1u);
  EXPECT_EQ(scan.damage.listed()[0].offset, second);
  EXPECT_EQ(scan.damage.listed()[0].bytes, members.size() - second);
  EXPECT_TRUE(scan.damage.listed()[0].to_end);
  EXPECT_FALSE(scan.damage.listed()[0].all_counted);
}

TEST(ShardScanTest, ZstdMayBeginWithASkippableFrame) {
  for (const uint8_t kind : {0x50, 0x5f}) {
    std::vector<uint8_t> bytes = {kind, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 'i', 'n', 'f', 'o'};
    const std::vector<uint8_t> members = Members(Compression::kZstd, 10, 2);
    bytes.insert(bytes.end(), members.begin(), members.end());
    ASSERT_OK_AND_ASSIGN(const ShardScan scan, ScanShard(MemorySource("s", bytes), Target(1000)));
    EXPECT_EQ(scan.container, Container::kZstd);
    EXPECT_EQ(Records(scan), 20u);
  }
}

TEST(ShardScanTest, ZerosBehindTheLastGzipMemberArePadding) {
  const std::vector<uint8_t> members = Members(Compression::kGzip, 3, 5);
  for (const size_t zeros : {1, 512, 2 << 20}) {
    std::vector<uint8_t> padded = members;
    padded.resize(padded.size() + zeros);
    // All in one chunk, then one chunk each.
    for (const uint64_t target : {10'000, 500}) {
      ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(MemorySource("s", padded), Target(target)));
      EXPECT_EQ(Records(scan), 15u);
      uint64_t bytes = 0;
      for (const auto& chunk : scan.chunks) bytes += chunk.size;
      EXPECT_EQ(bytes, members.size());
    }
    padded.push_back(1);
    EXPECT_THAT(ScanShard(MemorySource("s", padded), Target(500)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("incorrect header check")));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompressedScanTest,
                         ::testing::Values(Compression::kGzip, Compression::kZstd),
                         [](const auto& instance) {
                           return std::string(CompressionName(instance.param));
                         });

}  // namespace
}  // namespace penstock
