#include "records/dataset/shard_scan.h"

#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "gtest/gtest.h"
#include "records/dataset/testing/scanned_shards.h"
#include "records/format/testing/shard_builder.h"
#include "records/format/tfrecord.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ShardScanTest, CutsAtTheFirstRecordThatReachesTheTarget) {
  ShardBuilder shard = SmallShard(10);
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(shard.source(), Target(250)));
  ASSERT_EQ(scan.chunks.size(), 4u);
  EXPECT_EQ(scan.chunks[0].size, 300u);
  EXPECT_EQ(scan.chunks[0].records, 3u);
  EXPECT_EQ(scan.chunks[3].records, 1u);
  EXPECT_EQ(scan.chunks[1].first_record, 3u);
  EXPECT_EQ(scan.chunks[1].crc32c, Crc32c(std::span(shard.bytes()).subspan(300, 300)));
}

TEST(ShardScanTest, RecordsLongerThanTheWindowStayWhole) {
  ShardBuilder shard({std::string(3 << 20, 'a'), "b", std::string(2 << 20, 'c')});
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(shard.source(), Target(4096)));
  ASSERT_EQ(scan.chunks.size(), 2u);
  EXPECT_EQ(scan.chunks[1].size, 17 + (2u << 20) + 16);
  EXPECT_EQ(scan.chunks[1].crc32c, Crc32c(std::span(shard.bytes()).subspan((3 << 20) + 16)));
}

TEST(ShardScanTest, NoChunkPassesTheLimit) {
  ShardBuilder shard = SmallShard(10);
  ScanOptions options = Target(1000);
  options.max_raw_chunk_bytes = 299;
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(shard.source(), options));
  ASSERT_EQ(scan.chunks.size(), 5u);
  EXPECT_EQ(scan.chunks[1].size, 200u);
  EXPECT_EQ(scan.chunks[1].crc32c, Crc32c(std::span(shard.bytes()).subspan(200, 200)));
  EXPECT_EQ(scan.chunks[4].first_record, 8u);
}

TEST(ShardScanTest, ARecordBeyondTheLimitIsNamedOrLeftOut) {
  // The window holds all of the first record, but only the length of the second.
  for (const size_t length : {5000, 3 << 20}) {
    ShardBuilder shard({std::string(84, 'a'), std::string(length, 'b'), std::string(84, 'c')});
    ScanOptions options = Target(300);
    options.max_raw_chunk_bytes = length + kFrameOverhead - 1;
    EXPECT_THAT(
        ScanShard(shard.source(), options),
        StatusIs(absl::StatusCode::kResourceExhausted,
                 AllOf(HasSubstr("shard: record 1 at offset 100: has "),
                       HasSubstr(absl::StrCat(length, " bytes, but a chunk has at most")))));
    options.collect_damage = true;
    ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(shard.source(), options));
    EXPECT_EQ(Records(scan), 2u);
    ASSERT_EQ(scan.damage.listed().size(), 1u);
    EXPECT_EQ(scan.damage.listed()[0].bytes, length + kFrameOverhead);
    EXPECT_TRUE(scan.damage.listed()[0].all_counted);
    options.max_raw_chunk_bytes = length + kFrameOverhead;
    ASSERT_OK_AND_ASSIGN(scan, ScanShard(shard.source(), options));
    EXPECT_EQ(Records(scan), 3u);
  }
}

TEST(ShardScanTest, AnEmptyShardHasNoChunks) {
  ShardBuilder shard;
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(shard.source(), Target(100)));
  EXPECT_TRUE(scan.chunks.empty());
}

