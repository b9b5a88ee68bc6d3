// Tests shards without TFRecord frames, except tars: webdataset_test.cc has those.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/io/testing/memory_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/container/frames.h"
#include "records/container/shard_reader.h"
#include "records/format/testing/wire_writer.h"
#include "records/format/tfrecord.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<uint8_t> Bytes(absl::string_view text) {
  const std::span<const uint8_t> bytes = BytesOf(text);
  return {bytes.begin(), bytes.end()};
}

std::string Text(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

// Returns the payloads of a file, or the error that ended reading.
absl::StatusOr<std::vector<std::string>> ReadAll(const ByteSource& source,
                                                 const StoredRecords& stored) {
  absl::StatusOr<ShardReader> reader = ShardReader::Create(source, stored);
  if (!reader.ok()) return reader.status();
  std::vector<std::string> payloads;
  Record record;
  while (true) {
    const absl::StatusOr<bool> more = reader->Next(record);
    if (!more.ok()) return more.status();
    if (!*more) return payloads;
    EXPECT_EQ(record.number, payloads.size());
    payloads.push_back(Text(record.payload));
  }
}

constexpr StoredRecords kTriples = {.container = Container::kFixed, .record_bytes = 3};

TEST(ContainerTest, FixedRecordsAreTheirBytes) {
  EXPECT_THAT(ReadAll(MemorySource("f", Bytes("abcdef")), kTriples),
              IsOkAndHolds(ElementsAre("abc", "def")));
  EXPECT_THAT(ReadAll(MemorySource("f", {}), kTriples), IsOkAndHolds(IsEmpty()));
}

TEST(ContainerTest, FixedRecordsLongerThanABufferAreWhole) {
  const std::string long_record(3 << 20, 'x');
  const StoredRecords stored{.container = Container::kFixed, .record_bytes = long_record.size()};
  EXPECT_THAT(ReadAll(MemorySource("f", Bytes(long_record + long_record)), stored),
              IsOkAndHolds(ElementsAre(long_record, long_record)));
}

TEST(ContainerTest, AFileThatEndsWithinAFixedRecordIsDamaged) {
  EXPECT_THAT(ReadAll(MemorySource("f", Bytes("abcde")), kTriples),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("f: record 1 at offset 3: the last record has 2 of 3 bytes")));
}

constexpr StoredRecords kCat = {
    .container = Container::kImageFile, .path = "animals/cat/1.jpg", .label = 7};

std::string CatExample(const std::string& image) {
  return Example(Entry("image/class/label", Int64Kind(7)) +
                 Entry("image/encoded", BytesKind(image)) +
                 Entry("image/filename", BytesKind("1.jpg")));
}

TEST(ContainerTest, AnImageFileIsOneExample) {
  const std::string image(2'000'000, 'i');
  EXPECT_THAT(ReadAll(MemorySource("f", Bytes(image)), kCat),
              IsOkAndHolds(ElementsAre(CatExample(image))));
  EXPECT_THAT(ReadAll(MemorySource("f", {}), kCat),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("empty")));
}

TEST(ContainerTest, ChunksBecomeFramesOfTheIndexedSize) {
  std::vector<uint8_t> expected;
  AppendFrame(BytesOf("abc"), expected);
  AppendFrame(BytesOf("def"), expected);
  std::vector<uint8_t> frames(expected.size());
  EXPECT_OK(MakeFrames(kTriples, BytesOf("abcdef"), frames));
  EXPECT_EQ(frames, expected);
  for (const size_t size : {expected.size() - 1, expected.size() + 1, size_t{0}}) {
    frames.assign(size, 0);
    EXPECT_THAT(MakeFrames(kTriples, BytesOf("abcdef"), frames),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("other sizes")));
  }
}

TEST(ContainerTest, KindsAreToldByTheFirstBytes) {
  std::vector<uint8_t> frames, gzip, zstd;
  AppendFrame(BytesOf("abc"), frames);
  ASSERT_OK(CompressMember(Compression::kGzip, frames, gzip));
  ASSERT_OK(CompressMember(Compression::kZstd, frames, zstd));
  const auto detect = [](std::vector<uint8_t> bytes) {
    return DetectContainer(MemorySource("f", std::move(bytes)));
  };
  EXPECT_THAT(detect(frames), IsOkAndHolds(Container::kTfRecord));
  EXPECT_THAT(detect(gzip), IsOkAndHolds(Container::kGzip));
  EXPECT_THAT(detect(zstd), IsOkAndHolds(Container::kZstd));
  EXPECT_THAT(detect(std::vector<uint8_t>(1024)), IsOkAndHolds(Container::kWebDataset));
  EXPECT_THAT(detect(std::vector<uint8_t>(100)), IsOkAndHolds(Container::kTfRecord));
  EXPECT_THAT(detect({}), IsOkAndHolds(Container::kTfRecord));
}

}  // namespace
}  // namespace penstock
