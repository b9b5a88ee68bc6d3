#include "records/dataset/image_statistics.h"

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/drawing/png.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/testing/image_example.h"
#include "records/dataset/testing/indexer_fixture.h"
#include "records/format/testing/shard_builder.h"
#include "records/image/image_decoder.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(StatisticsOfTest, AddsUpShards) {
  ManifestBuilder builder;
  builder.SetMeasuredFeatures({"image", "mask"});
  const PixelSums black = {.images = 1};
  const PixelSums white = {1, {255 << 16, 255 << 16, 0}, {65025 << 8, 65025 << 8, 0}};
  builder.AddShard({.path = "a", .pixel_sums = {black, {}}});
  builder.AddShard({.path = "b", .pixel_sums = {white, {}}});
  const auto statistics = StatisticsOf(builder.Build().value());
  ASSERT_EQ(statistics.size(), 2u);
  EXPECT_EQ(statistics[0].feature, "image");
  EXPECT_EQ(statistics[0].images, 2u);
  EXPECT_THAT(statistics[0].mean, ElementsAre(0.5, 0.5, 0));
  EXPECT_THAT(statistics[0].deviation, ElementsAre(0.5, 0.5, 0));
  EXPECT_EQ(statistics[1].images, 0u);
  EXPECT_THAT(statistics[1].deviation, ElementsAre(0, 0, 0));
}

TEST(StatisticsOfTest, TheMostThatAManifestHoldsDoesNotOverflow) {
  ManifestBuilder builder;
  builder.SetMeasuredFeatures({"image"});
  const uint64_t most = PixelSums::kMostImages;
  const uint64_t mean = most * PixelSums::kMostMean, square = most * PixelSums::kMostSquare;
  for (int i = 0; i < 1000; ++i) {
    builder.AddShard({.path = absl::StrCat(i),
                      .pixel_sums = {{most, {mean, mean, mean}, {square, square, square}}}});
  }
  const auto statistics = StatisticsOf(builder.Build().value());
  EXPECT_EQ(statistics[0].images, 1000 * most);
  EXPECT_THAT(statistics[0].mean, ElementsAre(1, 1, 1));
  EXPECT_THAT(statistics[0].deviation, ElementsAre(0, 0, 0));
}

std::string OneColor(uint8_t red, uint8_t green, uint8_t blue, uint32_t side = 4) {
  Picture picture = {side, side, 3, {}};
  for (uint32_t i = 0; i < side * side; ++i) {
    picture.pixels.insert(picture.pixels.end(), {red, green, blue});
  }
  return ImageExample(EncodePng(picture).value());
}

std::string Grey(uint8_t level, uint32_t side = 4) { return OneColor(level, level, level, side); }

class IndexStatisticsTest : public IndexerTest {
 protected:
  IndexStatisticsTest() {
    options_.statistics = true;
    options_.find_images = [](const FeatureSummary& features, const std::string&) {
      return DefaultImageFeatures(features);
    };
  }
  // Writes a shard of `images` images. Their bytes begin with those of image `number`.
  void WriteImages(const std::string& name, int images, int number) {
    ShardBuilder shard;
    for (int i = 0; i < images; ++i) {
      const int byte = number + i;
      shard.Add(OneColor(static_cast<uint8_t>(byte), static_cast<uint8_t>(byte * 7),
                         static_cast<uint8_t>(byte * 31), 1 + static_cast<uint32_t>(byte % 5)));
    }
    folder_.Write(name, shard.text());
  }
  ImageStatistics Statistics() {
    absl::StatusOr<IndexResult> result = Index();
    EXPECT_OK(result);
    EXPECT_TRUE(result->saved);
    return StatisticsOf(result->manifest).at(0);
  }
};