TEST(ShardScanTest, CountsHoldoutAndNotesFeatures) {
  ShardBuilder shard = ChessShard(1000);
  ScanOptions options = Target(4096);
  options.holdout = {"d", 1u << 30};
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(shard.source(), options));
  uint64_t held = 0;
  for (const auto& chunk : scan.chunks) held += chunk.holdout;
  EXPECT_NEAR(static_cast<double>(held), 250, 55);  // Four standard deviations.
  const FeatureSummary expected = {
      1000, {{"d", "bytes", false, 1000, {1, 1}, {194, 194}}, {"s", "int64", false, 1000, {1, 1}}}};
  EXPECT_EQ(scan.features, expected);
}

TEST(ShardScanTest, RawRecordsAreParsedByNobody) {
  ShardBuilder shard({"no example", "nor this"});
  ScanOptions options = Target(4096);
  options.format = RecordFormat::kRaw;
  options.parse_records = true;
  options.holdout = {"", ~0u};
  ASSERT_OK_AND_ASSIGN(const ShardScan scan, ScanShard(shard.source(), options));
  EXPECT_EQ(scan.chunks[0].holdout, 2u);
}

TEST(ShardScanTest, TellsTheFirstFeaturesBeforeAllIsRead) {
  ShardBuilder shard = ChessShard(100'000);
  for (const bool compressed : {false, true}) {
    if (compressed) shard.Compress(Compression::kZstd);
    ScanOptions options = Target(4096);
    uint64_t read = 0, told = 0;
    options.progress = [&](uint64_t bytes) {
      read += bytes;
      return absl::OkStatus();
    };
    options.on_features = [&](const FeatureSummary& features) {
      told = features.records;
      return absl::InternalError("enough");
    };
    EXPECT_THAT(ScanShard(shard.source(), options),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("enough")));
    EXPECT_EQ(told, 100u);
    EXPECT_LE(read, shard.bytes().size());
  }
}

TEST(ShardScanTest, ReportsTheFirstDamageByPlace) {
  ShardBuilder shard = SmallShard(10);
  shard.FlipBitInPayload(4);
  EXPECT_THAT(ScanShard(shard.source(), Target(300)),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("shard: record 4 at offset 400: payload CRC computed")));
}

TEST(ShardScanTest, ReportsACutAtEveryByteOfThreeRecords) {
  ShardBuilder whole = SmallShard(3);
  for (size_t size = 1; size < 300; ++size) {
    ShardBuilder shard = whole;
    shard.CutTo(size);
    absl::StatusOr<ShardScan> scan = ScanShard(shard.source(), Target(100));
    EXPECT_EQ(scan.ok(), size % 100 == 0) << size;
    ASSERT_OK_AND_ASSIGN(ShardScan collected, ScanShard(shard.source(), Collecting(100)));
    EXPECT_EQ(Records(collected), size / 100);
    EXPECT_EQ(collected.damage.listed().size(), size % 100 == 0 ? 0u : 1u);
  }
}

TEST(ShardScanTest, LeavesOnlyTheDamagedRecordOut) {
  ShardBuilder shard = SmallShard(10);
  shard.FlipBitInPayload(4);
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(shard.source(), Collecting(1000)));
  ASSERT_EQ(scan.chunks.size(), 2u);
  EXPECT_EQ(scan.chunks[0].records, 4u);
  EXPECT_EQ(scan.chunks[1].gap, 100u);
  EXPECT_EQ(scan.chunks[1].first_record, 5u);
  EXPECT_EQ(scan.excluded_records, 1u);
  ASSERT_EQ(scan.damage.listed().size(), 1u);
  EXPECT_EQ(scan.damage.listed()[0].offset, 400u);
  EXPECT_EQ(scan.damage.listed()[0].bytes, 100u);
  EXPECT_EQ(scan.damage.listed()[0].record, 4u);
  EXPECT_TRUE(scan.damage.listed()[0].all_counted);
  EXPECT_FALSE(scan.damage.listed()[0].to_end);
}

