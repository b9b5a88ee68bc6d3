#include "records/format/tfrecord_reader.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/io/file_source.h"
#include "gtest/gtest.h"
#include "records/format/testing/shard_builder.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Reads to the end. Keeps the payloads and the final status.
struct Outcome {
  std::vector<std::string> payloads;
  absl::Status status;
};
Outcome ReadAll(const ByteSource& source, const TfRecordReaderOptions& options = {}) {
  TfRecordReader reader(source, options);
  Outcome outcome;
  Record record;
  while (true) {
    absl::StatusOr<bool> more = reader.Next(record);
    outcome.status = more.status();
    if (!more.ok() || !*more) return outcome;
    outcome.payloads.emplace_back(record.payload.begin(), record.payload.end());
  }
}

TEST(TfRecordReaderTest, ReadsToACleanEnd) {
  ShardBuilder shard({"alpha", "", "gamma"});
  Outcome outcome = ReadAll(shard.source());
  EXPECT_OK(outcome.status);
  EXPECT_THAT(outcome.payloads, ElementsAre("alpha", "", "gamma"));
}

TEST(TfRecordReaderTest, AnEmptyFileHasNoRecords) {
  ShardBuilder shard;
  Outcome outcome = ReadAll(shard.source());
  EXPECT_OK(outcome.status);
  EXPECT_TRUE(outcome.payloads.empty());
}

TEST(TfRecordReaderTest, ReportsOffsetOfCorruptPayload) {
  ShardBuilder shard({"alpha", "beta"});
  shard.FlipBitInPayload(1);
  Outcome outcome = ReadAll(shard.source());
  EXPECT_THAT(outcome.payloads, ElementsAre("alpha"));
  // Framing: length 8 + CRC 4 + payload 5 + CRC 4 = 21.
  EXPECT_THAT(outcome.status,
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("shard: record 1"), HasSubstr("offset 21"))));
}

// Reads to the end, and skips records that cannot be read.
struct Passed {
  std::vector<std::string> payloads;
  size_t failures = 0;
  bool to_the_end = false;
};
Passed ReadPassingOver(const ByteSource& source, const TfRecordReaderOptions& options = {}) {
  TfRecordReader reader(source, options);
  Passed passed;
  Record record;
  while (true) {
    const absl::StatusOr<bool> more = reader.Next(record);
    if (more.ok() && !*more) passed.to_the_end = true;
    if (more.ok() && !*more) return passed;
    if (more.ok()) {
      passed.payloads.emplace_back(record.payload.begin(), record.payload.end());
      continue;
    }
    ++passed.failures;
    const absl::StatusOr<bool> over = reader.PassOver();
    if (!over.ok() || !*over) return passed;
  }
}

TEST(TfRecordReaderTest, PassesOverARecordOfKnownLength) {
  for (Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    ShardBuilder shard({"alpha", "beta", "gamma", "much too long", "delta"});
    shard.FlipBitInPayload(0);
    shard.FlipBitInPayloadCrc(2);
    if (compression != Compression::kNone) shard.Compress(compression);
    const Passed passed = ReadPassingOver(shard.source(), {.max_record_bytes = 8});
    EXPECT_THAT(passed.payloads, ElementsAre("beta", "delta"));
    EXPECT_EQ(passed.failures, 3u);
    EXPECT_TRUE(passed.to_the_end);
  }
}

TEST(TfRecordReaderTest, CannotPassOverADamagedLength) {
  for (Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    ShardBuilder shard({"alpha", "beta", "gamma"});
    shard.FlipBitInLength(1);
    if (compression != Compression::kNone) shard.Compress(compression);
    const Passed passed = ReadPassingOver(shard.source());
    EXPECT_THAT(passed.payloads, ElementsAre("alpha"));
    EXPECT_FALSE(passed.to_the_end);
  }
}

TEST(TfRecordReaderTest, CannotPassOverACut) {
  for (Compression compression : {Compression::kNone, Compression::kGzip}) {
    ShardBuilder shard({"alpha", "beta"});
    shard.CutTo(shard.bytes().size() - 2);
    if (compression != Compression::kNone) shard.Compress(compression);
    const Passed passed = ReadPassingOver(shard.source());
    EXPECT_THAT(passed.payloads, ElementsAre("alpha"));
    EXPECT_EQ(passed.failures, 1u);
    EXPECT_FALSE(passed.to_the_end);
  }
}