TEST_F(IndexStatisticsTest, EachImageCountsAlikeWhateverItsSize) {
  folder_.Write("a.tfrecord", ShardBuilder({Grey(0, 9), Grey(255, 1)}).text());
  folder_.Write("b.tfrecord", ShardBuilder({OneColor(255, 0, 51), Grey(0)}).text());
  const ImageStatistics statistics = Statistics();
  EXPECT_EQ(statistics.feature, "image/encoded");
  EXPECT_EQ(statistics.images, 4u);
  EXPECT_THAT(statistics.mean, ElementsAre(0.5, 0.25, 0.3));
  EXPECT_THAT(statistics.deviation, ElementsAre(DoubleNear(0.5, 1e-12), DoubleNear(0.4330127, 1e-7),
                                                DoubleNear(0.4123106, 1e-7)));
}

TEST_F(IndexStatisticsTest, HeldOutImagesDoNotCount) {
  WriteImages("a.tfrecord", 60, 0);
  options_.holdout = HoldoutInfo{"image/encoded", 1u << 30};
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_GT(result.manifest.num_records(Split::kHoldout), 0u);
  EXPECT_EQ(StatisticsOf(result.manifest)[0].images, result.manifest.num_records(Split::kTrain));
  options_.verify = true;  // Also decodes held-out images.
  ASSERT_OK_AND_ASSIGN(const IndexResult verified, Index());
  EXPECT_EQ(verified.manifest.shards()[0].pixel_sums, result.manifest.shards()[0].pixel_sums);
}

TEST_F(IndexStatisticsTest, ThreadsDoNotChangeTheManifest) {
  for (int i = 0; i < 9; ++i) WriteImages(absl::StrCat("s", i, ".tfrecord"), 5 + i, 10 * i);
  options_.threads = 1;
  ASSERT_OK_AND_ASSIGN(const IndexResult one, Index());
  options_.threads = 8;
  ASSERT_OK_AND_ASSIGN(const IndexResult eight, Index());
  EXPECT_EQ(eight.manifest.Serialize().value(), one.manifest.Serialize().value());
}

TEST_F(IndexStatisticsTest, AnInterruptedRunGoesOn) {
  for (int i = 0; i < 4; ++i) WriteImages(absl::StrCat("s", i, ".tfrecord"), 5, 10 * i);
  options_.threads = 1;
  options_.progress = [calls = 0](uint64_t) mutable {
    return ++calls > 2 ? absl::CancelledError("interrupted") : absl::OkStatus();
  };
  EXPECT_FALSE(Index().ok());
  options_.progress = nullptr;
  ASSERT_OK_AND_ASSIGN(const IndexResult rest, Index());
  EXPECT_EQ(rest.reused_shards, 2u);
  ASSERT_OK_AND_ASSIGN(const IndexResult anew, Index());
  EXPECT_EQ(anew.manifest.Serialize().value(), rest.manifest.Serialize().value());
}

// A shard that was finished without statistics has no sums.
TEST_F(IndexStatisticsTest, WhatWasFinishedWithoutStatisticsIsReadAgain) {
  WriteImages("a.tfrecord", 3, 0);
  folder_.Write("b.tfrecord", "only words");  // Keeps every run from saving a manifest.
  options_.statistics = false;
  EXPECT_FALSE(Index().ok());
  options_.statistics = options_.exclude_corrupt = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_EQ(result.reused_shards, 0u);
  EXPECT_EQ(StatisticsOf(result.manifest)[0].images, 3u);
}

// Both runs decode the same images, so only the statistics tell their journals apart.
TEST_F(IndexStatisticsTest, WhatWasVerifiedWithoutStatisticsIsReadAgain) {
  WriteImages("a.tfrecord", 3, 0);
  folder_.Write("b.tfrecord", "only words");
  options_.verify = true;
  options_.statistics = false;
  ASSERT_OK_AND_ASSIGN(const IndexResult verified, Index());
  EXPECT_FALSE(verified.saved);
  options_.statistics = options_.exclude_corrupt = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_EQ(result.reused_shards, 0u);
  EXPECT_EQ(StatisticsOf(result.manifest).at(0).images, 3u);
}