TEST(ShardScanTest, FindsTheNextFrameAfterBrokenFraming) {
  for (bool in_length : {true, false}) {
    ShardBuilder shard = SmallShard(10);
    in_length ? shard.FlipBitInLength(4) : shard.FlipBitInLengthCrc(4);
    ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(shard.source(), Collecting(1000)));
    EXPECT_EQ(Records(scan), 9u);
    ASSERT_EQ(scan.damage.listed().size(), 1u);
    EXPECT_EQ(scan.damage.listed()[0].bytes, 100u);
    EXPECT_FALSE(scan.damage.listed()[0].all_counted);
    EXPECT_THAT(scan.damage.listed()[0].reason, HasSubstr("length CRC"));
  }
}

TEST(ShardScanTest, SaysThatATextFileIsNoTfRecord) {
  MemorySource text("notes.tfrecord", std::vector<uint8_t>(5000, 'x'));
  EXPECT_THAT(ScanShard(text, Target(100)),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("notes.tfrecord"), HasSubstr("no TFRecord file"))));
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(text, Collecting(100)));
  EXPECT_TRUE(scan.chunks.empty());
  EXPECT_THAT(scan.damage.listed()[0].reason, HasSubstr("no TFRecord file"));
}

TEST(ShardScanTest, ARecordWithoutTheHoldoutFeatureIsNamed) {
  ShardBuilder shard = ChessShard(3);
  ExampleBuilder builder;
  builder.AddInt64("s", {});
  std::span<const uint8_t> bytes = builder.Serialize();
  shard.Add(std::string(bytes.begin(), bytes.end()));
  ScanOptions options = Target(4096);
  options.holdout = {"d", 1};
  EXPECT_THAT(ScanShard(shard.source(), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("record 3"), HasSubstr("'d' is missing"))));
}

TEST(ShardScanTest, VerifyingFindsRecordsThatAreNoExamples) {
  ShardBuilder shard = ChessShard(150);
  shard.Add("no example");
  EXPECT_OK(ScanShard(shard.source(), Collecting(4096)));
  ScanOptions options = Collecting(4096);
  options.parse_records = true;
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(shard.source(), options));
  ASSERT_EQ(scan.damage.listed().size(), 1u);
  EXPECT_EQ(scan.damage.listed()[0].record, 150u);
  EXPECT_THAT(scan.damage.listed()[0].reason, HasSubstr("no tf.train.Example"));
}

TEST(ShardScanTest, DamagedRecordsInARowAreOnePlace) {
  ShardBuilder shard = ChessShard(3);
  for (int i = 0; i < 5; ++i) shard.Add("no example");
  const uint64_t begin = shard.OffsetOf(3), end = shard.OffsetOf(8);
  for (int i = 0; i < 2; ++i) shard.Add(ChessExample(static_cast<uint64_t>(i), 0));
  ScanOptions options = Collecting(4096);
  options.parse_records = true;
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(shard.source(), options));
  ASSERT_EQ(scan.damage.listed().size(), 1u);
  const DamagedRange& place = scan.damage.listed()[0];
  EXPECT_EQ(place.record, 3u);
  EXPECT_EQ(place.records, 5u);
  EXPECT_EQ(place.offset, begin);
  EXPECT_EQ(place.bytes, end - begin);
  EXPECT_FALSE(place.to_end);
  EXPECT_EQ(scan.excluded_records, 5u);
}