TEST(TfRecordReaderTest, ReportsACutAtEveryByteOfThreeRecords) {
  for (Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    ShardBuilder whole({"alpha", "beta", "gamma"});
    const std::vector<size_t> ends = {0, 21, 41, whole.bytes().size()};
    if (compression != Compression::kNone) whole.Compress(compression);
    for (size_t size = 1; size < whole.bytes().size(); ++size) {
      MemorySource source(
          "shard", {whole.bytes().begin(), whole.bytes().begin() + static_cast<ptrdiff_t>(size)});
      bool boundary = compression == Compression::kNone &&
                      std::find(ends.begin(), ends.end(), size) != ends.end();
      EXPECT_EQ(ReadAll(source).status.code(),
                boundary ? absl::StatusCode::kOk : absl::StatusCode::kDataLoss)
          << CompressionName(compression) << " cut to " << size;
    }
  }
}

TEST(TfRecordReaderTest, ZerosBehindTheLastGzipMemberArePadding) {
  ShardBuilder shard({"alpha", "beta"});
  shard.Compress(Compression::kGzip);
  std::vector<uint8_t> bytes = shard.bytes();
  bytes.resize(bytes.size() + (3 << 20));
  Outcome outcome = ReadAll(MemorySource("s", bytes));
  EXPECT_OK(outcome.status);
  EXPECT_THAT(outcome.payloads, ElementsAre("alpha", "beta"));
  bytes.insert(bytes.end(), 2, 1);
  EXPECT_THAT(ReadAll(MemorySource("s", bytes)).status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("incorrect header check")));
}

TEST(TfRecordReaderTest, NamesATextFileForWhatItIs) {
  MemorySource source("notes.tfrecord", std::vector<uint8_t>(100, 'x'));
  EXPECT_THAT(ReadAll(source).status,
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("notes.tfrecord"), HasSubstr("no TFRecord file"))));
}

TEST(TfRecordReaderTest, ReadsRecordsLongerThanItsBuffer) {
  for (Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    ShardBuilder shard({std::string(3 << 20, 'a'), "b", std::string(5 << 20, 'c')});
    if (compression != Compression::kNone) shard.Compress(compression);
    Outcome outcome = ReadAll(shard.source());
    EXPECT_OK(outcome.status);
    ASSERT_EQ(outcome.payloads.size(), 3u);
    EXPECT_EQ(outcome.payloads[2], std::string(5 << 20, 'c'));
  }
}

TEST(TfRecordReaderTest, RefusesARecordOverTheLimit) {
  ShardBuilder shard({std::string(1 << 20, 'a')});
  shard.Compress(Compression::kZstd);
  EXPECT_THAT(ReadAll(shard.source(), {.max_record_bytes = 1000}).status,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1048576 bytes")));
}

// Files written by TensorFlow.
class ForeignFileTest : public ::testing::TestWithParam<std::pair<std::string, int>> {};

TEST_P(ForeignFileTest, IsReadToItsEnd) {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "PENSTOCK_TEST_DATA is not set";
  ASSERT_OK_AND_ASSIGN(auto source,
                       FileSource::Open(absl::StrCat(data, "/data/tfrecord/", GetParam().first)));
  Outcome outcome = ReadAll(*source);
  EXPECT_OK(outcome.status);
  EXPECT_EQ(outcome.payloads.size(), static_cast<size_t>(GetParam().second));
}

INSTANTIATE_TEST_SUITE_P(
    All, ForeignFileTest,
    ::testing::Values(std::pair("sentences.tfe-tfrecord", 2),
                      std::pair("toy.nocompress-tfe-tfrecord-00000-of-00002", 3),
                      std::pair("toy.nocompress-tfe-tfrecord-00001-of-00002", 1),
                      std::pair("toy.tfe-tfrecord-00000-of-00002", 3),
                      std::pair("toy.tfe-tfrecord-00001-of-00002", 1)));

}  // namespace
}  // namespace penstock