TEST_F(IndexStatisticsTest, AnUpdateKeepsThemWholeAndReadsNewShardsAlone) {
  WriteImages("a.tfrecord", 3, 0);
  ASSERT_OK(Index());
  WriteImages("b.tfrecord", 4, 50);
  options_.update = true;
  options_.statistics = false;
  ASSERT_OK_AND_ASSIGN(const IndexResult updated, Index());
  EXPECT_EQ(updated.read_shards, 1u);
  options_.update = false;
  options_.statistics = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult anew, Index());
  EXPECT_EQ(StatisticsOf(anew.manifest)[0].images, 7u);
  EXPECT_EQ(updated.manifest.Serialize().value(), anew.manifest.Serialize().value());
}

TEST_F(IndexStatisticsTest, AnUpdateReadsAllShardsOfAManifestWithoutThem) {
  WriteImages("a.tfrecord", 3, 0);
  WriteImages("b.tfrecord", 4, 50);
  options_.statistics = false;
  ASSERT_OK_AND_ASSIGN(const IndexResult without, Index());
  EXPECT_TRUE(StatisticsOf(without.manifest).empty());
  options_.update = options_.statistics = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult with, Index());
  EXPECT_EQ(with.read_shards, 2u);
  EXPECT_EQ(StatisticsOf(with.manifest)[0].images, 7u);
  EXPECT_EQ(with.manifest.content_fingerprint(), without.manifest.content_fingerprint());
}

TEST_F(IndexStatisticsTest, AnImageThatDoesNotDecodeIsListedOrLeftOut) {
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    std::vector<uint8_t> members = ShardBuilder({Grey(255)}).bytes();
    ShardBuilder damaged({Grey(1), ImageExample("no image"), Grey(2)});
    if (compression != Compression::kNone) {
      std::vector<uint8_t> first;
      ASSERT_OK(CompressMember(compression, members, first));
      members = first;
      damaged.Compress(compression);
    }
    members.insert(members.end(), damaged.bytes().begin(), damaged.bytes().end());
    folder_.Write("a.tfrecord", std::string(members.begin(), members.end()));
    options_.exclude_corrupt = false;
    ASSERT_OK_AND_ASSIGN(const IndexResult listed, Index());
    EXPECT_FALSE(listed.saved);
    ASSERT_EQ(listed.damage.listed().size(), 1u);
    EXPECT_THAT(listed.damage.listed()[0].reason, HasSubstr("8 bytes that are no image"));
    options_.exclude_corrupt = true;
    ASSERT_OK_AND_ASSIGN(const IndexResult rest, Index());
    // The whole damaged member is left out.
    const uint64_t left = compression == Compression::kNone ? 3 : 1;
    EXPECT_EQ(rest.manifest.num_records(Split::kAll), left);
    EXPECT_EQ(StatisticsOf(rest.manifest)[0].images, left);
  }
}

TEST_F(IndexStatisticsTest, RecordsWithoutImagesHaveNone) {
  WriteShards(1);
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("--statistics: there are no images")));
}

TEST(ImageCheckTest, AJpegIsMeasuredAsItIsDecoded) {
  ASSERT_OK_AND_ASSIGN(ImageCheck check, ImageCheck::Create({{"image/encoded"}}));
  ASSERT_OK(check.Measure(BytesOf(ImageExample(SmallImage()))));
  EXPECT_FALSE(check.Measure(BytesOf(ImageExample(SmallImage(/*cut=*/100)))).ok());
  ImageDecoder decoder;
  ASSERT_OK_AND_ASSIGN(const DecodedImage image, decoder.Decode(BytesOf(SmallImage()), {}));
  PixelSums sums;
  sums.Add(image.pixels);
  EXPECT_THAT(check.checked().sums, ElementsAre(sums));
}

}  // namespace
}  // namespace penstock