// Records the largest read.
class NotingSource : public ByteSource {
 public:
  explicit NotingSource(const ByteSource& source) : source_(source) {}
  absl::string_view name() const override { return source_.name(); }
  uint64_t size() const override { return source_.size(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    longest_read_ = std::max(longest_read_, out.size());
    return source_.ReadAt(offset, out);
  }
  size_t longest_read() const { return longest_read_; }

 private:
  const ByteSource& source_;
  mutable size_t longest_read_ = 0;
};

TEST(ShardScanTest, ReadsNoRecordBehindDamageThatIsTooLong) {
  ShardBuilder shard({"damaged", std::string(8 << 20, 'x'), "good"});
  shard.FlipBitInLength(0);
  const NotingSource source(shard.source());
  ScanOptions options = Collecting(4096);
  options.max_raw_chunk_bytes = 1 << 20;
  ASSERT_OK_AND_ASSIGN(const ShardScan scan, ScanShard(source, options));
  EXPECT_LT(source.longest_read(), 2u << 20);
  ASSERT_EQ(scan.chunks.size(), 1u);
  EXPECT_EQ(scan.chunks[0].gap, shard.OffsetOf(2));
  EXPECT_EQ(scan.damage.loss().places, 1u);
  EXPECT_FALSE(scan.damage.loss().all_counted);
}

// One gzip member of 5 MiB that cannot be compressed.
ShardBuilder LargeStream() {
  std::string noise(5 << 20, '\0');
  std::mt19937_64 random(7);
  for (char& byte : noise) byte = static_cast<char>(random());
  ShardBuilder shard({noise, "last"});
  shard.Compress(Compression::kGzip);
  return shard;
}

TEST(ShardScanTest, WaitsBeforeItHoldsMuch) {
  ShardBuilder shard = LargeStream();
  LargeBuffers buffers(1);
  std::optional<LargeBuffers::Place> other(buffers);
  std::atomic<bool> free = false, done = false;
  uint64_t read = 0;
  ScanOptions options;
  options.large_buffers = &buffers;
  options.progress = [&](uint64_t bytes) {
    read += bytes;
    EXPECT_TRUE(free || read <= 5u << 20) << read;
    return absl::OkStatus();
  };
  std::jthread scan([&] {
    EXPECT_OK(ScanShard(shard.source(), options));
    done = true;
  });
  while (buffers.num_waiting() == 0 && !done) std::this_thread::yield();
  free = true;
  other.reset();
}

TEST(ShardScanTest, GivesItsPlaceBack) {
  ShardBuilder shard = LargeStream();
  LargeBuffers buffers(1);
  ScanOptions options;
  options.large_buffers = &buffers;
  uint64_t read = 0;
  options.progress = [&](uint64_t bytes) {
    read += bytes;
    return read > 5u << 20 ? absl::CancelledError("interrupted") : absl::OkStatus();
  };
  EXPECT_THAT(ScanShard(shard.source(), options),
              StatusIs(absl::StatusCode::kCancelled, "interrupted"));
  options.progress = nullptr;
  EXPECT_OK(ScanShard(shard.source(), options));
  const LargeBuffers::Place place(buffers);
}

TEST(ShardScanTest, CountsEveryByteOnce) {
  ShardBuilder shard({std::string(3 << 20, 'a'), "b", std::string(2 << 20, 'c')});
  uint64_t read = 0;
  ScanOptions options = Target(4096);
  options.progress = [&](uint64_t bytes) {
    read += bytes;
    return absl::OkStatus();
  };
  ASSERT_OK(ScanShard(shard.source(), options));
  EXPECT_EQ(read, shard.bytes().size());
}

TEST(ShardScanTest, AZstdWindowBeyondTheLimitIsNoDamage) {
  // A frame of one raw block that requires a window of 2^28 bytes.
  std::vector<uint8_t> frame = {
      0x28, 0xb5, 0x2f, 0xfd, 0x00, (28 - 10) << 3, (100 << 3 & 0xff) | 1, 100 >> 5, 0};
  const std::vector<uint8_t> record = SmallShard(1).bytes();
  frame.insert(frame.end(), record.begin(), record.end());
  EXPECT_THAT(ScanShard(MemorySource("a.zst", frame), Collecting(100)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("a.zst: compressed byte"), HasSubstr("without --long"))));
  frame[5] = (27 - 10) << 3;
  ASSERT_OK_AND_ASSIGN(ShardScan scan, ScanShard(MemorySource("a.zst", frame), Collecting(100)));
  EXPECT_EQ(Records(scan), 1u);
}

}  // namespace
}  // namespace penstock
