// Tests that the committed sample is as sample/README.md describes it.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/io/file_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/chess/planes.h"
#include "records/dataset/indexer.h"
#include "records/dataset/split.h"
#include "records/format/example.h"
#include "records/format/testing/for_each_feature.h"
#include "records/format/tfrecord_reader.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

struct SampleCounts {
  int records = 0;
  int mates = 0;
  int mates_stored_as_zero = 0;
};

void CountRecord(const Record& record, SampleCounts& counts) {
  std::span<const uint8_t> d;
  int64_t s = 0;
  ASSERT_OK(ForEachFeature(record.payload, [&](const FeatureView& feature) {
    if (feature.name == "d") d = feature.bytes.at(0);
    if (feature.name == "s") s = feature.ints.at(0);
  }));
  ASSERT_EQ(d.size(), chess::kPlaneBytes);
  const bool mate = chess::TestBit(d, chess::kMateBit);
  ++counts.records;
  counts.mates += mate;
  counts.mates_stored_as_zero += mate && s == 0;
}

TEST(SampleTest, HoldsTwentyThousandPositions) {
  SampleCounts counts;
  for (int shard = 0; shard < 4; ++shard) {
    ASSERT_OK_AND_ASSIGN(const auto source,
                         FileSource::Open(absl::StrCat(PENSTOCK_SAMPLE_FOLDER, "/chess-0000", shard,
                                                       "-of-00004.tfrecord")));
    TfRecordReader reader(*source);
    Record record;
    absl::StatusOr<bool> more;
    while ((more = reader.Next(record)).value_or(false)) CountRecord(record, counts);
    ASSERT_OK(more);
    EXPECT_EQ(reader.compression(), Compression::kZstd);
  }
  EXPECT_EQ(counts.records, 20000);
  EXPECT_EQ(counts.mates, 1101);
  EXPECT_EQ(counts.mates_stored_as_zero, 0);
}

// Cursors and checkpoints of the sample stay valid as long as this holds.
TEST(SampleTest, KeepsItsSplit) {
  IndexOptions options;
  options.output = absl::StrCat(PENSTOCK_SAMPLE_FOLDER, "/manifest.pb");
  options.in_memory = true;
  options.holdout = HoldoutInfo{"", *ParseHoldoutThreshold("5%")};
  options.default_holdout_feature = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult result, BuildIndex({PENSTOCK_SAMPLE_FOLDER}, options));
  EXPECT_EQ(result.manifest.holdout().feature, "d");
  EXPECT_EQ(result.manifest.num_records(Split::kHoldout), 1011u);
  EXPECT_EQ(result.manifest.content_fingerprint(), 0x33f82d6184df03adu);
}

}  // namespace
}  // namespace penstock
