#include "records/dataset/image_check.h"

#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/feature_survey.h"
#include "records/dataset/indexer.h"
#include "records/dataset/testing/image_example.h"
#include "records/dataset/testing/indexer_fixture.h"
#include "records/format/testing/shard_builder.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ImageCheckTest, DecodesEachImageWhole) {
  ASSERT_OK_AND_ASSIGN(ImageCheck check, ImageCheck::Create({{"image/encoded"}}));
  EXPECT_OK(check.Check(BytesOf(ImageExample(SmallImage()))));
  EXPECT_THAT(check.Check(BytesOf(ImageExample(SmallImage(/*cut=*/100)))),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("feature 'image/encoded': JPEG: "), HasSubstr("is cut"))));
  const std::string two = Field(1, SmallImage()) + Field(1, "no image");
  EXPECT_THAT(check.Check(BytesOf(Example(Entry("image/encoded", Field(1, two))))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("8 bytes that are no image")));
}

TEST(ImageCheckTest, NamesTheFileThatTheRecordNames) {
  ASSERT_OK_AND_ASSIGN(ImageCheck check, ImageCheck::Create({{"image/encoded"}}));
  const std::string record = Example(Entry("image/encoded", BytesKind(SmallImage(/*cut=*/100))) +
                                     Entry("image/filename", BytesKind("cat/1.jpg")));
  EXPECT_THAT(check.Check(BytesOf(record)),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("feature 'image/encoded' of cat/1.jpg: JPEG: ")));
}

TEST(ImageCheckTest, OptionsSayWhatDecodes) {
  ImageFeature feature = {"image/encoded"};
  feature.decode.fill_truncated = true;
  ASSERT_OK_AND_ASSIGN(ImageCheck filled, ImageCheck::Create({feature}));
  EXPECT_OK(filled.Check(BytesOf(ImageExample(SmallImage(/*cut=*/100)))));
  EXPECT_OK(filled.Check(BytesOf(ImageExample(SmallImage()))));
  EXPECT_EQ(filled.checked().counts.truncated, 1u);
  feature.decode.limits.max_pixels = 1;
  ASSERT_OK_AND_ASSIGN(ImageCheck limited, ImageCheck::Create({feature}));
  EXPECT_FALSE(limited.Check(BytesOf(ImageExample(SmallImage()))).ok());
}

TEST(ImageCheckTest, CountsOnlyRecordsWithoutAFault) {
  ImageFeature feature = {"image/encoded"};
  feature.decode.fill_truncated = true;
  ASSERT_OK_AND_ASSIGN(ImageCheck check, ImageCheck::Create({feature}));
  const std::string two = Field(1, SmallImage(/*cut=*/100)) + Field(1, "no image");
  EXPECT_FALSE(check.Check(BytesOf(Example(Entry("image/encoded", Field(1, two))))).ok());
  EXPECT_EQ(check.checked().counts.truncated, 0u);
}

TEST(ImageCheckTest, ARecordMayHaveNoImage) {
  ASSERT_OK_AND_ASSIGN(ImageCheck check, ImageCheck::Create({{"image/encoded"}, {"mask"}}));
  EXPECT_OK(check.Check(BytesOf(Example(Entry("other", Int64Kind(1))))));
  EXPECT_OK(check.Check(BytesOf(Example(Entry("mask", Int64Kind(1))))));
  EXPECT_OK(check.Check(BytesOf(ImageExample(SmallImage()))));
}

TEST(ImageCheckTest, OnlyBytesAreImages) {
  FeatureSummary features;
  EXPECT_TRUE(DefaultImageFeatures(features).empty());
  features.features = {{"image/encoded", "int64"}, {"image", "bytes"}};
  EXPECT_TRUE(DefaultImageFeatures(features).empty());
  features.features.push_back({"image/encoded", "bytes"});
  EXPECT_EQ(DefaultImageFeatures(features).size(), 1u);
}

TEST(ImageCheckTest, ImagesAreFoundByTheirFirstBytes) {
  FeatureSurvey survey;
  const std::string record =
      Example(Entry("jpg", BytesKind(SmallImage())) + Entry("text", BytesKind("text")));
  ASSERT_OK(survey.Add(BytesOf(record)));
  const std::vector<ImageFeature> images = DefaultImageFeatures(survey.Summary());
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0].name, "jpg");
}

class ImageIndexTest : public IndexerTest {
 protected:
  ImageIndexTest() {
    shard_.Add(ImageExample(SmallImage()));
    shard_.Add(ImageExample(SmallImage(/*cut=*/100)));
    shard_.Add(ImageExample(SmallImage()));
    folder_.Write("a.tfrecord", shard_.text());
    options_.find_images = [](const FeatureSummary& features, const std::string&) {
      return DefaultImageFeatures(features);
    };
  }
  ShardBuilder shard_;
};

TEST_F(ImageIndexTest, VerifyListsWhatDoesNotDecode) {
  ASSERT_OK_AND_ASSIGN(const IndexResult quick, Index());
  EXPECT_TRUE(quick.saved);
  options_.verify = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_FALSE(result.saved);
  ASSERT_EQ(result.damage.listed().size(), 1u);
  const DamagedRange& damage = result.damage.listed()[0];
  EXPECT_EQ(damage.file, folder_.File("a.tfrecord"));
  EXPECT_EQ(damage.record, 1u);
  EXPECT_EQ(damage.offset, shard_.OffsetOf(1));
  EXPECT_EQ(damage.bytes, shard_.OffsetOf(2) - shard_.OffsetOf(1));
  EXPECT_THAT(damage.reason, HasSubstr("feature 'image/encoded': JPEG: the end marker is missing"));
}

TEST_F(ImageIndexTest, ExcludingLeavesOutWhatDoesNotDecode) {
  options_.verify = options_.exclude_corrupt = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_TRUE(result.saved);
  EXPECT_EQ(result.manifest.num_records(Split::kAll), 2u);
  EXPECT_EQ(result.manifest.shards()[0].excluded_records, 1u);
}

TEST_F(ImageIndexTest, CompressedShardsAreVerifiedToo) {
  shard_.Compress(Compression::kZstd);
  folder_.Write("a.tfrecord", shard_.text());
  options_.verify = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  ASSERT_EQ(result.damage.listed().size(), 1u);
  EXPECT_THAT(result.damage.listed()[0].reason, HasSubstr("the end marker is missing"));
}

// A run that decoded no images has verified less.
TEST_F(ImageIndexTest, ImagesAreDecodedThoughAnotherRunVerifiedTheRecords) {
  folder_.Write("b.tfrecord", "only words");  // Keeps every run from saving a manifest.
  options_.verify = true;
  options_.find_images = nullptr;
  ASSERT_OK_AND_ASSIGN(const IndexResult records, Index());
  EXPECT_EQ(records.damage.listed().size(), 1u);
  options_.find_images = [](const FeatureSummary& features, const std::string&) {
    return DefaultImageFeatures(features);
  };
  ASSERT_OK_AND_ASSIGN(const IndexResult images, Index());
  EXPECT_EQ(images.damage.listed().size(), 2u);
}

}  // namespace
}  // namespace penstock
